"""Check the claims of the errata against formulas, and against quadrature by other methods."""

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from dpmultinomial._seeding import stream
from reproduction import evidence
from reproduction.papers.raim2021 import errata, formulas, statistics_laws
from reproduction.papers.raim2021.algorithms import censored_normal
from reproduction.papers.raim2021.algorithms import direct_sampling as ds

NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"


def said(number, *, seed=1, size=60):
    return evidence.show(errata.ERRATA, number, rng=stream(seed, "errata"), size=size)


def numbers(pattern, text):
    return [float(n) for n in re.search(pattern.replace("#", NUMBER), text).groups()]


def test_the_missing_n():
    """Check the printed formula for vartheta, which lacks the factor n, with 1,000 records from 3 + N(0, 1). The
    precision is 1000/1 + 1/100, and the prior mean is 0. The check uses many samples, because rounding hides a small
    error.
    """
    for seed in range(100):
        mean = 3 + stream(seed, "errata").standard_normal(1000).mean()
        printed, right = mean / 1000.01, 1000 * mean / 1000.01
        wanted = f"For 1,000 records with mean {mean:.3f}, the printed formula gives vartheta = {printed:.5f}, "
        assert said(1, seed=seed) == f"{wanted}and the formula with n gives {right:.3f}."


def test_counts_in_turn():
    """Check that the mean of the number s_c of uncensored records is 953.20 if the counts are drawn sequentially, and
    950.60 if they are drawn jointly. Both values come from an independent enumeration of all counts.
    """
    in_turn, error, joint, its_error = numbers(r"s_c is # \(#\) as written and # \(#\) with", said(2, size=400))
    assert in_turn == pytest.approx(953.20, abs=4 * error)
    assert joint == pytest.approx(950.60, abs=4 * its_error)
    # Laplace noise of scale 8.494 and binomial counts with q = 0.0228: each s has an sd of at most sqrt(22.2), and both
    # are within 6.7
    assert 0 < error * 20 < 6.7
    assert 0 < its_error * 20 < 6.7


def test_censored_records_have_a_smaller_variance():
    """Check that the variance of N(0, 1) truncated to [-2, 2] is 1 - 4 phi(2)/(2 Phi(2) - 1) = 0.7737."""
    text = said(3)
    inside = 1 - 4 * stats.norm.pdf(2) / (2 * stats.norm.cdf(2) - 1)
    # the variance of a variance is (mu4 - inside^2)/n, with mu4 < 2^2 inside
    assert numbers(r"\[-2, 2\] is #,", text)[0] == pytest.approx(inside, abs=4 * (4 * inside / 950_000) ** 0.5)
    first, share = (int(n) for n in re.search(r"in sweep (\d+), and in (\d+) % of 60 sweeps", text).groups())
    assert 1 <= first <= 60
    assert share >= 1


def test_the_first_sweep_outside_is_counted_from_one(monkeypatch):
    """Check that sweeps are numbered from 1. In a run of five sweeps in which s_mean is first outside [-2, 2] in the
    second sweep, the reported sweep is 2.
    """

    def chain(*given, draws, **stated):
        s_mean = np.array([0.0, 2.5, 1.0, -3.0, 2.0])[:draws]
        table = np.zeros((len(s_mean), 6))
        table[:, 2] = s_mean
        return censored_normal.Chain(table, *[0.4] * (len(censored_normal.Chain._fields) - 1))

    monkeypatch.setattr(censored_normal, "chain", chain)
    assert "in sweep 2, and in 40 % of 5 sweeps" in said(3, size=5)
    assert "s_mean is outside [a, b] in 40 % of 1 sweeps." in said(3, size=1)


def test_end_points():
    """Check that the upper end of A_u, the interval on which 3 exp(-x^2/2) exceeds half of its maximum, is
    sqrt(2 log 2). The tolerance is given by the grid step of 1e-4.
    """
    text = said(4)
    assert numbers("upper end of A_u is #,", text)[0] == pytest.approx((2 * np.log(2)) ** 0.5, abs=1.5e-4)
    assert f"sqrt(-2 log u) is {(2 * np.log(2)) ** 0.5:.4f}." in text
    assert f"the radicand is -2 log(1.5) = {-2 * np.log(1.5):.2f}." in text


