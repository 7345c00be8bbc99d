"""Tests of arguments that the library must reject, with the error messages, and of arguments that are just valid."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import REJECTED, calls, rejects

from dpmultinomial import _accuracy
from dpmultinomial._accounting import composition, privacy_profiles, renyi
from dpmultinomial._accounting.composition import RELATIONS, ZCDP, ApproxDP, PureDP, RenyiDP
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._models import _support, calibrated_noise, coded_table
from dpmultinomial._models.calibrated_noise import exact_delta, exact_renyi
from dpmultinomial._posteriors.additive import _noise
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
    (lambda: PureDP(epsilon=1.0, source="", relation=RELATIONS[0]), "source must be a non-empty string, got ''"),
    (lambda: PureDP(epsilon=1.0, source=7, relation=RELATIONS[0]), "source must be a non-empty string, got 7"),
    (lambda: RenyiDP(epsilons={}, **A), "epsilons must be a mapping from orders"),
    (lambda: RenyiDP(epsilons=[2.0], **A), "epsilons must be a mapping from orders"),
    (lambda: composition.total([0.5]), "every cost must be a PureDP"),
    (lambda: composition.total([1.0]), "every cost must be a PureDP, ZCDP, RenyiDP or ApproxDP, got 1.0"),
    (lambda: exact_renyi(3.0, order=2.0), "mechanism must be Dirichlet, Gaussian or Laplace, got 3.0"),
    (lambda: exact_delta(3.0, epsilon=1.0), "mechanism must be Dirichlet, Gaussian or Laplace, got 3.0"),
    (lambda: _support.from_card({"kind": "levels", "values": "ab", "public": True}), "values must be a list, got 'ab'"),
    (lambda: _support.plain("levels", "ab"), "levels must be a list of values"),
    (lambda: _support.plain("levels", []), "only strings or only numbers, and at least one value"),
    (lambda: _support.plain("levels", ["a", 1]), "only strings or only numbers"),
    error=TypeError,
)  # fmt: skip
WRONG_VALUES = calls(
    (lambda: PureDP(epsilon=0.0, **A), "epsilon must be finite and > 0"),
    (lambda: PureDP(epsilon=1.0, source="s", relation="all"), "relation must be one of"),
    (lambda: PureDP(epsilon=1.0, source="a", relation="remove"), "relation must be one of 'add or remove"),
    (lambda: ZCDP(rho=np.inf, **A), "rho must be finite"),
    (lambda: ApproxDP(epsilon=1.0, delta=1.0, **A), "delta must lie strictly between 0 and 1"),
    (lambda: RenyiDP(epsilons={1: 0.1}, **A), "must be > 1"),
    (lambda: RenyiDP(epsilons={2: -0.1}, **A), "epsilons must be finite and > 0"),
    (lambda: RenyiDP(epsilons={1: 0.5}, **A), "must be > 1, got 1"),
    (lambda: RenyiDP(epsilons={2: 0.0}, **A), "epsilons must be finite and > 0"),
    (lambda: composition.Total(source="s", relation=RELATIONS[0]).dp(1.0), r"delta must lie in \[0, 1\), got 1.0"),
    (lambda: composition.Total(source="s", relation=RELATIONS[0]).dp(-0.1), r"delta must lie in \[0, 1\), got -0.1"),
    (lambda: composition.floor(order=2, delta=1.0), "delta must be < 1"),
    (lambda: dirichlet.calibrate(0.0, order=2), "epsilon must be finite and > 0"),
    (lambda: dirichlet.calibrate(1.0, order=0.5), "order must be >= 1, got 0.5"),
    (lambda: dirichlet.Dirichlet(r=1, alpha=1).expected_kl([0, 0]), "the KL divergence is not defined: pass"),
    (lambda: renyi.laplace(-1.0, order=2, l1=1), "scale must be finite and > 0"),
    (lambda: privacy_profiles.dirichlet_delta(-1.0, r=1, alpha=1), "epsilon must be >= 0"),
    (lambda: privacy_profiles.dirichlet_epsilon(1e-12, r=1.0, alpha=3.0), r"delta_ must lie in \(1e-12, 1\)"),
    (lambda: privacy_profiles.dirichlet_epsilon(1.0, r=1.0, alpha=3.0), r"delta_ must lie in \(1e-12, 1\), got 1.0"),
    (lambda: privacy_profiles.dirichlet_calibration(1.0, delta_=1.0), r"delta_ must lie in \(1e-12, 1\), got 1.0"),
    (lambda: privacy_profiles.dirichlet_calibration(1.0, delta_=1e-12), r"delta_ must lie in \(1e-12, 1\)"),
    (lambda: privacy_profiles.laplace_delta([0.1, -0.1], scale=1.0), "epsilon must be >= 0, got -0.1"),
    (lambda: privacy_profiles.laplace_delta(np.nan, scale=1.0), "epsilon must be >= 0, got nan"),
    (lambda: gohari.delta(0.6, concentration=1, eta=0.1, eta_bar=0.1), "gamma must be < 1/2"),
    (lambda: gohari.delta(0.1, concentration=1, eta=0.5, eta_bar=0.1), r"members\*eta \+ eta_bar"),
    (lambda: gohari.delta(0.1, concentration=1, eta=0.1, eta_bar=0.1, members=4), "members must be <= 3"),
    (lambda: gohari.epsilon(0.1, concentration=9.0, eta=0.1, eta_bar=0.3, shift=1.2), r"shift must be < 2 .* = 1.2"),
    (lambda: gohari.epsilon(0.5, concentration=9.0, eta=0.1, eta_bar=0.3, shift=0.1), "gamma must be < 1/2, got 0.5"),
    (lambda: gohari.epsilon(0.1, concentration=9.0, eta=0.4, eta_bar=0.3, shift=0.1), "must be <= 1, got 1.1"),
    (lambda: exact_delta(Gaussian(sigma=1.0), epsilon=-1e-9), "epsilon must be >= 0, got -1e-09"),
    (lambda: Gaussian(sigma=1.0).delta([0.0, -1.0]), "epsilon must be >= 0, got -1.0"),
    (lambda: dirichlet.calibrate_exact(1.0, order=2.0, alpha_per_r=-0.1), "alpha_per_r must be >= 0, got -0.1"),
    (lambda: calibrated_noise.floors(1.0, NOISE, smoothing=-1e-9), "smoothing must be >= 0, got -1e-09"),
    (lambda: calibrated_noise.floors("sd", NOISE), "floor must be one of 'sigma', got 'sd'"),
    (lambda: calibrated_noise.floors(0.0, NOISE), "floor must be finite and > 0"),
    (lambda: _support.read_columns(pd.DataFrame({"x": []})), r"at least one row and one column, got shape \(0, 1\)"),
    (lambda: _support.read_columns(pd.DataFrame(index=[0])), r"at least one row and one column, got shape \(1, 0\)"),
    (lambda: encode(FRAME.set_axis(["y", "y"], axis=1)), "distinct"),
    (lambda: encode(FRAME, numeric=["z"]), "no column 'z'. The columns of the file are x, y"),
    (lambda: coded_table.learn(encode(FRAME), [0], bins=1), "bins must be"),
    (lambda: _support.from_card({"kind": "levels", "values": ["a"]}), "lacks the key 'public'"),
    (lambda: _support.from_card({"kind": "bins", "lower": 0, "upper": 1, "bins": 1, "public": 1}), "bins must be >= 2"),
    (lambda: _support.plain("levels", [1.0, float("inf")]), "levels must contain only finite values"),
    (lambda: _support.plain("levels", [1, 1]), "levels must contain distinct values"),
    (lambda: _noise.of(_noise.of(1.0, 3), 2), r"prior must have 2 concentrations, one per component, got shape \(3,\)"),
    (lambda: _accuracy.rhat(np.zeros(30)), r"draws must have shape \(chains, draws\) .*, got shape \(30,\)"),
    (lambda: _accuracy.rhat(DRAWS[:, : _accuracy.LEAST_DRAWS - 1]), r"draws must have shape \(chains, draws\)"),
    (lambda: _accuracy.rhat(np.where(DRAWS > 1, np.nan, DRAWS)), "draws must be finite"),
    (lambda: Prior.from_limits(1.0, 1.0), "lower must be below upper, got lower = 1.0 and upper = 1.0"),
    (lambda: PairTable(np.zeros(2, np.int64), np.zeros((2, 2))), "has probability 0"),
    (lambda: laplace_multinomial.exact([1.0, 2.0], total=3, scale=1e-101, alpha=1.0), ">= 1e-100 times"),
    (lambda: noisy_counts.exact([1.0, 2.0], total=3, noise=[NOISE], alpha=1.0), "2 distributions, got 1"),
    (lambda: unknown_rate.infer_rate([[4, 2], [1, 5]], prior=(501.0, 1.0)), "prior must be <= 500"),
    error=ValueError,
)  # fmt: skip


@pytest.mark.parametrize(REJECTED, WRONG_TYPES + WRONG_VALUES)
def test_rejects(call, arguments, words, error):
    rejects(call, arguments, words, error)


GOOD = [
    lambda: composition.Total(source="s", relation=RELATIONS[0]).dp(0.0),
    lambda: privacy_profiles.dirichlet_epsilon(1.1e-12, r=0.1, alpha=3.0),
    lambda: gohari.epsilon(0.1, concentration=9.0, eta=0.1, eta_bar=0.3, shift=1.199),
    lambda: exact_delta(Gaussian(sigma=1.0), epsilon=0.0),
    lambda: calibrated_noise.floors(1.0, NOISE, smoothing=0.0),
    lambda: _accuracy.rhat(DRAWS[:, : _accuracy.LEAST_DRAWS]),
    lambda: laplace_multinomial.exact([1.0, 2.0], total=3, scale=1e-99, alpha=1.0),
    lambda: unknown_rate.infer_rate([[4, 2], [1, 5]], prior=(2.0, 500.0)),
    lambda: _support.plain("levels", [1]),
    lambda: _support.from_card({"kind": "bins", "lower": 0, "upper": 1, "bins": 2, "public": 1}),
]


@pytest.mark.parametrize("call", GOOD)
def test_what_is_just_good_enough_is_taken(call):
    call()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"row": [None, "a", "b", "b"]}, "columns table, row and column must not contain missing values"),
        ({"count": [1.5, 2, 3, 4]}, "count must contain only integers >= 0"),
        ({"count": [-1, 2, 3, 4]}, "count must contain only integers >= 0"),
        ({"column": ["x", "x", "x", "y"]}, r"row a, column x"),
        ({"rate": [0.1, 0.1, 0.2, 0.1]}, "rate must be the same in all lines of a table, got 2 values .0.1, 0.2."),
    ],
)
def test_a_bad_table_is_told_in_its_own_line(change, words):
    good = {"table": [1] * 4, "row": list("aabb"), "column": list("xyxy"), "count": [5, 2, 1, 7], "rate": [0.1] * 4}
    found = summaries(pd.DataFrame(good | change))
    assert found["status"].str.contains(words).any()
    assert not summaries(pd.DataFrame(good))["status"].str.contains("must|given").any()
    with pytest.raises(ValueError, match="data must have the columns table, row, column, count, rate, but lacks rate"):
        summaries(pd.DataFrame(good).drop(columns="rate"))
