"""Tests of the sampler without records: reference, density error, convergence, prior, conflicts, baselines."""

import numpy as np
import pandas as pd
import pytest
from reference import censored_statistics as reference
from scipy.special import gammaln
from scipy.stats import chi2, invgamma, norm

from dpmultinomial import _accuracy
from dpmultinomial._accuracy import SUMMARY
from dpmultinomial._mechanisms.sufficient_statistics import SHARES, CensoredStatistics
from dpmultinomial._posteriors.censored import _statistics_sampler as kernel
from dpmultinomial._posteriors.censored import censored_statistics, normal_model
from dpmultinomial._posteriors.censored import censored_statistics as cs
from dpmultinomial._posteriors.censored.normal_model import Prior
from dpmultinomial._seeding import stream
from reproduction.papers.raim2021.algorithms import censored_normal

PRIOR = (0.0, 1.0, 2.0, 1.0)
SETTINGS = {  # n, release, scales, (mu, log sigma2), sums
    "many": (120, (0.1, 20.0, 8.0, 9.0), (1.0, 3.0, 2.0, 2.0), (0.1, -1.2), False),
    "few": (50, (0.1, 5.0, 8.0, 9.0), (1.0, 3.0, 2.0, 2.0), (-1.3, -0.7), False),
    "few, above": (50, (0.1, 5.0, 8.0, 9.0), (1.0, 3.0, 2.0, 2.0), (1.3, -0.7), False),
    "sums": (300, (10.0, 60.0, 5.0, 40.0), (5.0, 3.0, 2.0, 2.0), (0.5, -1.6), True),
    "one side": (200, (0.6, 10.0, 8.0, 90.0), (1.0, 3.0, 2.0, 2.0), (0.9, -1.7), False),
}
RELEASE, SLIDES = (-21.27, 778.56, 23.0, 27.0), {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": 8.494}
VAGUE = Prior(0.0, 100.0, 1.0, 1.0)


@pytest.mark.parametrize("grid", [(0.0,) * 4, (0.1, 0.5, 1.0, 1.0)])
@pytest.mark.parametrize("setting", SETTINGS)
def test_target_and_chain_equal_the_reference(setting, grid):
    n, z, scales, theta, sums = SETTINGS[setting]
    rng = stream(1, "target", setting)
    y, u = np.r_[theta, 0.3 * rng.standard_normal(4)], rng.uniform(1e-9, 1, 64)
    arguments, more = (z, n, scales, grid, PRIOR, y, u), {"origin": 0.03, "sums": sums}
    (ours, s), (theirs, t) = kernel.log_target(*arguments, **more), reference.log_target(*arguments, **more)
    assert ours == pytest.approx(theirs, abs=1e-6)  # Newton stops at a relative error of 3e-7 in the tilt
    assert s == pytest.approx(t, rel=1e-9)
    if grid[0]:
        return
    by = {"walk": np.diag([0.1, 0.2, 0.3, 0.3, 0.3, 0.3]), "centre": y[:2], "spread": np.diag([0.1, 0.3])}
    size = {"draws": 15, "thin": 2}
    found, left, moves, unsolved = kernel.chain(*arguments, **by, **more, **size, rng=stream(1, "chain", setting))
    expected, other = reference.chain(*arguments, **by, **more, **size, rng=stream(1, "chain", setting))
    assert np.allclose(found, expected, rtol=1e-8, atol=1e-10)
    assert np.array_equal(left, other)
    assert moves[:, 0].sum() == 30
    assert 3 < moves[:, 1].sum() < 30
    assert unsolved == 0


@pytest.mark.parametrize("count", [64, 200, 1000])
def test_density_is_the_area_of_a_sphere_where_the_sphere_lies_inside(count):
    """Check q <= (1 - |m|)^2: h_c = c^(1/2) pi^((c - 1)/2)/Gamma((c - 1)/2) q^((c - 3)/2); inversion elsewhere."""
    for m, q in ((0.0, 0.9), (0.3, 0.4), (-0.5, 0.1)):
        exact = (
            0.5 * np.log(count)
            + (count - 1) / 2 * np.log(np.pi)
            - gammaln((count - 1) / 2)
            + (count - 3) / 2 * np.log(q)
        )
        found = kernel.log_inside_density([m], [q], [count])[0, 0]
        assert found == pytest.approx(exact, abs=0.5 / count**2)
        mended = found + censored_statistics.log_ratio(np.array([m]), np.array([q]), np.array([count]))[0]
        assert mended == pytest.approx(exact, abs=1e-7)


def test_saddlepoint_normalises_and_its_error_falls_with_the_square():
    """Check that the sum over (m, q) at c = 200 is 2^200, and the error falls from c = 64 to 640 by about 100."""
    c = 200
    m, v = np.meshgrid(np.linspace(-0.3, 0.3, 161), np.linspace(0.18, 0.5, 161), indexing="ij")
    logs = kernel.log_inside_density(m.ravel(), c * v.ravel(), np.full(m.size, c))[:, 0] - c * np.log(2)
    assert np.exp(logs).sum() * (0.6 / 160) * (0.32 * c / 160) == pytest.approx(1, abs=2e-5)
    errors = [
        np.abs(censored_statistics.log_ratio(np.array([0.3]), np.array([0.25 * c]), np.array([c])))[0]
        for c in (64, 640)
    ]
    assert 1e-6 < errors[0] < 1e-3
    assert errors[1] < errors[0] / 50


@pytest.mark.parametrize(
    ("chains", "length", "rho"),
    [(4, 1000, 0.9), (2, 501, 0.0), (3, 400, -0.5), (4, 100, 0.99), (1, 300, 0.5), (4, 9, 0.0)],
)
def test_convergence_measures_are_those_of_arviz(chains, length, rho):
    stats = pytest.importorskip("arviz_stats.base").array_stats
    x = stream(2, "convergence", chains, length).standard_normal((chains, length))
    for t in range(1, length):
        x[:, t] += rho * x[:, t - 1]
    x = np.exp(x / 3)
    axes = {"chain_axis": 0, "draw_axis": 1}
    assert _accuracy.bulk_ess(x) == pytest.approx(float(stats.ess(x, **axes, method="bulk")), rel=1e-9)
    assert _accuracy.mean_ess(x) == pytest.approx(float(stats.ess(x, **axes, method="mean")), rel=1e-9)
    if chains > 1:
        assert _accuracy.rhat(x) == pytest.approx(float(stats.rhat(x, **axes)), rel=1e-12)


def test_default_prior_follows_the_limits_and_says_so():
    prior = Prior.from_limits(0.0, 100_000.0)
    assert tuple(prior) == (50_000.0, 2.5e9, 1.0, 1e8)
    low, high = invgamma.ppf([0.01, 0.99], 1.0, scale=1e8) ** 0.5
    assert (low / 1e5, high / 1e5) == pytest.approx((1 / 21.46, 0.9975), rel=1e-3)
    assert "sigma in 4.66e+03 .. 9.97e+04 with probability 0.98" in repr(prior)
    assert tuple(prior.standardised(0.0, 100_000.0)) == pytest.approx((0.0, 1.0, 1.0, 0.04))


def test_incomes_are_found_whatever_their_unit():
    """Check mean 40,300 within 4 posterior sds, and that the release in thousands gives the same draws in thousands."""
    mechanism, x = (
        CensoredStatistics(lower=0.0, upper=100_000.0),
        40_300 + 18_000 * stream(3, "incomes").standard_normal(2000),
    )
    scale = mechanism.scales(2000, epsilon=1.0, sums=True)
    z = mechanism.release(x, epsilon=1.0, shares=SHARES, sums=True, rng=stream(4, "incomes"))
    found = cs.sample(z, n=2000, lower=0.0, upper=100_000.0, scale=scale, sums=True, rng=stream(5, "incomes"))
    row = found.summary().iloc[0]
    assert found.accuracy.status == "converged"
    assert abs(row["mean"] - 40_300) < 4 * row["sd"] < 8000
    unit = np.array([1e3, 1e6, 1.0, 1.0])
    again = cs.sample(z / unit, n=2000, lower=0.0, upper=100.0, scale=scale / unit, sums=True, rng=stream(5, "incomes"))
    assert again.draws[..., 0].mean() == pytest.approx(found.draws[..., 0].mean() / 1e3, rel=5e-3)


def test_a_prior_in_the_wrong_unit_is_a_conflict_and_no_quiet_answer():
    mechanism = CensoredStatistics(lower=0.0, upper=100_000.0)
    scale = mechanism.scales(2000, epsilon=1.0)
    z = mechanism.of(40_300 + 18_000 * stream(3, "incomes").standard_normal(2000))
    found = cs.sample(z, n=2000, lower=0.0, upper=100_000.0, scale=scale, prior=VAGUE, rng=stream(6, "wrong"))
    assert found.conflict.found
    assert "prior and release disagree" in found.accuracy.reason
    assert found.summary()["conflict"].all()
    assert "disagree" in repr(found)


def test_summary_and_state():
    found = cs.sample(RELEASE, **SLIDES, prior=VAGUE, rng=stream(7, "slides"))
    table = found.summary(0.9)
    assert list(table.columns[: len(SUMMARY)]) == list(SUMMARY)
    assert isinstance(table, pd.DataFrame)
    for name, mean, sd in (
        ("mu", 0.030, 0.120),
        ("sigma2", 1.108, 0.092),
    ):  # an independent program, statistical/test_raim2021.py
        row = table.set_index("quantity").loc[name]
        assert abs(row["mean"] - mean) < 5 * sd / row["ess"] ** 0.5 + 0.005
        assert row["sd"] == pytest.approx(sd, rel=0.06)
    assert 0 < found.law_error < 1e-5
    short = cs.sample(RELEASE, **SLIDES, prior=VAGUE, draws=20, thin=1, rng=stream(7, "short"))
    assert short.accuracy.status == "not converged"
    assert (short.summary()["status"] == "not converged").all()
    assert found.sample(7, rng=stream(1, "again")).shape == (7, 2)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"n": 0}, "n must be"),
        ({"scale": 0.0}, "scale must be finite"),
        ({"lower": 2.0}, "lower must be below upper"),
        ({"grid": -1.0}, "grid must contain one or four numbers >= 0, got -1.0"),
        ({"grid": (1.0, 1.0)}, "grid must contain one or four"),
        ({"draws": 4}, "draws must be >= 8"),
        ({"chains": 1}, "chains must be >= 2"),
        ({"thin": 0}, "thin must be >= 1"),
        ({"release": (1.0, 2.0)}, "four numbers"),
        ({"prior": (0.0, 1.0, 1.0, 1.0)}, "prior must be an object of the class Prior"),
        ({"rng": 3}, "Generator"),
        ({"release": {"mean": 1.0}}, "keys mean, sse, low, high"),
    ],
)
def test_bad_input_is_named(changes, match):
    arguments = {"release": RELEASE, **SLIDES, "rng": stream(1, "bad"), **changes}
    with pytest.raises((ValueError, TypeError), match=match):
        cs.sample(arguments.pop("release"), **arguments)


