"""Check releases and posteriors of additive counts against exact distributions. Seeds are fixed; thresholds state
false-alarm rates.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from dpmultinomial._kernels import geometric
from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._seeding import stream
from reproduction.jobs import making
from reproduction.papers.wang2020 import calibration, examples, literal, releases

MODEL = {"vector": 1, "epsilon": 1.0, "support": 50}
LOOP = MODEL | {"replications": 10_000, "block": 2500}
# Example 2 in IEEE mode from 200,000 releases of an independent implementation: means and variances
IEEE = ([1.005, 2.023, 5.888, 10.926, 437.628], [1.126, 1.445, 1.890, 1.873, 19.472])


@pytest.fixture(scope="module")
def simulated():
    table = making.simulate(releases.simulate, LOOP, root_seed=1, names=("statistical", "releases"))
    return releases.moments(table, **MODEL)


def test_noise_follows_its_law():
    draws = geometric.draw(400_000, epsilon=1.0, support=50, rng=stream(1, "law"))
    expected = 400_000 * geometric.probabilities(1.0, 50)
    kept = expected > 5
    statistic = ((np.bincount(draws + 50, minlength=101) - expected)[kept] ** 2 / expected[kept]).sum()
    assert statistic < chi2.isf(1e-6, kept.sum() - 1)  # false alarm rate 1e-6


def test_truncated_noise_follows_its_law():
    for least in (-3, 0, 2):
        draws = geometric.draw(200_000, epsilon=0.6, support=10, rng=stream(2, least), least=np.full(200_000, least))
        p = geometric.probabilities(0.6, 10)[least + 10 :]
        expected = 200_000 * p / p.sum()
        statistic = ((np.bincount(draws - least, minlength=len(p)) - expected) ** 2 / expected).sum()
        assert statistic < chi2.isf(1e-6, len(p) - 1)  # false alarm rate 1e-6


def test_simulated_moments_against_exact_ones(simulated):
    exact = []
    for example, counts in examples.both(1).items():
        chosen = examples.representatives(counts).tolist()
        for name, (algorithm, _) in list(releases.EXACT.items())[:3]:
            mean, variance = releases.release_moments.moments(
                counts, components=chosen, epsilon=1.0, algorithm=algorithm
            )
            exact.append((example, name, mean, variance))
    for example, name, mean, variance in exact:
        rows = simulated[(simulated["example"] == example) & (simulated["algorithm"] == name)]
        z = np.concatenate(
            [(rows["mean"] - mean) / rows["mean_se"], (rows["variance"] - variance) / rows["variance_se"]]
        )
        assert np.abs(z).max() < 4.5  # 60 normal values: false alarm below 5e-4
        assert (z**2).sum() < 45  # chi2 with 10 degrees of freedom: false alarm 2e-6


def test_theorem_1_in_doubles_against_the_expected_row(simulated):
    rows = simulated[(simulated["example"] == "example_2") & (simulated["ties"] == "ieee")]
    scale = np.sqrt(1 + 10_000 / 200_000)
    for what, expected in zip(("mean", "variance"), IEEE, strict=True):
        z = (rows[what] - expected) / (rows[f"{what}_se"] * scale)
        assert np.abs(z).max() < 4  # 10 normal values: false alarm 6e-4


def test_modes_with_random_ties_against_exact_moments(simulated):
    counts = examples.example_2()
    chosen = examples.representatives(counts).tolist()[:2]
    mean, variance = releases.release_moments.moments(counts, components=chosen, epsilon=1.0, algorithm="3")
    rows = simulated[(simulated["example"] == "example_2") & (simulated["ties"] == "random")].head(2)
    z = np.concatenate([(rows["mean"] - mean) / rows["mean_se"], (rows["variance"] - variance) / rows["variance_se"]])
    assert np.abs(z).max() < 4  # 4 normal values: false alarm 3e-4


def test_literal_procedure_has_the_same_moments():
    counts, rng = [0, 1, 7, 40], stream(3, "literal")
    found = np.array([literal.release(counts, epsilon=1.0, support=20, rng=rng) for _ in range(1500)])
    for a, algorithm in enumerate(("1-independent", "1-summed", "2")):
        mean, variance = releases.release_moments.moments(
            counts, components=range(4), epsilon=1.0, algorithm=algorithm, support=20
        )
        z = (found[:, a].mean(axis=0) - mean) / np.sqrt(variance / 1500)
        assert np.abs(z).max() < 4.2  # 12 normal values: false alarm 4e-4


def test_posterior_draws_follow_the_posterior():
    released = [0, 3, 17, 40, 2]
    for number, algorithm in enumerate(("1-independent", "2", "3")):
        law = additive_counts.posterior(released, epsilon=1.0, algorithm=algorithm, window=None)
        draws = law.sample(20_000, rng=stream(4, algorithm))
        z = (draws.mean(axis=0) - law.mean()) / np.sqrt(law.variance() / 20_000)
        assert np.abs(z).max() < 4.5  # 5 normal values: false alarm 4e-5
        values, p = law.total()
        expected = 20_000 * p
        kept = expected > 5
        seen = np.bincount(draws.sum(axis=1) - values[0], minlength=len(values))[: len(values)]
        statistic = ((seen - expected)[kept] ** 2 / expected[kept]).sum()
        assert statistic < chi2.isf(1e-6, kept.sum() - 1), number  # false alarm rate 1e-6


def test_posteriors_are_calibrated():
    settings = {"components": 3, "largest": 19, "epsilon": 1.0, "support": 50}
    table = making.simulate(
        calibration.simulate, settings | {"replications": 120, "block": 60}, root_seed=1, names=("statistical", "pit")
    )
    coverage = calibration.coverage(table.drop(columns="block"), **settings)
    assert np.abs(coverage["coverage"] - 0.9).max() < 4 * coverage["se"].iloc[0]  # 8 values: false alarm 5e-4
    assert coverage["p_value"].min() > 1e-5  # 8 values: false alarm 8e-5
