"""The posterior by enumeration, and what the tests of Figure 1's draws see."""

import numpy as np
import pytest
from scipy import stats

from dpmultinomial._posteriors.counts import laplace_multinomial
from dpmultinomial._seeding import stream
from reproduction.paper import discover
from reproduction.papers.balmat2018 import enumerated, figure_1, laws
from reproduction.verdicts import power

SETTINGS = {"a": [5, 40, 5], "b": [15, 30, 5]}
SCALE, ALPHA = enumerated.SCALE, enumerated.ALPHA


def test_enumeration_where_all_is_known():
    """M = 1, huge noise, alpha = 1: (1, 0, 0), (0, 1, 0), (0, 0, 1) at 1/3 each: Beta(2, 1), Beta(1, 2), Beta(1, 1).

    The density is (2 x + 2 (1 - x) + 1)/3 = 1, the distribution function x. With alpha = 2 the weights stay 1/3 and
    the laws are Beta(3, 2), Beta(2, 3), Beta(2, 2): at 1/2 they are 12/8, 12/8 and 6/4, all 3/2.
    """
    law = enumerated.posterior([0, 0, 0], total=1, scale=1e12)
    assert law.pdf == pytest.approx(np.ones(len(law.grid)))
    assert law.cdf == pytest.approx(law.grid)
    assert enumerated.density(np.array([0.5]), [0, 0, 0], total=1, scale=1e12, alpha=2.0) == pytest.approx(1.5)


def test_enumeration_is_the_library_s_law_and_shares_no_code_with_it():
    law = enumerated.posterior(SETTINGS["a"], total=50, scale=2.0)
    exact = laplace_multinomial.exact(SETTINGS["a"], total=50, scale=2.0, alpha=1.0)
    assert law.cdf == pytest.approx(exact.cdf(law.grid, **figure_1.SHARE), abs=1e-12)
    assert law.mean(law.pdf**0) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("name", "change"), [(SCALE, {"scale": 2.02}), (ALPHA, {"alpha": 1.01})])
def test_scores_are_the_slope_of_the_log_density(name, change):
    """Mean 0; 1 % more moves the log density by 1 % of the score, its mean by 1 % of the information."""
    law = enumerated.posterior(SETTINGS["b"], total=50, scale=2.0)
    assert law.mean(law.scores[name]) == pytest.approx(0, abs=1e-6)
    moved = enumerated.density(law.grid[1:-1], SETTINGS["b"], **({"total": 50, "scale": 2.0} | change))
    at = slice(200, 1500)
    assert np.log(moved / law.pdf[1:-1])[at] == pytest.approx(
        0.01 * law.scores[name][1:-1][at], abs=5e-4
    )  # of second order
    other = np.trapezoid(np.append(np.insert(moved, 0, 0), 0) * law.scores[name], law.grid)
    assert other == pytest.approx(0.01 * law.information(name), rel=0.02)


def test_what_is_seen_is_refused_nine_times_of_ten():
    """Posteriors of noise wider by what is said to be seen: of 40 samples at least 30 are refused (0.9: 36 +- 1.9)."""
    law = enumerated.posterior(SETTINGS["a"], total=50, scale=2.0)
    rng, size = stream(3, "power"), 60_000
    seen = laws._tests(law, np.full(size, 0.1), [np.full(size, 0.1)])["sees_scale"]
    wider = laplace_multinomial.exact(SETTINGS["a"], total=50, scale=2.0 * (1 + seen), alpha=1.0)
    refused = 0
    for _ in range(40):
        draws = figure_1.share(wider.sample(size, rng=rng))
        refused += laws._tests(law, draws, [draws])["p_value"] < laws.LEVEL
    assert 30 <= refused <= 40
    assert seen < 0.06


def test_the_full_size_sees_two_percent_of_the_noise_and_five_of_the_prior():
    """About the defaults: the long samples of every panel, by Fisher's information."""
    sections = discover()["balmat2018"].settings["sections"]
    draws = sections["figure_1_laws"]["properties"]["exact_draws"]["default"]
    panels = discover()["balmat2018"].settings["definitions"]["settings"]["default"]
    for counts in panels.values():
        law = enumerated.posterior(counts, total=50, scale=2.0)
        for name, least in ((SCALE, 0.02), (ALPHA, 0.05)):
            assert power.normal(np.sqrt(draws * law.information(name)), laws.LEVEL / 3) <= least


def test_chains_are_judged_by_the_spread_over_them():
    """Three chains with mean scores 1, 2, 3 (above the mean 0): mean 2, standard error 1/sqrt(3), 2 degrees."""
    grid = np.linspace(0, 1, 11)
    law = enumerated.Posterior(grid, grid, np.ones(11), {SCALE: 10 * (grid - 0.5), ALPHA: 10 * (grid - 0.5)})
    runs = [np.full(4, 0.5 + score / 10) for score in (1, 2, 3)]
    assert laws._mean_score(law, SCALE, runs) == pytest.approx((2.0, 1 / np.sqrt(3), 2))
    found = laws._tests(law, np.linspace(0.01, 0.99, 99), runs)
    assert found["z_scale"] == pytest.approx(2 * np.sqrt(3))
    assert found["p_value"] == pytest.approx(
        3 * min(2 * stats.t.sf(2 * np.sqrt(3), 2), found["p_distance"]), nan_ok=True
    )
