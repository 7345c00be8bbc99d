"""Tests of noise distributions given in a configuration: all forms of all parameters, and messages for mistakes."""

import numpy as np
import pytest

from dpmultinomial._mechanisms.coarsened import Coarsened
from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian, Gaussian
from dpmultinomial._mechanisms.laplace import DiscreteLaplace, Laplace
from dpmultinomial._mechanisms.law_settings import LAWS, law_of
from dpmultinomial._mechanisms.perturbation import Perturbation

ADD = "add or remove a record"
GOOD = [
    ({"law": "laplace", "scale": 2}, Laplace(scale=2.0)),
    ({"law": "laplace", "epsilon": 1.0}, Laplace(scale=2.0)),
    ({"law": "laplace", "epsilon": 0.5, "sensitivity": 3}, Laplace(scale=6.0)),
    ({"law": "laplace", "epsilon": 0.5, "relation": ADD}, Laplace(scale=2.0)),
    ({"law": "discrete_laplace", "scale": 1.5}, DiscreteLaplace(scale=1.5)),
    ({"law": "discrete_laplace", "epsilon": 4.0}, DiscreteLaplace(scale=0.5)),
    ({"law": "gaussian", "sd": 3.0}, Gaussian(sigma=3.0)),
    ({"law": "gaussian", "variance": 9.0}, Gaussian(sigma=3.0)),
    ({"law": "gaussian", "rho": 0.125, "sensitivity": 1.0}, Gaussian(sigma=2.0)),
    ({"law": "gaussian", "rho": 0.25}, Gaussian(sigma=2.0)),
    ({"law": "discrete_gaussian", "sigma": 5.0}, DiscreteGaussian(sigma=5.0)),
    ({"law": "discrete_gaussian", "variance": 25.0}, DiscreteGaussian(sigma=5.0)),
    ({"law": "discrete_gaussian", "rho": 0.5, "relation": ADD}, DiscreteGaussian(sigma=1.0)),
    ({"law": "exact"}, Exact()),
    ({"law": "gaussian", "sd": np.array([1.0, 2.0])}, Gaussian(sigma=np.array([1.0, 2.0]))),
    ({"law": "discrete_gaussian", "variance": np.array([1.0, 4.0])}, DiscreteGaussian(sigma=np.array([1.0, 2.0]))),
    (
        {"law": "discrete_gaussian", "sigma": 5.0, "clipped": {"at": 0}},
        Coarsened(DiscreteGaussian(sigma=5.0), at=0),
    ),
    (
        {"law": "discrete_laplace", "scale": 5.0, "threshold": 20, "rounded": 5},
        Coarsened(DiscreteLaplace(scale=5.0), least=20, step=5),
    ),
    (
        {"law": "laplace", "scale": 5.0, "rounded": {"step": 0.5, "ties": "up"}},
        Coarsened(Laplace(scale=5.0), step=0.5, ties="up"),
    ),
    ({"law": "exact", "rounded": 5}, Coarsened(Exact(), step=5)),
]


@pytest.mark.parametrize(("words", "law"), GOOD)
def test_words_make_the_law(words, law):
    assert law_of(words) == law


def test_a_law_says_itself_in_words_that_make_it_again():
    for words, law in GOOD:
        if law.row_count is None:
            own = law.settings()
            assert law_of(own) == law, words
    assert Gaussian(sigma=np.array([3.0, 1.0])).settings()["sd"] == {"smallest": 1.0, "largest": 3.0, "rows": 2}


def test_a_table_is_made_from_its_columns():
    table = {"true": [0, 1], "released": [0, 1], "probability": [1.0, 1.0]}
    law = law_of({"law": "table", "table": table, "beyond": "shift"})
    assert isinstance(law, Perturbation)
    assert law.beyond == "shift"


WRONG = [
    ({"scale": 2.0}, "law must be one of laplace, discrete_laplace, gaussian, .* got None$"),
    ({"law": "gausian", "sd": 1}, "did you mean gaussian"),
    ({"law": "normal", "sd": 1}, "did you mean gaussian"),
    ({"law": "discrete-gausian", "sigma": 1}, "did you mean discrete_gaussian"),
    ({"law": "discrete gauss", "sigma": 1}, "did you mean discrete_gaussian"),
    ({"law": "two_sided_geometric", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "Integer Laplace", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "Integer Gaussian", "scale": 1}, "did you mean discrete_gaussian"),
    ({"law": "tulap", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "Laplace", "scale": 1}, "did you mean laplace"),
    ({"law": "discrete_laplce", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "exakt"}, "did you mean exact"),
    ({"law": "poisson", "mean": 1}, "got 'poisson'$"),
    ({"law": "laplace"}, "laplace requires exactly one of scale, epsilon, got none"),
    ({"law": "laplace", "scale": 1, "epsilon": 1}, "exactly one of scale, epsilon, got scale and epsilon"),
    ({"law": "discrete_gaussian", "sd": 1}, "discrete_gaussian has no parameter sd: give sigma, the parameter"),
    ({"law": "gaussian", "sigma": 1}, "gaussian has no parameter sigma: give sd, or variance"),
    ({"law": "laplace", "variance": 1}, r"laplace has no parameter variance: give scale; the variance is 2 scale\^2"),
    ({"law": "laplace", "scale": 1, "sensitivity": 2}, "sensitivity may be given only together with epsilon"),
    ({"law": "gaussian", "sd": 1, "cliped": {"at": 0}}, "gaussian has no cliped; .* did you mean clipped"),
    ({"law": "gaussian", "epsilon": 1}, "gaussian has no epsilon; it takes sd, variance, rho"),
    (
        {"law": "gaussian", "rho": 1, "sensitivity": 1, "relation": ADD},
        "sensitivity and relation must not both be given",
    ),
    ({"law": "gaussian", "sd": -1}, "sd must be finite and > 0, got -1"),
    ({"law": "discrete_gaussian", "variance": [1.0, 0.0]}, r"variance must be finite and > 0, got 0.0 \(index 1\)"),
    ({"law": "gaussian", "sd": 1, "clipped": 0}, r"clipped must be {at: number}, got 0"),
    ({"law": "gaussian", "sd": 1, "rounded": {"to": 5}}, "rounded must be a step or"),
    ({"law": "table"}, "law 'table' requires the key table"),
    ({"law": "table", "table": {}, "clipped": {"at": 0}}, "must have the columns|takes no clipped"),
    ({"law": "exact", "scale": 1}, "exact has no scale"),
]


@pytest.mark.parametrize(("words", "told"), WRONG)
def test_a_wrong_word_is_told_what_is_right(words, told):
    with pytest.raises(ValueError, match=told):
        law_of(words)


def test_no_other_familys_law_is_ever_suggested():
    """Check every misspelling of a name by one letter: the suggestion, if any, is the name."""
    for law in LAWS[:4]:
        for i in range(len(law)):
            for wrong in (law[:i] + law[i + 1 :], law[:i] + "x" + law[i:], law.upper()):
                with pytest.raises(ValueError, match="law must be one of") as told:
                    law_of({"law": wrong})
                hint = str(told.value).partition("did you mean ")[2].rstrip("?")
                assert hint in ("", law), wrong


def test_noise_that_is_no_mapping_is_refused():
    with pytest.raises(TypeError, match="noise must be a mapping such as"):
        law_of("laplace")