def test_closed_ends_of_the_gamma_weight():
    """Check that two methods of computing the ends of the interval A_u for the gamma weight give the same result. The
    tolerance is the accuracy of the slower method, 1e-9 for ends near 170.
    """
    assert numbers(r"this project is (\d\.\de-\d+)\.$", said(5))[0] < 1e-6


def test_the_lower_end_of_floating_point():
    """Check the value of u_L, which is the smallest u for which P(A_u) and P(A_0) differ in floating point. The
    relative weight exceeds u on the interval A_u. At u_L, Laplace noise of scale b is outside [-21.27 - r, -21.27 + r]
    with probability exp(-(r - 21.27)/b)/2. This probability is about 2^-53.

    log u_L = -950 r^2/2, up to the factor of two within which a sum is rounded.
    """
    text = said(6)
    for b, found in zip((8.494, 0.8494), numbers(r"log u_L is # \(and # for a tenth", text), strict=True):
        least, most = (21.27 + b * np.log(0.5 / miss) for miss in (2.0**-52, 2.0**-54))
        assert 950 * least**2 / 2 * 0.995 < -found < 950 * most**2 / 2 * 1.005
    weight = ds.NormalWeight(-21.27, mu=0.0, sigma2=1.0, count=950)
    for rule, rate in zip(
        ("machine", "efficient"),
        numbers(r"N = 25, the rejection rate is # for this u_L and # for the u_L of", text),
        strict=True,
    ):
        sampler = ds.DirectSampler(weight, ds.LaplaceBase(8.494), knots=25, lower=rule)
        rejected = sampler.sample_counted(20_000, rng=stream(2, rule))[1]
        share = rejected / (20_000 + rejected)
        assert rate == pytest.approx(share, abs=4 * (share / 20_000) ** 0.5 + 5e-4)


def test_the_envelope_below_its_first_knot():
    """Check the step function below its first knot, for a normal weight with mean 1/2 and variance 1 and for Laplace
    noise of scale 1. The area is P(A_u) = 1 - e^(1/2 - s)/2 - e^(-1/2 - s)/2.

    Here, s^2 = -2 log u.
    """

    def area(log_u):
        s = (-2 * log_u) ** 0.5
        return 1 - np.exp(0.5 - s) / 2 - np.exp(-0.5 - s) / 2

    words = r"e\^(-?\d+\.\d), the slides use h\* = P\(A_uL\) = #, which is not an envelope, because "
    words += r"P\(A_u\) is as large as "
    at, height, reached = numbers(words + r"(\d\.\d+)\.", said(7))
    assert area(at + 0.05) - 1e-6 < height < area(at - 0.05) + 1e-6  # one decimal of log u_L is printed
    assert area(at - 0.95) - 1e-6 < reached < area(at - 1.05) + 1e-6


class Cut:
    """Laplace distribution of the noise xi with scale 8.494, together with a gamma weight function of xi. The weight is
    the gamma density with shape 949/2 and scale 2 at z - xi, divided by its maximum.
    """

    noise = stats.laplace(scale=8.494)

    def __init__(self, z):
        self.z, self.mode = z, z - 2 * (949 / 2 - 1)

    def log_relative(self, x):
        law = stats.gamma(949 / 2, scale=2)
        return law.logpdf(self.z - x) - law.logpdf(self.z - self.mode)

    def ends(self, log_u):
        sides = (self.mode - 3000, self.mode), (self.mode, self.z - 1e-9)
        return tuple(brentq(lambda x: self.log_relative(x) - log_u, *side) for side in sides)

    def excess(self, t):
        """Return log(P(A_u)/P(A_0)) - log(1e-10), where A_u is the set on which the relative weight exceeds u =
        exp(-exp(t)).
        """
        low, high = self.ends(-np.exp(t))
        return np.log(self.noise.cdf(high) - self.noise.cdf(low)) - self.noise.logcdf(self.z) - np.log(1e-10)

    def lost(self):
        """Return the probability P(U > u_H) that the auxiliary variable U of the sampler exceeds a bound u_H. At u =
        u_H, the probability P(A_u) of the set A_u is 1e-10 P(A_0). The set A_u contains the points at which the
        relative weight exceeds u. Given x, U is uniform below w(x)/c and exceeds u_H with probability max(0, 1 - u_H
        c/w(x)).
        """
        cut = -np.exp(brentq(self.excess, np.log(1e-12), np.log(400.0)))
        x = np.linspace(*self.ends(-600.0), 400_001)
        mass = np.exp(self.log_relative(x) + self.noise.logpdf(x))
        above = -np.expm1(np.minimum(cut - self.log_relative(x), 0.0))
        return (mass @ above) / mass.sum()