def test_noiseless_posterior_is_closed_form_where_nothing_is_censored():
    """Check remote limits: the conjugate posterior with a nearly flat mu, t and inverse gamma distributions."""
    prior, n, m, q = Prior(0.0, 1e6, 3.0, 2.0), 50, 0.2, 40.0
    found = normal_model.posterior((m, q, 0.0, 0.0), n=n, lower=-40.0, upper=40.0, prior=prior)
    shape, rate = 3.0 + (n - 1) / 2, 2.0 + q / 2
    assert found.mean() == pytest.approx([m, rate / (shape - 1)], rel=1e-6)
    assert found.sd() == pytest.approx(
        [(rate / (shape - 1) / n) ** 0.5, rate / (shape - 1) / (shape - 2) ** 0.5], rel=1e-5
    )
    assert found.quantile([0.025, 0.975])[:, 1] == pytest.approx(
        invgamma.ppf([0.025, 0.975], shape, scale=rate), rel=2e-4
    )
    assert found.accuracy.status == "exact"


def test_naive_analysis_is_naive():
    """Check mu -20.6, sigma2 16.2 at the slides' release, from an independent program."""
    found = normal_model.naive(RELEASE, n=1000, lower=-2.0, upper=2.0, prior=VAGUE)
    assert found.mean() == pytest.approx([-20.6, 16.2], abs=0.06)
    assert found.accuracy.status == "approximate"
    assert "ignores the noise" in repr(found)
    with pytest.raises(ValueError, match="low and high must be integers"):
        normal_model.posterior((*RELEASE[:2], 2.5, 3.0), n=1000, lower=-2.0, upper=2.0)


