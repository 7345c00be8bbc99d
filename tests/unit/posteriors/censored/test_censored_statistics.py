"""Tests of the sampler without records: reference, density error, convergence, prior, conflicts, baselines."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import censored_statistics as reference
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import binom, chi2, gamma, invgamma, laplace, multivariate_normal, norm

from dpmultinomial import _accuracy
from dpmultinomial._accuracy import SUMMARY
from dpmultinomial._mechanisms.sufficient_statistics import SHARES, CensoredStatistics
from dpmultinomial._posteriors.censored import _statistics_sampler as kernel
from dpmultinomial._posteriors.censored import censored_statistics, normal_model
from dpmultinomial._posteriors.censored import censored_statistics as cs
from dpmultinomial._posteriors.censored.normal_model import Prior
from dpmultinomial._printing import limits
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


@pytest.mark.parametrize(("few", "reach"), [(0, 0.0), (1, 0.02), (30, 0.02), (59, 0.02)])
@pytest.mark.parametrize("sign", [1, -1])
def test_draws_with_few_records_count_as_exact_in_the_bound(few, reach, sign, monkeypatch):
    """The log ratio is 0 for draws with at most 63 records, and +-0.02 for all others here. The bound (e^D - 1)/2 has
    the range D of both, which is 0 only if no draw has few records.
    """
    given = []

    def constant(mean, sse, counts):
        given.extend(counts.tolist())
        return np.full(len(mean), sign * 0.02)

    monkeypatch.setattr(censored_statistics, "log_ratio", constant)
    counts = np.where(np.arange(60) < few, 63, 64)
    bound, checked = censored_statistics.total_variation(np.linspace(-0.3, 0.3, 60), 0.3 * counts, counts)
    assert bound == pytest.approx((np.exp(reach) - 1) / 2, rel=1e-12)
    assert given == [64] * checked
    assert 0 < checked <= min(24, 60 - few)


@pytest.mark.parametrize(("mu", "sigma2"), [(0.8, 0.5), (-0.1, 0.5), (0.25, 3.0)])
def test_posterior_medians_are_compared_with_the_prior_in_closed_form(mu, sigma2, monkeypatch):
    """Twice the smaller tail of N(0.2, 0.09), whose standard deviation is 0.3, and of the inverse gamma prior."""
    monkeypatch.setattr(censored_statistics, "predictive", lambda release, *, rng: (1.0, 1.0, 1.0, 1.0))
    release = SimpleNamespace(prior=Prior(0.2, 0.09, 3.0, 2.0))
    found = censored_statistics.compare(release, (mu, sigma2), rng=stream(1, "medians"))
    law = invgamma(3.0, scale=2.0)
    expected = 2 * norm.sf(abs(mu - 0.2) / 0.3), 2 * min(law.cdf(sigma2), law.sf(sigma2))
    assert found.parameters == pytest.approx(expected, rel=1e-9)


def test_the_bound_is_zero_if_all_draws_have_few_records():
    assert censored_statistics.total_variation(np.zeros(9), np.full(9, 18.0), np.full(9, 63)) == (0.0, 0)


@pytest.mark.parametrize("checks", [6, 24, 29])
def test_the_bound_uses_the_extreme_draws_and_evenly_spaced_draws(checks, monkeypatch):
    """A sixth of the checks at either end of the second-order term, and the remaining checks at equal distances."""
    rng = stream(checks, "checked draws")
    mean, counts = rng.uniform(-0.4, 0.4, 200), rng.integers(64, 400, 200)
    sse, given = counts * rng.uniform(0.1, 0.4, 200), []

    def kept(mean, sse, counts):
        given.extend(mean.tolist())
        return np.zeros(len(mean))

    monkeypatch.setattr(censored_statistics, "log_ratio", kept)
    checked = censored_statistics.total_variation(mean, sse, counts, checks=checks)[1]
    order = np.argsort(kernel.log_inside_density(mean, sse, counts)[:, 3] / counts).tolist()
    side = checks // 6
    even = [199 * k // (checks - 2 * side - 1) for k in range(checks - 2 * side)]
    assert given == mean[sorted({*order[:side], *order[200 - side :], *even})].tolist()
    assert checked == len(given)


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
    assert "sigma in 4659 .. 99750 with probability at least 0.98" in repr(prior)  # 4659.9 and 99749.3
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
    assert found.summary()["conflict"].all()
    assert "disagree" in repr(found)


def test_summary_and_state():
    found = cs.sample(RELEASE, **SLIDES, prior=VAGUE, rng=stream(7, "slides"))
    table = found.summary(0.9)
    assert found.draws.shape == (4, 2000, 2)
    assert list(table.columns[: len(SUMMARY)]) == list(SUMMARY)
    assert isinstance(table, pd.DataFrame)
    for i, (mean, sd) in enumerate(((0.030, 0.120), (1.108, 0.092))):  # an independent program, test_raim2021.py
        draws = found.draws[:, :, i]
        assert abs(draws.mean() - mean) < 5 * sd / table["ess"][i] ** 0.5 + 0.005
        assert draws.std() == pytest.approx(sd, rel=0.06)
    assert table["mean"][1] == table["sd"][1] == np.inf  # shape0 is 1
    assert 0 < found.law_error < 1e-5
    short = cs.sample(RELEASE, **SLIDES, prior=VAGUE, draws=20, thin=1, rng=stream(7, "short"))
    assert short.accuracy.status == "not converged"
    assert (short.summary()["status"] == "not converged").all()
    assert found.sample(7, rng=stream(1, "again")).shape == (7, 2)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"n": 0}, "n must be"),
        ({"n": 10**12 + 1}, "n must be"),
        ({"draws": 7}, "draws must be >= 8"),
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


THETAS = [(0.0, 1.0), (0.4, 0.05), (-0.9, 1e-4), (-1.5, 1e-3), (1.5, 0.02), (3.0, 0.5), (-2.5, 4.0), (0.2, 1e4)]


def powers(mu, sigma2, orders):
    """Return E[u^k; -1 < u < 1] of N(mu, sigma2), by adaptive quadrature around the largest density."""
    sigma, top = sigma2**0.5, min(max(mu, -1.0), 1.0)
    ends = np.unique(np.clip([-1.0, top - 12 * sigma, top - sigma, top, top + sigma, top + 12 * sigma, 1.0], -1, 1))
    law, rule = norm(mu, sigma), {"epsabs": 0, "epsrel": 1e-12}
    return [
        sum(quad(lambda u, k=k: u**k * law.pdf(u), a, b, **rule)[0] if law.pdf(a) + law.pdf(b) else 0.0
            for a, b in pairwise(ends))
        for k in orders
    ]  # fmt: skip


@pytest.mark.parametrize("theta", THETAS)
def test_moments_inside_the_limits_are_integrals(theta):
    mass, *raw = powers(*theta, range(5))
    first, second, third, fourth = np.array(raw) / mass
    found = cs.inside_moments(*np.array(theta)[:, None])
    size = second - first**2
    assert found.mean[0] == pytest.approx(first, abs=1e-8 * size**0.5)
    assert found.low[0] == pytest.approx(norm.cdf((-1 - theta[0]) / theta[1] ** 0.5), rel=1e-12, abs=0)
    assert found.high[0] == pytest.approx(norm.sf((1 - theta[0]) / theta[1] ** 0.5), rel=1e-12, abs=0)
    if size > 1e-3 * first**2:  # otherwise, the differences of the raw moments have no digits
        assert found.second[0] == pytest.approx(size, rel=1e-8)
        cube = third - 3 * first * second + 2 * first**3
        assert found.third[0] == pytest.approx(cube, abs=1e-7 * size**1.5)
        square = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        assert found.fourth[0] == pytest.approx(square, rel=1e-6)


def test_narrow_laws_beyond_a_limit_are_exponential():
    """Check mu = -1.5 and sigma2 = 1e-4: the distance from the limit is nearly exponential, with mean 1e-4/0.5. The
    normal factor changes the moments by a few thousandths."""
    found = cs.inside_moments(np.array([-1.5, 1.5]), np.array([1e-4, 1e-4]))
    unit = 1e-4 / 0.5
    assert found.mean + np.array([1, -1]) == pytest.approx([unit, -unit], rel=0.01)
    assert found.second == pytest.approx([unit**2] * 2, rel=0.01)
    assert found.third == pytest.approx([2 * unit**3, -2 * unit**3], rel=0.02)
    assert found.fourth == pytest.approx([9 * unit**4] * 2, rel=0.03)


@pytest.mark.parametrize("theta", [(0.0, 1.0), (0.4, 0.05), (-0.7, 0.3), (1.2, 0.2)])
def test_statistics_have_the_moments_of_independent_records(theta):
    """Check the sums (u, u^2, low, high) of n records; and, to first order, the mean S/C and the sum of squares
    Q - S^2/C, whose mean and covariance with the mean have a factor (c - 1)/c."""
    n, (mu, sigma2) = 40, theta
    one, mean, square, cube, fourth = powers(mu, sigma2, range(5))
    low, high = norm.cdf(-1, mu, sigma2**0.5), norm.sf(1, mu, sigma2**0.5)
    first = np.array([mean, square, low, high])
    product = np.diag([square, fourth, low, high])
    product[0, 1] = product[1, 0] = cube
    covariance = n * (product - np.outer(first, first))
    column = np.array([[mu], [sigma2]])
    found = cs.statistics(*column, n, sums=True)
    assert found[0][0] == pytest.approx(n * first, rel=1e-8, abs=1e-12)
    assert found[1][0] == pytest.approx(covariance, rel=1e-7, abs=1e-9)
    c, m = n * one, mean / one
    v = square / one - m**2
    slopes = np.array([[1 / c, 0, m / c, m / c], [-2 * m, 1, -(m**2), -(m**2)], [0, 0, 1, 0], [0, 0, 0, 1]])
    wanted = slopes @ covariance @ slopes.T
    wanted[0, 1] = wanted[1, 0] = wanted[0, 1] * (c - 1) / c
    found = cs.statistics(*column, n)
    assert found[0][0] == pytest.approx([m, (c - 1) * v, n * low, n * high], rel=1e-8, abs=1e-10)
    assert found[1][0] == pytest.approx(wanted, rel=1e-6, abs=1e-8)


def test_fewer_than_two_expected_records_count_as_two():
    one = powers(3.0, 0.5, range(3))
    mean = one[1] / one[0]
    second = one[2] / one[0] - mean**2
    found = cs.statistics(np.array([3.0]), np.array([0.5]), 50)
    assert 50 * one[0] < 2
    assert found[0][0, :2] == pytest.approx([mean, second], rel=1e-7)
    assert found[1][0, 0, 0] == pytest.approx(second / 2, rel=1e-7)


def made_release(**changes):
    given = {
        "z": np.array([0.1, 9.0, 6.0, 7.0]), "n": 60, "scale": np.array([0.2, 2.0, 1.0, 3.0]),
        "grid": np.array([0.0, 1.0, 2.0, 0.5]), "prior": Prior(0.2, 0.5, 2.0, 0.7), "origin": 0.0, "sums": False,
    }  # fmt: skip
    return cs.Release(**(given | changes))


@pytest.mark.parametrize("sums", [False, True])
def test_the_approximate_posterior_is_the_prior_times_a_normal_law(sums):
    """Noise of scale b on a grid of step g adds 2 b^2 + g^2/12; low and high get 0.3 more, the others 1e-12."""
    release = made_release(sums=sums)
    theta = np.array([[0.1, -1.0], [0.0, 0.0], [-0.6, 1.0], [1.1, -2.0]])
    mean, covariance = cs.statistics(theta[:, 0], np.exp(theta[:, 1]), 60, sums=sums)
    noise = np.diag([0.08 + 1e-12, 8 + 1 / 12 + 1e-12, 2 + 4 / 12 + 0.3, 18 + 0.25 / 12 + 0.3])
    wanted = [
        multivariate_normal.logpdf(release.z, m, c + noise + 1e-10 * np.trace(c) * np.eye(4))
        + norm.logpdf(t[0], 0.2, 0.5**0.5) + invgamma.logpdf(np.exp(t[1]), 2.0, scale=0.7) + t[1]
        for m, c, t in zip(mean, covariance, theta, strict=True)
    ]  # fmt: skip
    found = cs.approximate(release, theta)
    assert found - found[0] == pytest.approx(np.array(wanted) - wanted[0], rel=1e-9, abs=1e-9)


def test_the_approximate_posterior_is_zero_at_extreme_variances():
    release = made_release(prior=Prior(0.0, 1.0, 1.0, 1e-25))
    found = cs.approximate(release, np.array([[0.0, -60.0], [0.0, -59.9], [0.0, 59.9], [0.0, 60.0], [0.0, 90.0]]))
    assert np.isfinite(found).tolist() == [False, True, True, False, False]


def test_particles_explore_the_approximate_posterior():
    """Check 12 runs of 600 particles, of which at least 150 are effective: errors of 2.4 % of a deviation; a draw of
    the particles has the same law. The expected moments are sums on a grid."""
    release = made_release()
    mu, t = np.meshgrid(np.linspace(-1.5, 1.8, 100), np.linspace(-3.5, 2.5, 100), indexing="ij")
    grid = np.column_stack([mu.ravel(), t.ravel()])
    weights = np.exp(cs.approximate(release, grid) - cs.approximate(release, grid).max())
    weights /= weights.sum()
    mean = weights @ grid
    covariance = (grid - mean).T @ (weights[:, None] * (grid - mean))
    runs = [cs.explore(release, stream(k, "explore")) for k in range(12)]
    sd = np.sqrt(np.diag(covariance))
    assert np.mean([run[0] for run in runs], axis=0) == pytest.approx(mean, abs=0.1 * sd.min())
    found = np.mean([run[1] for run in runs], axis=0)
    assert found / np.outer(sd, sd) == pytest.approx(covariance / np.outer(sd, sd), abs=0.1)
    drawn = np.concatenate([run[2] for run in runs])
    assert drawn.shape == (12 * cs.PARTICLES, 2)
    assert np.cov(drawn.T) / np.outer(sd, sd) == pytest.approx(covariance / np.outer(sd, sd), abs=0.12)
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.1 * sd.min())


@pytest.mark.parametrize(("effective", "ends"), [(100, False), (150, False), (151, True), (600, True)])
def test_exploration_ends_when_a_quarter_of_the_particles_is_effective(effective, ends, monkeypatch):
    """Check particles of the prior, of which `effective` have equal weights and the others none."""
    release, calls = made_release(), []

    def approximate(_, theta):
        if calls:
            raise RuntimeError("next step")
        calls.append(1)
        logs = release.prior.log_density(theta[:, 0], theta[:, 1])
        return np.where(np.arange(cs.PARTICLES) < effective, logs, -np.inf)

    monkeypatch.setattr(cs, "approximate", approximate)
    if ends:
        assert len(cs.explore(release, stream(1, "ends"))[2]) == cs.PARTICLES
    else:
        with pytest.raises(RuntimeError, match="next step"):
            cs.explore(release, stream(1, "ends"))


@pytest.mark.parametrize(
    ("rate", "rounds", "change"),
    [(0.23, 3, 0.0), (0.0, 1, -0.46), (0.02, 1, -0.42), (0.1, 2, -0.26), (0.58, 3, 0.7), (1.0, 5, 0.7)],
)
def test_proposals_adapt_to_the_second_half_of_the_rounds(rate, rounds, change):
    """Check the share n/(n + 4000) of the covariance of n draws, but only at a rate above 0.02; the proposal of theta
    follows from the third round on."""
    rng = stream(1, "adapt", rounds)
    kept = [rng.standard_normal((100, 6)) @ np.diag([1, 2, 3, 4, 5, 6]) + 7 for _ in range(rounds)]
    moves, old = np.array([[900, 1], [1000, round(1000 * rate)], [5, 5]]), np.diag([1.0, 1, 4, 4, 9, 9])
    by = cs.Proposal(np.eye(6), np.array([5.0, 6.0]), np.eye(2), 0.1)
    full = cs._adapt(by, kept, moves, old)
    recent = np.concatenate({1: kept, 2: kept[1:], 3: kept[1:], 5: kept[2:]}[rounds])
    share = len(recent) / (len(recent) + 4000) if rate > 0.02 else 0.0
    wanted = share * np.cov(recent.T) + (1 - share) * old
    wanted += np.diag(1e-9 * np.diag(wanted))
    assert full == pytest.approx(wanted, rel=1e-13)
    assert by.log_size == pytest.approx(0.1 + change, rel=1e-13)
    assert by.walk @ by.walk.T == pytest.approx(wanted * np.exp(2 * (0.1 + change)), rel=1e-12)
    if rounds < 3:
        assert by.centre.tolist() == [5.0, 6.0]
        assert (by.spread == np.eye(2)).all()
    else:
        assert by.centre == pytest.approx(recent[:, :2].mean(axis=0), rel=1e-13)
        two = 1.1 * np.cov(recent[:, :2].T)
        assert by.spread @ by.spread.T == pytest.approx(two + np.diag(1e-9 * np.diag(two)), rel=1e-13)
        assert by.spread[0, 1] == 0.0


def test_no_proposed_move_counts_as_none_accepted():
    by = cs.Proposal(np.eye(6), np.zeros(2), np.eye(2), 1.0)
    cs._adapt(by, [np.eye(6)], np.zeros((3, 2), dtype=int), np.eye(6))
    assert by.log_size == pytest.approx(1 - 0.46, rel=1e-13)


def test_a_pilot_has_eight_rounds_of_which_the_last_two_are_twice_as_long(monkeypatch):
    """Check 4,000 steps of all chains in a round, the states that are passed on, and the first proposals."""
    covariance, calls, seen = np.array([[0.5, 0.2], [0.2, 0.9]]), [], []
    monkeypatch.setattr(cs, "explore", lambda *_: (np.array([0.1, 0.2]), covariance, "particles"))
    monkeypatch.setattr(cs, "_feasible", lambda release, by, particles, rng: (particles, len(calls)))

    def run(state, by, draws, thin, rng):
        calls.append((state, draws, thin))
        seen.append((by.walk.copy(), by.centre.copy(), by.spread.copy()))
        return rng.standard_normal((draws, 10)), np.array([[9, 9], [draws, 0.23 * draws], [9, 9]]), 0

    states, by = cs.prepare(SimpleNamespace(run=run), 3, stream(1, "pilot"))
    assert states == [("particles", 0)] * 3
    assert [draws for _, draws, _ in calls] == [1333] * 18 + [2666] * 6
    assert {thin for _, _, thin in calls} == {1}
    walk, centre, spread = seen[0]
    full = np.eye(6)
    full[:2, :2] = covariance
    assert walk @ walk.T == pytest.approx(full * 4 / 6, rel=1e-13)  # the scale 2/6^(1/2)
    assert centre.tolist() == [0.1, 0.2]
    assert spread @ spread.T == pytest.approx(1.5 * covariance, rel=1e-13)
    assert by.log_size == pytest.approx(np.log(2 / 6**0.5), abs=1e-3)  # the rate is 0.23 up to rounding
    assert by.walk @ by.walk.T == pytest.approx(4 / 6 * np.eye(6), abs=0.08)


class OneEach:
    """A generator without chance: every normal is 1."""

    def integers(self, size):
        return size - 1

    def standard_normal(self, size):
        return np.ones(size)

    def uniform(self, low, high, size):
        assert (low, 1 - high) == pytest.approx((1e-12, 1e-12), rel=1e-3, abs=0)
        return np.full(size, 0.5)


@pytest.mark.parametrize("fails", [0, 1, 7, 399])
def test_a_start_is_a_particle_with_more_and_more_random_statistics(fails):
    tried = []

    def run(state, by, draws, thin, rng):
        tried.append((draws, thin))
        if len(tried) <= fails:
            raise ValueError("infeasible")

    by = cs.Proposal(np.eye(6), np.zeros(2), np.array([[2.0, 0.0], [1.0, 3.0]]))
    state = cs._feasible(SimpleNamespace(run=run), by, np.array([[9.0, 9.0], [1.0, -1.0]]), OneEach())
    assert tried == [(0, 1)] * (fails + 1)
    k = 0.01 * fails
    assert state.y == pytest.approx([1 + 2 * k, -1 + 4 * k, k, k, k, k], rel=1e-13)
    assert state.uniforms.tolist() == [0.5] * 64


def test_four_hundred_infeasible_starts_are_an_error():
    tried = []

    def run(*_):
        tried.append(1)
        raise ValueError("infeasible")

    by = cs.Proposal(np.eye(6), np.zeros(2), np.eye(2))
    with pytest.raises(RuntimeError, match="probability 0 at all 400 starting points"):
        cs._feasible(SimpleNamespace(run=run), by, np.zeros((1, 2)), OneEach())
    assert len(tried) == 400


def predictive_shares(z, n, sums, scale, theta=(0.3, 0.25)):
    """Return P(Z <= z) of each number for known parameters, by summation over the number of records inside."""
    one, mean, square, cube, fourth = powers(*theta, range(5))
    m = mean / one
    v = square / one - m**2
    f = fourth / one - 4 * m * cube / one + 6 * m**2 * square / one - 3 * m**4
    low, high = norm.cdf(-1, theta[0], theta[1] ** 0.5), norm.sf(1, theta[0], theta[1] ** 0.5)
    counts = np.arange(n + 1)
    p = binom.pmf(counts, n, one)
    first = p[0] * (z[0] >= 0) + sum(p[c] * norm.cdf(z[0], m * (c if sums else 1), (v * (c if sums else 1 / c)) ** 0.5)
                                     for c in counts[1:])  # fmt: skip
    beta = (f - v**2) / v
    second = p[0] + sum(p[c] * (gamma.cdf(z[1], (c - 1) * v / beta, scale=beta) if c > 1 else 1.0) for c in counts[1:])
    ends = [binom.pmf(counts, n, q) @ laplace.cdf(z[k] - counts, scale=scale) for k, q in ((2, low), (3, high))]
    return np.array([first, second, *ends])


@pytest.mark.parametrize(
    ("z", "n", "sums"),
    [
        ((0.25, 3.5, 0.8, 4.2), 40, False),
        ((0.15, 5.5, -0.5, 3.0), 40, False),
        ((6.0, None, 0.3, 3.5), 40, True),
        ((0.5, 0.05, 0.2, 0.4), 2, False),
        ((-0.1, 0.01, 0.2, 0.4), 2, False),
    ],
)
def test_predictive_p_values_are_sums_over_the_number_of_records_inside(z, n, sums):
    """Check known parameters; each share is from 4,000 draws: five standard errors (false alarm 1e-5)."""
    prior = Prior(0.3, 1e-14, 1e10, 1e10 * 0.25)
    given = np.array([0.0 if v is None else v for v in z])
    release = cs.Release(given, n, np.array([1e-9, 1e-9, 0.5, 0.5]), np.zeros(4), prior, 0.0, sums)
    found = np.array(cs.predictive(release, rng=stream(3, "known", n, str(z))))
    below = predictive_shares(given, n, sums, 0.5)
    wanted = 2 * np.minimum(below, 1 - below)
    error = 5 * 2 * np.sqrt(below * (1 - below) / cs.SIZE) + 1e-3
    kept = [v is not None for v in z]
    assert (np.abs(found - wanted) < error)[kept].all()


def test_a_record_outside_has_the_mean_0_and_a_single_record_no_sum_of_squares():
    """Check one record of N(0, 4), inside with probability 0.383: its mean is 0 otherwise; normal and clipped to the
    limits inside, with the variance of a uniform law, nearly (0.32)."""
    prior, noise = Prior(0.0, 1e-14, 1e10, 4e10), np.array([1e-9, 1e-9, 1e-9, 1e-9])
    inside, sd = norm.cdf(0.5) - norm.cdf(-0.5), (powers(0.0, 4.0, [2])[0] / powers(0.0, 4.0, [0])[0]) ** 0.5
    for z, below in (
        (-1e-6, inside / 2),
        (-0.5, inside * norm.cdf(-0.5 / sd)),
        (-1.0 + 1e-6, inside * norm.cdf(-1 / sd)),
        (-1.0 - 1e-6, 0.0),
    ):
        release = cs.Release(np.array([z, 1e-6, 0.5, 0.5]), 1, noise, np.zeros(4), prior, 0.0, False)
        found = cs.predictive(release, rng=stream(4, "one", str(z)))
        assert found[0] == pytest.approx(2 * below, abs=2 * 5 * (below / 4000) ** 0.5 + 6e-4)
        assert found[1] == pytest.approx(2 / 4001)  # all sums of squares are 0
        assert found[2] == pytest.approx(2 * norm.cdf(-0.5), abs=0.04)


def test_two_sided_probabilities_by_hand():
    """Check 9 draws, 0 to 8: ranks (k + 1)/10 count the released value itself; twice the smaller side, at most 1."""
    predicted = np.repeat(np.arange(9.0)[:, None], 4, axis=1)
    assert cs._two_sided(predicted, np.array([-1.0, 1.0, 4.0, 7.5])) == pytest.approx((0.2, 0.6, 1.0, 0.4), rel=1e-13)
    assert cs._two_sided(predicted, np.array([9.0, 0.0, 3.5, 2.0])) == pytest.approx((0.2, 0.4, 1.0, 0.8), rel=1e-13)


AGREE = "no conflict between the prior and the release was found (smallest of six p-values, multiplied by six: {})"


@pytest.mark.parametrize(
    ("p", "least", "text"),
    [
        ((0.5, 0.4, 0.3, 0.2, 0.2, 0.9), 1.0, AGREE.format(1)),
        ((0.5, 0.4, 0.02, 0.2, 0.2, 0.9), 0.12, AGREE.format(0.12)),
        ((0.001, 0.4, 0.5, 0.2, 0.2, 0.9), 0.006, AGREE.format(0.006)),
        ((0.5, 0.0009, 0.5, 0.2, 0.2, 0.9), 0.0054,
         "prior and release disagree: the released sse has a prior p-value of 0.0009"),
        ((0.5, 0.5, 0.5, 2 / 4001, 0.2, 0.9), 12 / 4001,
         "prior and release disagree: the released high has a prior p-value of at most 0.0005"),
        ((0.5, 0.5, 0.5, 3 / 4001, 0.2, 0.9), 18 / 4001,
         "prior and release disagree: the released high has a prior p-value of 0.0007"),
        ((0.5, 0.5, 0.5, 0.5, 0.0004, 0.9), 0.0024,
         "prior and release disagree: the posterior median of mu has a prior p-value of 0.0004"),
        ((0.5, 0.5, 0.5, 0.5, 0.5, 0.00001), 0.00006,
         "prior and release disagree: the posterior median of sigma2 has a prior p-value of 1e-05"),
        ((0.5, 0.5, 0.5, 0.5, 0.0, 0.9), 0.0,
         "prior and release disagree: the posterior median of mu has a prior p-value below 1e-12"),
    ],
)  # fmt: skip
def test_what_a_conflict_says(p, least, text):
    found = cs.Conflict(p[:4], p[4:])
    assert (str(found), repr(found)) == (text, text)
    assert found.least == pytest.approx(least, rel=1e-13, abs=0)
    assert found.found == ("disagree" in text)


@pytest.mark.parametrize("sums", [False, True])
def test_a_release_is_scaled_to_limits_of_minus_1_and_1(sums):
    """Check limits 2 and 8: half the width is 3, the middle is 5; sums are already measured from the middle."""
    found = cs.standardised(
        np.array([8.0, 18.0, 4.0, 7.0]), np.array([3.0, 27.0, 2.0, 5.0]), np.array([6.0, 9.0, 1.0, 0.5]),
        CensoredStatistics(lower=2.0, upper=8.0), 50, Prior(2.0, 18.0, 4.0, 45.0), sums,
    )  # fmt: skip
    assert found.z == pytest.approx([8 / 3 if sums else 1.0, 2.0, 4.0, 7.0], rel=1e-13)
    assert found.scale == pytest.approx([1.0, 3.0, 2.0, 5.0], rel=1e-13)
    assert found.grid == pytest.approx([2.0, 1.0, 1.0, 0.5], rel=1e-13)
    assert (found.n, found.origin, found.sums) == (50, pytest.approx(5 / 3, rel=1e-13), sums)
    assert tuple(found.prior) == pytest.approx((-1.0, 2.0, 4.0, 5.0), rel=1e-13)


def test_draws_are_returned_in_the_unit_of_the_data():
    row = np.array([[[0.5, np.log(0.25), 9, 9, 9, 9, -1.0, 2.0, 3.0, 4.0]]])
    theta, statistics = cs._in_unit(row, CensoredStatistics(lower=2.0, upper=8.0))
    assert theta[0, 0] == pytest.approx([6.5, 2.25], rel=1e-13)
    assert statistics[0, 0] == pytest.approx([2.0, 18.0, 3.0, 4.0], rel=1e-13)


def test_grids_are_one_number_or_four():
    assert cs._grids(2.0).tolist() == [2.0] * 4
    assert cs._grids([0.0, 1.0, 2.0, 3.0]).tolist() == [0.0, 1.0, 2.0, 3.0]
    for bad in ([1.0] * 3, [1.0] * 5, [0.0, 0.0, 0.0, -1e-9]):
        with pytest.raises(ValueError, match="grid must contain one or four numbers >= 0"):
            cs._grids(bad)


def test_sampling_has_these_defaults():
    """Check chains of draws that are 5 steps apart; the number of draws is checked with the summary."""
    found = cs.sample(RELEASE, **SLIDES, draws=8, rng=stream(9, "defaults"))
    assert found.draws.shape == (4, 8, 2)
    assert found.statistics.shape == (4, 8, 4)
    assert tuple(found.prior) == tuple(Prior.from_limits(-2.0, 2.0))
    options = {"draws": 8, "chains": 4, "thin": 5, "grid": 0.0, "sums": False}
    assert (cs.sample(RELEASE, **SLIDES, rng=stream(9, "defaults"), **options).draws == found.draws).all()


@pytest.mark.parametrize("changes", [{}, {"n": 1}, {"n": 10**12}, {"draws": 8}, {"chains": 2}])
def test_the_least_and_the_largest_arguments_are_accepted(changes, monkeypatch):
    monkeypatch.setattr(cs, "prepare", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cs.sample(RELEASE, **(SLIDES | changes), rng=stream(1, "limits"))


def made_posterior(**changes):
    rng = stream(2, "made")
    given = {
        "draws": rng.gamma(4.0, size=(2, 300, 2)), "statistics": rng.normal(size=(2, 300, 4)), "unsolved": 0,
        "prior": Prior(0.0, 1.0, 3.0, 1.0), "conflict": cs.Conflict((0.5, 0.4, 0.3, 0.2), (0.1, 0.05)),
        "check_law": lambda: (0.0, 0),
    }  # fmt: skip
    return cs.CensoredPosterior(**(given | changes))


def test_a_summary_has_the_moments_and_quantiles_of_all_draws():
    found = made_posterior()
    values = np.concatenate([found.draws, found.statistics], axis=2)
    table = found.summary(0.8)
    assert table["quantity"].tolist() == ["mu", "sigma2", "s_mean", "s_sse", "s_low", "s_high"]
    pooled = pd.DataFrame(values.reshape(600, 6))
    assert table["mean"].to_numpy() == pytest.approx(pooled.mean().to_numpy(), rel=1e-12)
    assert table["sd"].to_numpy() == pytest.approx(pooled.std().to_numpy(), rel=1e-12)
    assert table["lower"].to_numpy() == pytest.approx(pooled.quantile(0.1).to_numpy(), rel=1e-12)
    assert table["upper"].to_numpy() == pytest.approx(pooled.quantile(0.9).to_numpy(), rel=1e-12)
    assert table["level"].tolist() == [0.8] * 6
    for name, measure in (("ess", _accuracy.bulk_ess), ("rhat", _accuracy.rhat)):
        assert table[name].tolist() == [measure(values[:, :, i]) for i in range(6)]
        assert getattr(found, name).tolist() == table[name].tolist()[:2]
    assert table["prior_probability"].to_numpy() == pytest.approx([0.3] * 6)
    assert not table["conflict"].any()
    rows = [f"  {r.quantity} = {r.mean:.5g}, sd {r.sd:.2g}, 95% in {limits(r.lower, r.upper, 5)}"
            for r in found.summary(0.95).iloc[:2].itertuples()]  # fmt: skip
    lines = found.prior, found.accuracy, found.conflict
    assert repr(found).splitlines() == ["CensoredPosterior", *rows, *(f"  {x!s}" for x in lines)]
    for shape, infinite in ((1.0, [True, True]), (2.0, [False, True]), (2.01, [False, False])):  # E sigma2 < inf: > 1
        heavy = made_posterior(prior=Prior(0.0, 1.0, shape, 1.0)).summary().loc[1, ["mean", "sd"]]
        assert [bool(np.isinf(x)) for x in heavy] == infinite


@pytest.mark.parametrize(("size", "rows"), [(3, [0, 1, 2]), (400, [*range(400)]), (799, [*range(0, 799, 2)])])
def test_at_most_400_draws_are_compared_with_the_exact_density(size, rows):
    """Check evenly spaced draws, their mean, sum of squares and number of records inside."""
    found = np.zeros((1, size, 10))
    found[0, :, 6:] = np.arange(size)[:, None] * [1.0, 10.0, 1.0, 2.0]
    assert [part.tolist() for part in cs._law_check(found, 5000).args] == [
        rows, [10 * k for k in rows], [5000 - 3 * k for k in rows]
    ]  # fmt: skip


def test_which_draws_are_compared_with_the_exact_density(monkeypatch):
    """Check four draws at each end of the order of the second-order term divided by c, and 16 evenly spaced ones; with
    fewer than 64 records, log R is 0."""
    asked = []

    def log_ratio(mean, sse, counts):
        asked.append(sorted(mean.tolist()))
        return 5.0 + mean

    def terms(mean, sse, counts):
        return np.column_stack([mean, mean, mean, counts * np.cos(1e3 * mean)])

    monkeypatch.setattr(cs, "log_ratio", log_ratio)
    monkeypatch.setattr(cs._statistics_sampler, "log_inside_density", terms)
    mean, counts = np.linspace(0, 0.5, 301), np.arange(64, 365)
    order = np.argsort(np.cos(1e3 * mean)).tolist()
    places = {*order[:4], *order[-4:], *range(0, 301, 20)}
    found = cs.total_variation(mean, mean, counts)
    assert asked == [mean[sorted(places)].tolist()]
    assert found == (pytest.approx(np.expm1(np.ptp(asked[0])) / 2, rel=1e-12), len(places))
    counts[:3] = 63
    bound, _ = cs.total_variation(mean, mean, counts)
    assert bound == pytest.approx(np.expm1(5.5) / 2, rel=1e-12)  # from log R = 0 to 5.5
    assert cs.total_variation(mean[:3], mean[:3], counts[:3]) == (0.0, 0)


@pytest.mark.parametrize(("mean", "sse", "count"), [(0.5, 0.0, 9), (0.5, 6.76, 9), (1.1, 1.0, 9)])
def test_densities_outside_the_range_of_the_statistics_are_refused(mean, sse, count):
    """Check 0 < q/c < 1 - m^2 = 0.75, of which 6.75 is the end; the first bad row is named."""
    good = (0.2, 3.0, 9)
    rows = [np.array(part) for part in zip(good, (mean, sse, count), good, strict=True)]
    words = rf"got mean = {mean:g} and sse = {sse:g} for the count {count}$"
    with pytest.raises(ValueError, match=words):
        cs.log_ratio(*rows)
    assert np.isfinite(cs.log_ratio(*(part[[0, 2]] for part in rows))).all()


@pytest.mark.parametrize(("error", "status"), [(0.005, "converged"), (0.0051, "approximate")])
def test_a_chain_with_a_law_error_above_half_a_percent_is_approximate(error, status):
    draws = stream(8, "law error").standard_normal((4, 1000, 2))
    conflict = cs.Conflict((0.5,) * 4, (0.5,) * 2)
    prior = normal_model.Prior.from_limits(-1.0, 1.0)
    found = cs.CensoredPosterior(draws, np.zeros((4, 1000, 4)), prior, conflict, lambda: (error, 400), 0)
    assert (found.accuracy.status, found.accuracy.error) == (status, error)
    assert "total variation" in found.accuracy.reason