@pytest.mark.thorough
def test_mass_lost_above_a_small_area():
    found = numbers("is # at z_sse = 778.56, # at z_sse = 600 and # at z_sse = 400.", said(8))
    for z, lost in zip((778.56, 600.0, 400.0), found, strict=True):
        assert lost == pytest.approx(Cut(z).lost(), rel=0.03, abs=2e-12)


def test_errata_are_at_the_figures_settings(monkeypatch):
    """Check that the errata use the settings of the figures. The settings are mu = 0, sigma2 = 1, 950 records inside
    the limits, z = -21.27 and 778.56, noise of scale 16.988/2, the limits [-2, 2] and n = 1,000.
    """
    seen, models = set(), []

    def recorded(name):
        right = getattr(ds, name)

        def weight(z, **stated):
            seen.add((name, z, stated.get("sigma2"), stated.get("count", 1)))
            return right(z, **stated)

        return weight

    for name in ("NormalWeight", "GammaWeight"):
        monkeypatch.setattr(ds, name, recorded(name))
    right = censored_normal.chain

    def chain(z, **stated):
        models.append((z, stated["n"], stated["lower"], stated["upper"], stated["scale"], stated["initial"]))
        return right(z, **stated)

    monkeypatch.setattr(censored_normal, "chain", chain)
    for number in errata.ERRATA:
        said(number, size=3)
    assert seen == {
        ("NormalWeight", 0.0, 1.0, 1),
        ("NormalWeight", 0.5, 1.0, 1),
        ("NormalWeight", -21.27, 1.0, 950),
        *{("GammaWeight", z, 1.0, 950) for z in (778.56, 600.0, 400.0)},
    }
    assert set(models) == {((-21.27, 778.56, 23.0, 27.0), 1000, -2.0, 2.0, 8.494, (0.0, 1.0))}


AT = formulas.Setting(-21.27, 778.56, 0.0, 1.0, 950, 8.494)


def test_the_printed_formulas_by_hand():
    """Check the printed formulas at simple values. G(b log 2) = 3/4 for Laplace noise with scale b. For u = exp(-2) and
    variance 4, the ends of A_u are 4 away from z - mu. The gamma weight with shape 3 and scale 2 has its mode 4 below z
    and the maximum 4 exp(-2)/(2 x 2).
    """
    log_2 = np.log(2)
    points = np.array([-5 * log_2, 0.0, 5 * log_2, 10 * log_2])
    assert formulas.laplace_cdf(points, 5.0) == pytest.approx([0.25, 0.5, 0.75, 0.875])
    assert formulas.laplace_quantile(np.array([0.25, 0.5, 0.75, 0.875]), 5.0) == pytest.approx(points)
    assert formulas.normal_ends(np.array([np.exp(-2)]), 1.0, 3.0, 4.0) == (
        pytest.approx([-6]),
        pytest.approx([2]),
    )
    assert formulas.gamma_mode(10.0, 3.0, 2.0) == 6
    assert formulas.gamma_maximum(3.0, 2.0) == pytest.approx(np.exp(-2))
    # as printed, without the factor n of the mean: (2/4 + 6/2)/(3/4 + 1/2)
    x = np.array([1.0, 2.0, 3.0])
    assert formulas.conditional_precision(x, 4.0, 2.0) == 1.25
    assert formulas.conditional_mean(x, 4.0, 6.0, 2.0) == pytest.approx(3.5 / 1.25)
    # shape 5 + 3/2; rate 7 + (2 + 3 (2 - 1)^2)/2
    assert formulas.conditional_gamma(x, 1.0, 5.0, 7.0) == (6.5, 9.5)