def test_noiseless_posterior_agrees_with_data_augmentation():
    """Check means of 4,000 sweeps: within 5 standard errors of batch means and 2e-3; sd within 8 %."""
    x = stream(8, "plain").standard_normal(300) + 0.4
    exact = normal_model.posterior(
        CensoredStatistics(lower=-0.5, upper=2.0).of(x), n=300, lower=-0.5, upper=2.0, prior=VAGUE
    )
    draws = censored_normal.chain(
        CensoredStatistics(lower=-0.5, upper=2.0).of(x), n=300, lower=-0.5, upper=2.0, scale=(1e-7, 1e-5, 1e-3, 1e-3),
        method="slides_model", draws=10, burn_in=0, rng=stream(8, "augmented"),
    ).draws  # fmt: skip
    assert np.allclose(draws[:, 4:], [(x < -0.5).sum(), (x > 2.0).sum()])
    plain = censored_normal.without_privacy(
        x, lower=-0.5, upper=2.0, draws=4000, burn_in=100, rng=stream(8, "augmented")
    )
    se = plain.reshape(40, 100, 2).mean(axis=1).std(axis=0, ddof=1) / 40**0.5
    assert np.all(np.abs(plain.mean(axis=0) - exact.mean()) < 5 * se + 2e-3)
    assert plain.std(axis=0) == pytest.approx(exact.sd(), rel=0.08)


