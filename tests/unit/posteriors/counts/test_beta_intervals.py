"""Tests of mixtures of Beta distributions over consecutive counts, by their moments and SciPy's distributions."""

import numpy as np
import pytest
from scipy.stats import beta

from dpmultinomial._posteriors.counts import beta_mixtures

CASES = {
    "one law": (np.ones(1), 3.0, 10.0),
    "two laws": (np.array([1.0, 3.0]), 0.5, 4.0),
    "a hump": (np.exp(-0.5 * ((np.arange(60) - 25) / 4.0) ** 2), 7.5, 90.0),
    "two humps": (np.r_[np.ones(3), np.zeros(40), 5 * np.ones(3)], 1.0, 80.0),
    "empty ends": (np.r_[np.zeros(5), 1.0, 2.0, np.zeros(9)], 2.0, 30.0),
    "small prior": (np.array([0.9, 0.1]), 0.01, 1.5),
    "tiny weights": (np.array([1e-300, 1e-299]), 4.0, 12.0),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_moments_and_ends_are_those_of_the_mixture(name, level):
    weights, first, whole = CASES[name]
    shares = weights / weights.sum()
    laws = beta(first + np.arange(len(weights)), whole - first - np.arange(len(weights)))
    mean = shares @ laws.mean()
    second = shares @ (laws.var() + laws.mean() ** 2)
    found = beta_mixtures.intervals(weights, starts=[0, len(weights)], firsts=[first], wholes=[whole], level=level)[0]
    assert found[0] == pytest.approx(mean, rel=1e-13)
    assert found[1] == pytest.approx(np.sqrt(second - mean**2), rel=1e-9)  # the difference loses digits, not the kernel
    assert shares @ laws.cdf(found[2]) == pytest.approx((1 - level) / 2, rel=1e-10)
    assert shares @ laws.cdf(found[3]) == pytest.approx((1 + level) / 2, rel=1e-10)


def test_a_mixture_has_the_same_bits_whatever_stands_beside_it():
    parts = list(CASES.values())
    sizes = [len(weights) for weights, _, _ in parts]
    about = {"starts": np.cumsum([0, *sizes]), "firsts": [p[1] for p in parts], "wholes": [p[2] for p in parts]}
    together = beta_mixtures.intervals(np.concatenate([p[0] for p in parts]), **about)
    for (weights, first, whole), row in zip(parts, together, strict=True):
        alone = beta_mixtures.intervals(weights, starts=[0, len(weights)], firsts=[first], wholes=[whole])
        assert np.array_equal(alone[0], row)
    assert beta_mixtures.intervals([], starts=[0], firsts=[], wholes=[]).shape == (0, 4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": [1.0, -1.0]}, "weights must be finite"),
        ({"weights": [1.0, np.nan]}, "weights must be finite"),
        ({"weights": [0.0, 0.0]}, "some mass"),
        ({"starts": [0, 1]}, "do not fit"),
        ({"starts": [1, 2]}, "rise from 0"),
        ({"starts": [0, 0, 2], "firsts": [1.0, 1.0], "wholes": [5.0, 5.0]}, "rise from 0"),
        ({"firsts": [0.0]}, "firsts must be > 0"),
        ({"wholes": [2.0]}, "larger than the last"),
        ({"wholes": [np.inf]}, "larger than the last"),
        ({"level": 1.0}, "level"),
    ],
)
def test_what_is_no_mixture_is_refused(changes, words):
    good = {"weights": [1.0, 1.0], "starts": [0, 2], "firsts": [1.0], "wholes": [5.0]}
    with pytest.raises(ValueError, match=words):
        beta_mixtures.intervals(**good | changes)