def test_the_censored_likelihood_by_hand():
    """Check the log-likelihood of a censored sample that has four uncensored records, one record below 0 and two
    records above 2. With mu = 0 and sigma2 = 4, it is log Phi(0) + 2 log Phi(-1) - 2 log(8 pi) - (6 + 4)/8.
    """
    found = formulas.censored_log_likelihood(np.array([1.0, 6.0, 1.0, 2.0]), 7, 0.0, 2.0, 0.0, 4.0)
    wanted = np.log(0.5) + 2 * stats.norm.logcdf(-1) - 2 * np.log(8 * np.pi) - 1.25
    assert found == pytest.approx(wanted, rel=1e-12)


def test_only_one_printed_formula_fails_its_tolerance():
    table = formulas.formulas(z_mean=-21.27, z_sse=778.56, mu=0.0, sigma2=1.0, count=950, scale=8.494)
    table = table.set_index("formula")
    assert table.index[~table["holds"]].tolist() == ["mean of the full conditional of mu"]
    assert table.loc["mean of the full conditional of mu", "gap"] > 0.1
    others = table.drop(index="mean of the full conditional of mu")
    assert (others["gap"] >= 0).all()
    assert table["tolerance"].isin([1e-6, 1e-8]).all()


@pytest.mark.parametrize(
    ("name", "wrong", "gap", "expected"),
    [
        ("laplace_cdf", lambda right: lambda x, b: right(x, b) + 0.003, "_laplace_cdf", 0.003),
        ("laplace_quantile", lambda right: lambda q, b: right(q, b) + 0.02 * b * (q > 0.99), "_laplace_quantile", 0.02),
        ("laplace_quantile", lambda right: lambda q, b: right(q, b) - 0.02 * b * (q < 0.01), "_laplace_quantile", 0.02),
        ("normal_ends", lambda right: lambda *a: (right(*a)[0] - 0.5, right(*a)[1]), "_normal_ends", 0.5),
        ("normal_ends", lambda right: lambda *a: (right(*a)[0], right(*a)[1] + 0.25), "_normal_ends", 0.25),
        ("gamma_mode", lambda right: lambda *a: right(*a) + 2, "_gamma_mode", 2.0),
        ("gamma_maximum", lambda right: lambda *a: 1.01 * right(*a), "_gamma_maximum", 0.01),
        ("conditional_precision", lambda right: lambda *a: right(*a) / 1.01, "_conditional_variance", 0.01),
        ("conditional_gamma", lambda right: lambda *a: (1.01 * right(*a)[0], right(*a)[1]), "_conditional_gamma", 0.01),
        ("conditional_gamma", lambda right: lambda *a: (right(*a)[0], right(*a)[1] / 1.02), "_conditional_gamma", 0.02),
        ("censored_log_likelihood", lambda right: lambda *a: right(*a) - 0.7, "_likelihood", 0.7),
    ],
)
def test_an_error_of_a_formula_is_the_reported_gap(monkeypatch, name, wrong, gap, expected):
    """Check that an error of known size in a printed formula is reported as a difference of this size."""
    monkeypatch.setattr(formulas, name, wrong(getattr(formulas, name)))
    assert getattr(formulas, gap)(AT) == pytest.approx(expected, rel=1e-3)


def test_the_printed_mean_of_mu_lacks_the_factor_n():
    """Check the gap between the printed mean, (t/sigma2)/(n/sigma2 + 1/100), and the posterior mean, n t/(n + 0.01)."""
    x = AT.records
    assert len(x) == 40
    assert formulas._conditional_mean(AT) == pytest.approx(abs(x.mean() * 39 / 40.01), rel=1e-6)
    assert formulas._conditional(AT) == pytest.approx((40 * x.mean() / 40.01, 1 / 40.01), rel=1e-6)