@pytest.mark.parametrize("sd", [1e-8, 3e-6, 0.01, 1.0, 700.0, 1e4, 1e7])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_grid_ends_where_the_profile_falls_below_its_depth(sd, axis):
    """Check independent normal coordinates: the profile falls by 30 at sqrt(60) sd; ends are 1e-6 1.3^k < 1.3e6."""

    def log_density(mu, t):
        return -0.5 * ((mu - 2.0) / (sd, 1.0)[axis]) ** 2 - 0.5 * ((t + 1.0) / (1.0, sd)[axis]) ** 2

    k = min(max(np.ceil(np.log(60**0.5 * sd / 1e-6) / np.log(1.3)), 0), 106)
    grid = normal_model._cover(log_density, np.array([2.0, -1.0]), 0.0, axis)
    assert (grid[[0, -1]] - (2.0, -1.0)[axis]) == pytest.approx([-1e-6 * 1.3**k, 1e-6 * 1.3**k], rel=1e-9)


def test_conflict_of_the_medians_is_closed_form():
    prior = Prior(0.0, 1.0, 2.0, 1.0)
    inner = cs.standardised(
        np.array([0.0, 5.0, 2.0, 2.0]),
        np.ones(4),
        np.zeros(4),
        CensoredStatistics(lower=-1.0, upper=1.0),
        50,
        prior,
        False,
    )
    found = censored_statistics.compare(inner, (1.5, 9.0), rng=stream(1, "medians"))
    assert found.parameters == pytest.approx((2 * norm.sf(1.5), 2 * invgamma.sf(9.0, 2.0, scale=1.0)), rel=1e-12)
    assert not found.found


@pytest.mark.parametrize("sums", [False, True])
def test_predictive_p_values_are_those_of_chi_squared_where_nothing_is_censored(sums):
    """Check a nearly known sigma = 0.1 and five records: sse/sigma^2 is chi-squared with 4 degrees of freedom, the sum
    of u^2/sigma^2 with 5; the mean is normal; low = high = 0 have Laplace noise. Each p-value is from 4,000 draws.
    """
    n, sigma2, scale = 5, 0.01, 0.5
    prior = Prior(0.0, 1e-12, 1e8, 1e8 * sigma2)
    tails = np.array([0.3, 0.2, 0.25, 0.4])  # of every statistic: below, below, above, below
    first = norm.ppf(0.3) * (sigma2 / n) ** 0.5 * (n if sums else 1)
    second = sigma2 * chi2.ppf(0.2, n if sums else n - 1)
    z = np.array([first, second, -scale * np.log(2 * 0.25), scale * np.log(2 * 0.4)])
    release = cs.Release(z, n, np.array([1e-9, 1e-9, scale, scale]), np.zeros(4), prior, 0.0, sums)
    found = np.array(cs.predictive(release, rng=stream(1, "predictive", str(sums))))
    assert (np.abs(found / 2 - tails) < 4 * np.sqrt(tails * (1 - tails) / cs.SIZE)).all()


def test_tempering_goes_as_far_as_an_eighth_of_the_particles_counts():
    """Check a twentieth at 0, the others at -10: 8 (1 + 19 q)^2 = 20 (1 + 19 q^2) for q = exp(-10 power)."""
    log_to = np.full(censored_statistics.PARTICLES, -10.0)
    log_to[: censored_statistics.PARTICLES // 20] = 0.0
    power, weights = censored_statistics._tempered(log_to, np.zeros_like(log_to))
    q = (-76 + np.sqrt(76**2 + 12 * 627)) / (2 * 627)  # 627 q^2 + 76 q = 3
    assert power == pytest.approx(-np.log(q) / 10, rel=1e-9)
    assert weights[-1] / weights[0] == pytest.approx(q, rel=1e-8)
    assert censored_statistics._tempered(np.zeros_like(log_to), np.zeros_like(log_to))[0] == 1.0
