"""Check that noise has scale 2/epsilon everywhere (moving a partition changes two counts by 1), and the fit of a
release.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import laplace_multinomial
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018 import beyond, calibration, errata, figure_1, laws, speed
from reproduction.papers.balmat2018.algorithms import enumerated

SETTINGS, EPSILON = {"a": [5, 4, 3]}, 0.5
RNG = stream(1, "noise")
CHAIN = {"draws": 40, "burn_in": 5}
MAKE = {
    "figure_1": lambda: figure_1.figure_1(
        settings=SETTINGS, total=12, epsilon=EPSILON, **CHAIN, frozen_runs=1, noise_draws=1, bins=5, rng=RNG
    ),
    "moments": lambda: figure_1.figure_1_moments(
        settings=SETTINGS, total=12, epsilon=EPSILON, **CHAIN, chains=2, listing_runs=2, rng=RNG
    ),
    "laws": lambda: laws.figure_1_laws(
        settings=SETTINGS, total=12, epsilon=EPSILON, exact_draws=50, **CHAIN, chains=2, thin=1, rng=RNG
    ),
    "realised share": lambda: beyond.realised_share(settings=SETTINGS, total=12, epsilon=EPSILON),
    "six categories": lambda: beyond.six_categories(counts=[3, 2, 1], epsilon=EPSILON, rng=RNG),
    "equation 3": lambda: beyond.equation_3(counts=[5, 4, 3], epsilon=EPSILON, simulations=10, rng=RNG),
    "calibration": lambda: calibration.simulate(
        1, total=12, epsilons=[EPSILON], gibbs_draws=20, burn_in=5, rng=RNG
    ),
}  # fmt: skip
# beside 2/epsilon = 4: no noise (1e-9), noise that says nothing (1e12), and the half that calibration shows to be wrong
BESIDE = {"moments": {1e-9, 1e12}, "laws": {1e12}, "calibration": {2.0}}


@pytest.mark.parametrize("name", MAKE)
def test_posteriors_know_noise_of_scale_two_over_epsilon(name, monkeypatch):
    scales = set()

    def recorded(module, what):
        right = getattr(module, what)

        def spy(*arguments, **settings):
            scales.add(float(np.max(settings["scale"])))
            return right(*arguments, **settings)

        monkeypatch.setattr(module, what, spy)

    for what in ("exact", "gibbs", "conditional"):
        recorded(laplace_multinomial, what)
    recorded(enumerated, "moments_given")
    MAKE[name]()
    assert scales == {2 / EPSILON} | BESIDE.get(name, set())


def test_shares_of_known_counts_are_beta():
    """Check that at epsilon = 1e5 the counts (3, 2, 1) are known, so that share i is Beta(1 + c, 9 - 1 - c) by
    conjugacy.
    """
    table = beyond.six_categories(counts=[3, 2, 1], epsilon=1e5, rng=stream(2, "beta"))
    found = table[table["x"].isna()].set_index(["category", "kind"])["y"]
    curves = dict(iter(table[table["kind"] == "density"].groupby("category")))
    assert set(curves) == {1, 2, 3}
    for i, c in enumerate((3, 2, 1)):
        law = stats.beta(1 + c, 8 - c)
        ends = law.ppf([0.025, 0.975])
        assert [found[i + 1, kind] for kind in ("mean", "sd", "lower", "upper")] == pytest.approx(
            [law.mean(), law.std(), *ends], rel=1e-6
        )
        assert found[i + 1, "count"] == c
        assert curves[i + 1]["y"].to_numpy() == pytest.approx(law.pdf(curves[i + 1]["x"]), abs=1e-6)


def test_noise_itself_has_scale_two_over_epsilon(monkeypatch):
    """Check that the noise is drawn by a mechanism of scale 4 at epsilon = 1/2, independently of the scale assumed by
    the analysis.
    """
    scales = []
    right = Laplace.sample
    monkeypatch.setattr(
        Laplace, "sample", lambda self, x, *, rng: (scales.append(self.scale), right(self, x, rng=rng))[1]
    )
    for name in ("figure_1", "six categories", "calibration"):
        MAKE[name]()
    assert scales == [4.0] * 3


def test_timed_vectors_have_noise_of_scale_two_over_epsilon(monkeypatch):
    found = []
    monkeypatch.setattr(speed, "_methods", lambda noisy, total, scale, *_: (found.append(scale), {})[1])
    speed.figure_3_timings(
        totals=[6], epsilons=[0.5, 2.0], vectors=1, slow_vectors=1, standard_iterations=1, repeats=1, rng=RNG
    )
    assert found == [4.0, 1.0]


def test_chains_that_are_trapped_know_the_scale(monkeypatch):
    """Check the weight exp(-|z - s|/4) at epsilon = 1/2: compared with (2, 0, 0), (1, 1, 0) differs in two counts by 1
    and has exp(-2/4) of the weight.
    """
    found = []
    monkeypatch.setattr(laws, "_last_move", lambda rows, static, *_: found.append((rows, static)))
    laws.trapped(settings={"a": [2, 0, 0]}, total=2, epsilon=0.5, chains=1, iterations=1, rng=RNG)
    rows, static = found[0]
    at = {tuple(row): value for row, value in zip(rows.tolist(), static, strict=True)}
    # coefficients 2 and 1
    assert at[1, 1, 0] - at[2, 0, 0] == pytest.approx(np.log(2) - 2 / 4)


def test_what_is_lost_to_the_printed_noises():
    """Check that the privacy loss of the noise in the paper is 2/scale, because two counts change by 1 each. At
    epsilon = 1/2, the scale 2 in the text has a loss of 1, and the scale 4 in the listings a loss of 1/2.

    First p from the counts: -log(rest/(rest + draws)) with 4,000 vectors of 12 draws and 11 other partitions.
    """
    table = beyond.privacy(settings=SETTINGS, epsilon=EPSILON).set_index("release")
    assert table["scale"].to_dict() == {beyond.TEXT: 2.0, beyond.LISTINGS: 4.0, beyond.FIRST_P: 4.0}
    assert table.loc[beyond.TEXT, "lost"] == pytest.approx(1.0)
    assert table.loc[beyond.LISTINGS, "lost"] == pytest.approx(0.5)
    assert table.loc[beyond.FIRST_P, "lost"] == pytest.approx(np.log((11 + 48_000) / 11))


def test_the_erratum_on_the_scale_names_what_each_costs():
    """Check that, at EPSILON = 1, the erratum states a cost of 2 for the text's scale 1 and a cost of 1 for the
    listings' scale 2.
    """
    assert errata.EPSILON == 1
    said = errata._scale(RNG, 0)
    assert said.index("2") < said.rindex("1")
    assert "text" in said.partition("listings")[0]


def test_intervals_of_the_calibration_are_of_95_percent():
    """Check calibration with PITs at (i + 1/2)/400: 95 % lie between 0.025 and 0.975, and the 99 % band of 20 bins is
    2.576 sqrt(20/400).
    """
    frame = pd.DataFrame({"epsilon": 1.0, **dict.fromkeys(calibration.METHODS, (np.arange(400) + 0.5) / 400)})
    asked = {"total": 50, "epsilons": [1.0], "gibbs_draws": 1, "burn_in": 0}
    cover = calibration.coverage(frame, **asked)
    assert cover["coverage"].to_numpy() == pytest.approx(0.95)
    assert cover["se"].to_numpy() == pytest.approx(np.sqrt(0.95 * 0.05 / 400))
    band = calibration.calibration(frame, **asked)["upper"].iloc[0] - 1
    assert band == pytest.approx(stats.norm.isf(0.005) * np.sqrt(20 / 400), rel=1e-3)