def test_gaps_of_the_sampler(monkeypatch):
    """Check the reported differences if the sampler's psi is 1 % too large for one target, and if P(A_0) or P(A_1) is
    wrong.
    """
    right = formulas.Setting.sampler
    for bad in ("xi_mean", "xi_sse"):

        def with_psi(self, target, bad=bad):
            sampler = right(self, target)
            sampler.__dict__["log_psi"] = sampler.log_psi + np.log(1.01) * (target == bad)
            return sampler

        monkeypatch.setattr(formulas.Setting, "sampler", with_psi)
        assert formulas._marginal_of_u(AT) == pytest.approx(1 - 1 / 1.01, rel=1e-4)
        assert formulas._joint(AT) == pytest.approx(1 - 1 / 1.01, rel=1e-3)

        def with_whole(self, target, bad=bad):
            sampler = right(self, target)
            sampler.log_whole += np.log(0.9) * (target == bad)
            sampler.log_area = lambda log_u: np.array([np.log(0.2) if target == bad else -np.inf])
            return sampler

        monkeypatch.setattr(formulas.Setting, "sampler", with_whole)
        assert formulas._whole(AT) == pytest.approx(0.1)
        assert formulas._empty(AT) == pytest.approx(0.2)


@pytest.mark.parametrize(("side", "shift"), [(0, 0.5), (1, -0.5)])
def test_the_gap_of_the_ends_of_the_gamma_weight(monkeypatch, side, shift):
    """Check that a shift of one end of the interval A_u by half a unit is reported relative to beta sqrt(shape), which
    is 2 sqrt(474.5).
    """
    right = formulas.Setting.sampler

    def moved(self, target):
        sampler = right(self, target)
        found = sampler.interval

        def interval(log_u):
            ends = list(found(log_u))
            ends[side] = ends[side] + shift
            return tuple(ends)

        sampler.interval = interval
        return sampler

    monkeypatch.setattr(formulas.Setting, "sampler", moved)
    assert formulas._gamma_ends(AT) == pytest.approx(0.5 / (2 * 474.5**0.5), rel=1e-6)


@pytest.mark.parametrize("kind", ["xi_mean", "xi_sse"])
def test_a_target_density_by_quadrature(kind):
    """Check the target density w g/psi against sums over a fine grid, for a normal and for a gamma weight under Laplace
    noise of scale 1.5.
    """
    w = statistics_laws.Target(kind, z=3.0, mu=0.5, sigma2=2.0, count=4.0, scale=1.5)
    x = np.linspace(-30, 12, 840_001)
    step = x[1] - x[0]
    weight = stats.norm(0.5, 0.5**0.5).pdf(3 - x) if kind == "xi_mean" else stats.gamma(1.5, scale=4.0).pdf(3 - x)
    top = stats.norm(0, 0.5**0.5).pdf(0) if kind == "xi_mean" else stats.gamma(1.5, scale=4.0).pdf(2.0)
    at = np.array([-9.0, -1.0, 0.0, 0.5, 2.0, 2.9])
    near = np.searchsorted(x, at)
    assert np.exp(w.log_weight(x[near])) == pytest.approx(weight[near] / top, rel=1e-9, abs=0)
    assert w.log_maximum() == pytest.approx(0 if kind == "xi_mean" else np.log(top))
    product = weight * np.exp(-np.abs(x) / 1.5)
    whole = product.sum() * step
    assert w.density(x[near]) == pytest.approx(product[near] / whole, rel=2e-4, abs=0)
    edges = np.array([-4.0, -1.0, 0.0, 1.0, 2.5])
    inside = [product[(x >= low) & (x < high)].sum() * step / whole for low, high in pairwise(edges)]
    assert w.masses(edges) == pytest.approx(inside, rel=1e-3, abs=1e-6)  # midpoint rule
    for u in (0.9, 0.3, 1e-3):
        low, high = (ends.item() for ends in w.ends(np.array([np.log(u)])))
        assert np.exp(w.log_weight(np.array([low, high]))) == pytest.approx(u, rel=1e-9)
        assert low < (2.5 if kind == "xi_mean" else 1.0) < high
        noise = stats.laplace(scale=1.5)
        assert w.area(np.array([u])).item() == pytest.approx(noise.cdf(high) - noise.cdf(low))
    other = w.changed(scale=3.0)
    assert (other.scale, other.z, other.kind) == (3.0, 3.0, kind)
    if kind == "xi_sse":
        assert w.log_weight(np.array([3.0, 4.0])).tolist() == [-np.inf, -np.inf]
    else:
        assert np.isnan(w.ends(np.array([0.1]))).all()


