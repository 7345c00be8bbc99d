"""Arguments that the library must reject, with the words of the error, and arguments that are just good enough."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import REJECTED, calls, rejects

from dpmultinomial._accounting import composition, privacy_profiles, renyi
from dpmultinomial._accounting.composition import RELATIONS, ZCDP, ApproxDP, PureDP, RenyiDP
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._models import _model_card, _support, calibrated_noise, claims, coded_table
from dpmultinomial._posteriors import convergence
from dpmultinomial._posteriors.additive import _count_priors
from dpmultinomial._posteriors.additive._pair_counts import PairTable
from dpmultinomial._posteriors.censored.normal_model import Prior
from dpmultinomial._posteriors.counts import laplace_multinomial, noisy_counts
from dpmultinomial._posteriors.swapping import unknown_rate
from dpmultinomial._posteriors.swapping.swapped_batches import summaries
from dpmultinomial._seeding import stream
from reproduction.papers.ponnoprat2022.algorithms import gohari

A = {"source": "census", "relation": RELATIONS[0]}
FRAME = pd.DataFrame({"x": ["1", "2"], "y": ["a", "b"]})
NOISE = calibrated_noise.Noise("laplace", np.array([1.0, 2.0]), np.ones(2))
DRAWS = stream(1, "draws").normal(size=(2, 40))

encode = partial(coded_table.encode, name="f", target="y", numeric=[])

WRONG_TYPES = calls(
    (lambda: PureDP(epsilon=1.0, source="", relation=RELATIONS[0]), "source must be a name, got ''"),
    (lambda: PureDP(epsilon=1.0, source=7, relation=RELATIONS[0]), "source must be a name, got 7"),
    (lambda: RenyiDP(epsilons={}, **A), "epsilons must map orders"),
    (lambda: RenyiDP(epsilons=[2.0], **A), "epsilons must map orders"),
    (lambda: composition.total([1.0]), "costs must be PureDP, ZCDP, RenyiDP or ApproxDP, got 1.0"),
    (lambda: claims.exact_renyi(3.0, order=2.0), "mechanism must be Dirichlet, Gaussian or Laplace, got 3.0"),
    (lambda: claims.exact_delta(3.0, epsilon=1.0), "mechanism must be Dirichlet, Gaussian or Laplace, got 3.0"),
    (lambda: _support.from_card({"kind": "levels", "values": "ab", "public": True}), "values must be a list, got 'ab'"),
    (lambda: _support.plain("levels", "ab"), "levels must be a list of values"),
    (lambda: _support.plain("levels", []), "at least one"),
    (lambda: _support.plain("levels", ["a", 1]), "all text or all numbers"),
    error=TypeError,
)  # fmt: skip
WRONG_VALUES = calls(
    (lambda: PureDP(epsilon=1.0, source="s", relation="all"), "relation must be one of"),
    (lambda: RenyiDP(epsilons={1: 0.5}, **A), "orders > 1, got order 1"),
    (lambda: RenyiDP(epsilons={2: 0.0}, **A), "epsilons must be finite and > 0"),
    (lambda: composition.Total(source="s", relation=RELATIONS[0]).dp(1.0), r"delta must lie in \[0, 1\), got 1.0"),
    (lambda: composition.Total(source="s", relation=RELATIONS[0]).dp(-0.1), r"delta must lie in \[0, 1\), got -0.1"),
    (lambda: privacy_profiles.dirichlet_epsilon(1e-12, r=1.0, alpha=3.0), r"delta_ must lie in \(1e-12, 1\)"),
    (lambda: privacy_profiles.dirichlet_epsilon(1.0, r=1.0, alpha=3.0), r"delta_ must lie in \(1e-12, 1\), got 1.0"),
    (lambda: privacy_profiles.dirichlet_calibration(1.0, delta_=1.0), r"delta_ must lie in \(1e-12, 1\), got 1.0"),
    (lambda: privacy_profiles.dirichlet_calibration(1.0, delta_=1e-12), r"delta_ must lie in \(1e-12, 1\)"),
    (lambda: privacy_profiles.laplace_delta([0.1, -0.1], scale=1.0), "epsilon must be >= 0, got -0.1"),
    (lambda: privacy_profiles.laplace_delta(np.nan, scale=1.0), "epsilon must be >= 0, got nan"),
    (lambda: gohari.epsilon(0.1, concentration=9.0, eta=0.1, eta_bar=0.3, shift=1.2), r"shift must be < 2 .* = 1.2"),
    (lambda: gohari.epsilon(0.5, concentration=9.0, eta=0.1, eta_bar=0.3, shift=0.1), "gamma must be < 1/2, got 0.5"),
    (lambda: gohari.epsilon(0.1, concentration=9.0, eta=0.4, eta_bar=0.3, shift=0.1), "must be <= 1, got 1.1"),
    (lambda: claims.exact_delta(Gaussian(sigma=1.0), epsilon=-1e-9), "epsilon must be >= 0, got -1e-09"),
    (lambda: Gaussian(sigma=1.0).delta([0.0, -1.0]), "epsilon must be >= 0, got -1.0"),
    (lambda: dirichlet.calibrate_exact(1.0, order=2.0, alpha_per_r=-0.1), "alpha_per_r must be >= 0, got -0.1"),
    (lambda: calibrated_noise.floors(1.0, NOISE, smoothing=-1e-9), "smoothing must be >= 0, got -1e-09"),
    (lambda: calibrated_noise.floors("sd", NOISE), "floor must be one of 'sigma', got 'sd'"),
    (lambda: calibrated_noise.floors(0.0, NOISE), "floor must be finite and > 0"),
    (lambda: _support.read_columns(pd.DataFrame({"x": []})), r"at least one row and one column, got shape \(0, 1\)"),
    (lambda: _support.read_columns(pd.DataFrame(index=[0])), r"at least one row and one column, got shape \(1, 0\)"),
    (lambda: encode(FRAME.set_axis(["y", "y"], axis=1)), "distinct"),
    (lambda: encode(FRAME, numeric=["z"]), "no column 'z'; the columns are x, y"),
    (lambda: coded_table.learn(encode(FRAME), [0], bins=1), "bins must be"),
    (lambda: _support.from_card({"kind": "levels", "values": ["a"]}), "must hold 'public'"),
    (lambda: _support.from_card({"kind": "bins", "lower": 0, "upper": 1, "bins": 1, "public": 1}), "bins must be >= 2"),
    (lambda: _support.plain("levels", [1.0, float("inf")]), "levels must be finite"),
    (lambda: _support.plain("levels", [1, 1]), "levels must be distinct"),
    (lambda: _count_priors.of(_count_priors.of(1.0, 3), 2), r"prior must have 2 concentrations, got shape \(3,\)"),
    (lambda: convergence.rhat(np.zeros(30)), r"draws must be \(chains, at least .*, got shape \(30,\)"),
    (lambda: convergence.rhat(DRAWS[:, : convergence.LEAST_DRAWS - 1]), r"draws must be \(chains, at least"),
    (lambda: convergence.rhat(np.where(DRAWS > 1, np.nan, DRAWS)), "draws must be finite"),
    (lambda: Prior.from_limits(1.0, 1.0), "lower must be below upper, got lower = 1.0 and upper = 1.0"),
    (lambda: PairTable(np.zeros(2, np.int64), np.zeros((2, 2))), "has probability 0"),
    (lambda: laplace_multinomial.exact([1.0, 2.0], total=3, scale=1e-101, alpha=1.0), "at least 1e-100 times"),
    (lambda: noisy_counts.exact([1.0, 2.0], total=3, noise=[NOISE], alpha=1.0), "one law or 2 of them, got 1"),
    (lambda: unknown_rate.infer_rate([[4, 2], [1, 5]], prior=(501.0, 1.0)), "parameters up to 500"),
    error=ValueError,
)  # fmt: skip


@pytest.mark.parametrize(REJECTED, WRONG_TYPES + WRONG_VALUES)
def test_rejects(call, arguments, words, error):
    rejects(call, arguments, words, error)


GOOD = [
    lambda: composition.Total(source="s", relation=RELATIONS[0]).dp(0.0),
    lambda: privacy_profiles.dirichlet_epsilon(1.1e-12, r=0.1, alpha=3.0),
    lambda: gohari.epsilon(0.1, concentration=9.0, eta=0.1, eta_bar=0.3, shift=1.199),
    lambda: claims.exact_delta(Gaussian(sigma=1.0), epsilon=0.0),
    lambda: calibrated_noise.floors(1.0, NOISE, smoothing=0.0),
    lambda: convergence.rhat(DRAWS[:, : convergence.LEAST_DRAWS]),
    lambda: laplace_multinomial.exact([1.0, 2.0], total=3, scale=1e-99, alpha=1.0),
    lambda: unknown_rate.infer_rate([[4, 2], [1, 5]], prior=(2.0, 500.0)),
    lambda: _support.plain("levels", [1]),
    lambda: _support.from_card({"kind": "bins", "lower": 0, "upper": 1, "bins": 2, "public": 1}),
]


@pytest.mark.parametrize("call", GOOD)
def test_what_is_just_good_enough_is_taken(call):
    call()


def test_totals_say_what_they_are_made_of():
    """Two pure costs, one of each other kind; and at a small delta what no conversion can claim is infinite."""
    costs = [PureDP(epsilon=0.5, **A), PureDP(epsilon=0.25, **A), ZCDP(rho=0.125, **A)]
    made = composition.total(costs)["census", RELATIONS[0]]
    assert repr(made) == f"Total(census, {RELATIONS[0]}: epsilon 0.75 + rho 0.125)"
    assert made.dp(0.0) == np.inf
    made = composition.total([RenyiDP(epsilons={3: 0.5, 2: 0.25}, **A), ApproxDP(epsilon=0.5, delta=1e-6, **A)])
    made = made["census", RELATIONS[0]]
    assert repr(made) == f"Total(census, {RELATIONS[0]}: Rényi 0.25 at 2, 0.5 at 3 + (0.5, 1e-06))"
    assert (made.renyi_epsilon(2.0), made.dp(1e-6), made.dp(1e-7)) == (np.inf, np.inf, np.inf)
    assert repr(composition.Total(source="s", relation=RELATIONS[0])).endswith(": nothing)")
    alone = composition.total([RenyiDP(epsilons={2: 0.25}, **A)])["census", RELATIONS[0]]
    assert (alone.renyi_epsilon(2.0), alone.renyi_epsilon(3.0)) == (0.25, np.inf)


def test_conversions_back_leave_something_or_nothing():
    """Equation 14 solved for epsilon at order 2: epsilon_hat - log(1/delta) + log 4, if positive."""
    for back in (composition.dp_to_rdp, composition.dp_to_rdp_unchecked):
        assert back(20.0, order=2.0, delta=1e-5) == pytest.approx(20 - np.log(1e5) + np.log(4), rel=1e-13)
        assert np.isnan(back(np.log(1e5) - np.log(4), order=2.0, delta=1e-5))
        assert np.isnan(back(1.0, order=2.0, delta=1e-5))
    assert composition.dp_to_rdp_unchecked(1.0, order=2.0, delta=3.0) == pytest.approx(1 + np.log(12), rel=1e-13)


@pytest.mark.parametrize("epsilon", [1e-26, 1e-3, 50.0])
def test_the_laplace_scale_is_found_at_any_budget(epsilon):
    found = renyi.laplace_scale(epsilon, order=2.0, l1=2.0, cells=2)
    assert renyi.laplace(found, order=2.0, l1=2.0, cells=2) == pytest.approx(epsilon, rel=1e-9)


def test_noise_is_repeated_in_place_and_names_itself():
    twice = NOISE.repeated(2)
    assert (twice.law, twice.scale.tolist(), twice.alpha.tolist()) == ("laplace", [1, 1, 2, 2], [1, 1, 1, 1])
    assert "alpha" not in repr(NOISE)
    assert "alpha" in repr(calibrated_noise.Noise("dirichlet", np.ones(1), np.ones(1)))
    assert calibrated_noise.floors("sigma", NOISE, smoothing=2.0) == pytest.approx([2.0, 8**0.5])


def test_generators_are_taken_as_they_are():
    rng = stream(1, "given")
    assert _model_card.randomness(None, rng=rng) == (rng, "a generator of the caller")
    assert _model_card.randomness(rng, rng=None) == (rng, "a generator of the caller")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"row": [None, "a", "b", "b"]}, "table, row and column must not be missing"),
        ({"count": [1.5, 2, 3, 4]}, "count must hold whole numbers >= 0"),
        ({"count": [-1, 2, 3, 4]}, "count must hold whole numbers >= 0"),
        ({"column": ["x", "x", "x", "y"]}, r"cell \(b, x\)|given twice"),
        ({"rate": [0.1, 0.1, 0.2, 0.1]}, "rate must be the same in all lines of a table, got 2 values"),
    ],
)
def test_a_bad_table_is_told_in_its_own_line(change, words):
    good = {"table": [1] * 4, "row": list("aabb"), "column": list("xyxy"), "count": [5, 2, 1, 7], "rate": [0.1] * 4}
    found = summaries(pd.DataFrame(good | change))
    assert found["status"].str.contains(words).any()
    assert not summaries(pd.DataFrame(good))["status"].str.contains("must|given").any()
    with pytest.raises(ValueError, match="data must have the columns table, row, column, count, rate; missing: rate"):
        summaries(pd.DataFrame(good).drop(columns="rate"))
