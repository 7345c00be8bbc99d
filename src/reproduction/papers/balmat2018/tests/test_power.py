"""Check the posterior that is computed by enumeration, and the power of the tests that are applied to the draws of
Figure 1.
"""

import numpy as np
import pytest
from reference import count_laws as reference
from scipy import stats

from dpmultinomial._posteriors.counts import compositions, laplace_multinomial
from dpmultinomial._seeding import stream
from reproduction.paper import discover
from reproduction.papers.balmat2018 import figure_1, laws
from reproduction.papers.balmat2018.algorithms import composition_tables, enumerated
from reproduction.verdicts import power

SETTINGS = {"a": [5, 40, 5], "b": [15, 30, 5]}
SCALE, ALPHA = enumerated.SCALE, enumerated.ALPHA


def test_enumeration_where_all_is_known():
    """Check the posterior that is computed by enumeration in a case with the total count M = 1, very wide noise and
    alpha = 1. The posterior is a mixture of Beta(2, 1), Beta(1, 2) and Beta(1, 1) with weights of 1/3.

    The density is (2 x + 2 (1 - x) + 1)/3 = 1, and the distribution function is x. With alpha = 2, the weights are
    still 1/3, and the distributions are Beta(3, 2), Beta(2, 3), Beta(2, 2). Their densities at 1/2 are 12/8, 12/8 and
    6/4, all 3/2.
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
    """Check that the scores have mean 0, and that the log density changes by 0.01 times the score if a parameter
    changes by 1 %.
    """
    law = enumerated.posterior(SETTINGS["b"], total=50, scale=2.0)
    assert law.mean(law.scores[name]) == pytest.approx(0, abs=1e-6)
    moved = enumerated.density(law.grid[1:-1], SETTINGS["b"], **({"total": 50, "scale": 2.0} | change))
    at = slice(200, 1500)
    assert np.log(moved / law.pdf[1:-1])[at] == pytest.approx(
        0.01 * law.scores[name][1:-1][at], abs=5e-4
    )  # terms of second order
    other = np.trapezoid(np.append(np.insert(moved, 0, 0), 0) * law.scores[name], law.grid)
    assert other == pytest.approx(0.01 * law.information(name), rel=0.02)


def test_what_is_seen_is_refused_nine_times_of_ten():
    """Check that at least 30 of 40 samples are rejected if the scale of the noise changes by the minimum detectable
    effect. The expected number at a power of 0.9 is 36 +- 1.9.
    """
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
    """Check the power of the tests at the default sample size, computed from the Fisher information. At the default
    settings, the tests detect changes of 2 % in the noise scale and of 5 % in the prior's concentration.
    """
    sections = discover()["balmat2018"].settings["sections"]
    draws = sections["figure_1_laws"]["properties"]["exact_draws"]["default"]
    panels = discover()["balmat2018"].settings["definitions"]["settings"]["default"]
    for counts in panels.values():
        law = enumerated.posterior(counts, total=50, scale=2.0)
        for name, least in ((SCALE, 0.02), (ALPHA, 0.05)):
            assert power.normal(np.sqrt(draws * law.information(name)), laws.LEVEL / 3) <= least


def test_chains_are_judged_by_the_spread_over_them():
    """Check the average of the mean scores 1, 2 and 3 of three chains, and check the standard error of this average.
    The mean is 2, the standard error is 1/sqrt(3), and there are 2 degrees of freedom.
    """
    grid = np.linspace(0, 1, 11)
    law = enumerated.Posterior(grid, grid, np.ones(11), {SCALE: 10 * (grid - 0.5), ALPHA: 10 * (grid - 0.5)})
    runs = [np.full(4, 0.5 + score / 10) for score in (1, 2, 3)]
    scores = [law.at(run, (SCALE,))[0] for run in runs]
    assert laws._mean_score(law, SCALE, scores) == pytest.approx((2.0, 1 / np.sqrt(3), 2))
    found = laws._tests(law, np.linspace(0.01, 0.99, 99), runs)
    assert found["z_scale"] == pytest.approx(2 * np.sqrt(3))
    assert found["p_value"] == pytest.approx(
        3 * min(2 * stats.t.sf(2 * np.sqrt(3), 2), found["p_distance"]), nan_ok=True
    )


@pytest.mark.parametrize("alpha", [1.0, 0.3])
@pytest.mark.parametrize("scale", [2.0, 1e12])
def test_moments_given_p_are_those_of_the_library(alpha, scale):
    p = np.vstack([stream(4, "first").dirichlet(np.ones(3), 203), [[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]])
    means, variances = enumerated.moments_given(p, SETTINGS["b"], total=50, scale=scale, alpha=alpha)
    model = {"total": 50, "scale": scale, "alpha": alpha}
    for i in (0, 1, 99, 100, 101, 202, 203, 204):
        law = laplace_multinomial.conditional(SETTINGS["b"], probabilities=p[i], **model)
        assert means[i] == pytest.approx(law.mean(**figure_1.SHARE), rel=1e-12)
        assert variances[i] == pytest.approx(law.variance(**figure_1.SHARE), rel=1e-11)


def test_between_grid_points_a_law_is_straight():
    law = enumerated.posterior(SETTINGS["a"], total=50, scale=2.0)
    near = np.concatenate([law.grid, np.nextafter(law.grid[1:], 0), np.nextafter(law.grid[:-1], 1)])
    x = np.concatenate([stream(5, "points").random(5000), near])
    assert np.array_equal(law.at(x)[0], np.interp(x, law.grid, law.cdf))
    for name, found in zip((ALPHA, SCALE), law.at(x, (ALPHA, SCALE)), strict=True):
        assert np.array_equal(found, np.interp(x, law.grid, law.scores[name]))


@pytest.mark.parametrize("alpha", [0.0, 0.4])
def test_a_chain_reaches_a_vertex_when_its_reference_does(alpha):
    """Check that chains reach a vertex of the probability simplex in the same iteration as chains of the reference
    implementation. M is 9, and the noise is so wide that most chains without alpha reach a vertex within 300
    iterations.
    """
    rows, log_coefficients = compositions.log_multinomial_table(9)
    static = log_coefficients - np.abs(np.array([2.5, 4.0, 3.1]) - rows).sum(axis=1) / 6.0
    ends = []
    for k in range(12):
        ours, theirs = stream(6, k), stream(6, k)
        ends.append(composition_tables.last_move(rows, static, alpha, 300, ours))
        assert ends[-1] == reference.last_move(rows.astype(float), static, alpha, 300, theirs)
        assert ours.random() == theirs.random()
    assert (len(set(ends)) > 6) == (alpha == 0)


@pytest.mark.parametrize(("changes", "match"), [
    ({"rows": [[1], [1]]}, "rows must have at least one row and two columns"),
    ({"rows": [[-1, 2], [0, 1]]}, "rows"),
    ({"static": [0.0]}, r"static must have shape \(2\), got shape \(1,\)"),
    ({"static": [0.0, np.nan]}, "static must not contain NaN"),
    ({"alpha": -0.5}, "alpha must be >= 0, got -0.5"),
    ({"iterations": 1.5}, "iterations must be"),
    ({"rng": 3}, "Generator"),
])  # fmt: skip
def test_bad_input_of_a_chain_to_a_vertex_is_named(changes, match):
    good = {"rows": [[1, 0], [0, 1]], "static": [0.0, 0.0], "alpha": 0.0, "iterations": 5, "rng": stream(7, "bad")}
    with pytest.raises((ValueError, TypeError), match=match):
        composition_tables.last_move(**(good | changes))


def test_of_no_records_no_chain_moves():
    assert composition_tables.last_move([[0, 0, 0]], [0.0], 0.0, 4, stream(8, "none")) is None