def test_counts_are_made_uniform_with_a_random_part():
    """Check the transformation of counts and of continuous values to uniform variables, and the standard deviation of a
    mixture of two distributions.
    """
    u = stream(5, "uniform").random(3)
    law = stats.binom(4, 0.3)
    k = np.array([0, 2, 4])
    found = statistics_laws._uniform(k, law, stream(5, "uniform"))
    assert found == pytest.approx([law.cdf(i - 1) + v * law.pmf(i) for i, v in zip(k, u, strict=True)])
    assert statistics_laws._uniform(np.array([0.5]), stats.norm(), stream(5, "uniform")) == stats.norm.cdf(0.5)
    # N(0, 1) and N(2, 4): mean variance 2.5, variance of the means 1
    assert statistics_laws._sd(stats.norm(np.array([0.0, 2.0]), np.array([1.0, 2.0]))) == pytest.approx(3.5**0.5)


def test_two_tests_of_the_noise():
    """Check that the combined p-value of two tests of Laplace noise is twice the smaller p-value. If the mean absolute
    noise is 1.5 times the scale, the z score is 0.5 sqrt(n).
    """
    noise = np.array([1.5, -1.5] * 8)
    z = 0.5 * 16**0.5
    whole = stats.kstest(noise, "laplace").pvalue
    assert statistics_laws._laplace_test(noise, 1.0) == pytest.approx(2 * min(whole, 2 * stats.norm.sf(z)))
    right = stats.laplace(scale=3.0).ppf((np.arange(400) + 0.5) / 400)
    assert statistics_laws._laplace_test(right, 3.0) == 1
    score = 2 * stats.norm.sf(20 * (np.abs(right).mean() * 1.3 / 3 - 1))
    whole = stats.kstest(1.3 * right, "laplace", (0, 3)).pvalue
    assert statistics_laws._laplace_test(1.3 * right, 3.0) == pytest.approx(2 * min(score, whole))


def test_detection_limits_of_the_statistics():
    """Check the minimum detectable effects of the tests of the four statistics, which are relative changes of a mean or
    of a standard deviation.
    """
    table = statistics_laws.statistics_laws(
        mu=1.0, sigma2=4.0, n=50, lower=-99.0, upper=101.0, data_sets=30, rng=stream(3, "limits")
    )
    for row in table.itertuples():
        if row.law_sd > 0:
            change = stats.norm.pdf(1) if row.statistic == "s_mean" else stats.norm.pdf(0) * row.law_mean / row.law_sd
            needed = stats.kstwo.isf(0.5e-4, 30) + stats.norm.ppf(0.9) / (2 * 30**0.5)
            assert row.seen == pytest.approx(needed / change)


def test_numbers_of_the_privacy_loss():
    """Check that the largest observed privacy loss is below its bound, and check the minimum detectable effect of the
    test of 100 noise values.
    """
    given = {"n": 50, "lower": -2.0, "upper": 2.0, "deltas": [16.988, 40.0], "epsilon": 2.0, "draws": 25}
    table = statistics_laws.privacy_loss(**given, rng=stream(2, "loss"))
    change = 1 + 4 / 50 + 16 * (1 - 1 / 50)
    assert table["change"].tolist() == pytest.approx([change] * 2)
    assert table["largest_loss"].tolist() == pytest.approx([2 * change / 16.988, 2 * change / 40])
    assert (table["observed_largest"] <= table["largest_loss"] + 1e-9).all()
    assert (table["observed_largest"] > 0).all()
    needed = stats.norm.isf(1e-4 / 4 / 2) + stats.norm.ppf(0.9)
    assert table["noise_sees"].tolist() == pytest.approx([needed / 10] * 2)
    assert (table["noise_p_value"] > 1e-3).all()
