"""Test the direct sampler and the closed-form noise distributions against multiprecision values and reference
implementations. Valid ranges and the rejection of invalid input are also checked.
"""

import numpy as np
import pytest
from reference import direct_sampler as reference
from scipy.stats import kstest

from dpmultinomial._seeding import stream
from reproduction.papers.raim2021.algorithms import direct_sampler, laplace_noise
from reproduction.papers.raim2021.algorithms import direct_sampling as ds

SCALE = 8.494
MEAN = ds.NormalWeight(-21.27, mu=0.0, sigma2=1.0, count=950)
SSE = ds.GammaWeight(778.56, sigma2=1.0, count=950)
EXACT = {
    # Delta_s: mean, sd, 2.5 %, 50 %, 97.5 %, from quadrature in 40 digits
    ("mean", 16.988): (-21.2698760735, 0.0324442842, -21.3334657021, -21.2698760735, -21.2062864449),
    ("mean", 22.0): (-21.2699043062, 0.0324442842, -21.3334939348, -21.2699043062, -21.2063146776),
    ("sse", 16.988): (-21.9360340253, 21.1573162159, -73.1174000148, -17.4977434735, 6.3782122911),
    ("sse", 20.0): (-31.2224301754, 25.8950583914, -91.2426812086, -26.9341632612, 5.0408142820),
    ("sse", 22.0): (-37.7246548498, 28.5718002209, -102.2047909360, -33.8474461397, 3.9274648072),
}


def law(target, scale=SCALE):
    if target == "mean":
        return ds.exact_normal(-21.27, mu=0.0, sigma2=1.0, count=950, scale=scale)
    return ds.exact_gamma(778.56, sigma2=1.0, count=950, scale=scale)


@pytest.mark.parametrize(("target", "delta"), EXACT)
def test_closed_forms_at_the_slides_settings(target, delta):
    found = law(target, delta / 2)
    values = [found.mean(), found.variance() ** 0.5, *found.quantile([0.025, 0.5, 0.975])]
    assert np.allclose(values, EXACT[target, delta], rtol=0, atol=1.1e-10)


def test_normalisers_and_modes():
    assert law("mean").log_normaliser == pytest.approx(-7.845912932287, abs=1e-11)
    assert law("sse").log_normaliser - SSE.log_maximum == pytest.approx(-7.665753861259, abs=1e-11)
    assert SSE.log_maximum == pytest.approx(-4.692337664420, abs=1e-11)
    modes = [law("sse", delta / 2).mode() for delta in (16.988, 20, 22)]
    assert modes == pytest.approx([0.0, -10.6067, -22.7477], abs=1e-4)


def test_incomplete_gamma_integrals_against_many_digits():
    mp = pytest.importorskip("mpmath")
    with mp.workdps(30):
        for a in (0.3, 1.5, 12, 474.5, 5000.5):
            for x in (1e-6, 1.0, 0.5 * a, a, 1.1 * a, 3 * a, 1000 + a):
                upper = mp.log(mp.gammainc(a, x)) - a * mp.log(x) + x
                lower = mp.log(mp.gammainc(a, 0, x)) - a * mp.log(x) + x
                assert laplace_noise.log_upper(a, x) == pytest.approx(float(upper), rel=3e-13, abs=3e-13)
                assert laplace_noise.log_lower(a, x) == pytest.approx(float(lower), rel=3e-13, abs=3e-13)
            for y in (1e-8, 1.0, 59.0, 61.0, 2000.5):
                expected = mp.log(mp.hyp1f1(a, a + 1, y) / a) - y
                assert laplace_noise.log_lower(a, -y) == pytest.approx(float(expected), rel=3e-13, abs=3e-13)


@pytest.mark.parametrize("z", [-500.0, -1.0, 0.0, 1e-9, 5.0, 400.0, 778.56, 1500.0, 1e5])
@pytest.mark.parametrize(
    ("sigma2", "count", "scale"), [(1.0, 950, 8.494), (0.01, 20, 3.0), (50.0, 4, 0.1), (1.0, 3, 1e3)]
)
def test_gamma_law_is_consistent_wherever_the_release_lies(z, sigma2, count, scale):
    found = ds.exact_gamma(z, sigma2=sigma2, count=count, scale=scale)
    q = np.array([1e-12, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-9])
    x = found.quantile(q)
    assert (np.diff(x) > 0).all()
    assert (x < z).all()
    resolution = 1e-14 * np.maximum(np.abs(x), abs(z)) * found.pdf(x)  # the resolution that the rounding of xi allows
    assert (np.abs(found.cdf(x) - q) <= 1e-11 * q + resolution).all()
    assert np.allclose(found.cdf(x) + found.sf(x), 1, atol=1e-12)


@pytest.mark.parametrize(
    ("z", "shape", "beta", "scale"),
    [(9e7, 4749.5, 2.0, 7e-6), (9e7, 4749.5, 18_950.0, 7e-6), (3.0, 0.4, 1.0, 1e-9), (1e6, 5e5, 2.0, 1e-3),
     (1e12, 40.0, 1e10, 0.5)],
)  # fmt: skip
def test_a_peak_far_narrower_than_the_release_keeps_its_digits(z, shape, beta, scale):
    """Check the distribution function of the noise given the released value, at several quantiles, against numerical
    integration by mpmath. The integrand is exp(-|xi|/scale) times the gamma density of z - xi.
    """
    mp = pytest.importorskip("mpmath")
    law = ds.GammaStatistic(z=z, shape=shape, beta=beta, scale=scale)
    levels = np.array([1e-12, 1e-3, 0.3, 0.5, 0.8, 1 - 1e-6])
    found = law.quantile(levels)
    with mp.workdps(50):
        power, below, above = (
            mp.mpf(shape) - 1,
            1 / mp.mpf(beta) + 1 / mp.mpf(scale),
            1 / mp.mpf(beta) - 1 / mp.mpf(scale),
        )

        def density(t):  # relative to the density at 0
            return mp.exp(power * mp.log1p(-t / z) + (above if t > 0 else below) * t)

        def mass(low, high):
            steps = sorted(
                {low, high, *(mp.mpf(k) * scale for k in (-30, -10, -3, -1, 0, 1, 3, 10, 30) if low < k * scale < high)}
            )
            return mp.quad(density, steps)

        far = 60 * mp.mpf(scale)
        whole = mass(-far, far)
        exact = [float(mass(-far, mp.mpf(x)) / whole) for x in found.tolist()]
        height = float(density(mp.mpf(found[2])) / whole)
    assert np.abs(np.array(exact) - levels).max() < 1e-13
    assert exact[0] == pytest.approx(1e-12, rel=1e-9, abs=0)
    assert law.cdf(found) == pytest.approx(levels, rel=1e-12, abs=0)
    assert law.sf(found) == pytest.approx(1 - levels, rel=1e-9)
    assert law.pdf(found[2]) == pytest.approx(height, rel=1e-12)
    assert law.cdf([-np.inf, z, np.inf]).tolist() == [0.0, 1.0, 1.0]
    assert law.pdf([-np.inf, 2 * z]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("m", [-1e6, -300.0, -21.27, -1.0, 0.0, 1e-3, 40.0, 1e4])
@pytest.mark.parametrize(("variance", "scale"), [(1 / 950, 8.494), (1.0, 0.01), (100.0, 3.0)])
def test_normal_law_is_consistent_wherever_the_release_lies(m, variance, scale):
    found = ds.exact_normal(m, mu=0.0, sigma2=variance, count=1, scale=scale)
    q = np.array([1e-12, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-9])
    x = found.quantile(q)
    resolution = 1e-14 * np.maximum(np.abs(x), abs(m)) * found.pdf(x)
    assert (np.abs(found.cdf(x) - q) <= 1e-10 * q + resolution).all()
    mirror = ds.exact_normal(-m, mu=0.0, sigma2=variance, count=1, scale=scale)
    assert np.allclose(mirror.cdf(-x), found.sf(x), rtol=1e-9, atol=1e-300)


def test_the_mode_is_where_the_density_is_highest():
    for found in (law("mean"), law("sse"), law("sse", 11.0), ds.exact_gamma(-5.0, sigma2=1.0, count=9, scale=2.0)):
        grid = np.linspace(*found.quantile([0.001, 0.999]), 20001)
        assert found.mode() == pytest.approx(grid[np.argmax(found.pdf(grid))], abs=2 * (grid[1] - grid[0]))


@pytest.mark.parametrize(
    "weight", [MEAN, SSE, ds.NormalWeight(0.3, mu=0.0, sigma2=1.0), ds.GammaWeight(20.0, sigma2=1.0, count=12)]
)
def test_draws_and_knots_equal_the_reference(weight):
    sampler = ds.DirectSampler(weight, ds.LaplaceBase(SCALE), knots=25)
    steps = sampler.step_function()
    u, p = reference.small_rectangles(weight.problem(), SCALE, sampler.log_lower, 0.0, 25)
    order = np.argsort(u)
    assert np.allclose(steps["log_u"][1:], u[order], rtol=1e-9)
    assert np.array_equal(steps["order"][1:], order)
    assert np.allclose(steps["log_height"][1:-1], p[order][:-1], rtol=1e-9)
    x, rejected, _ = sampler.sample_counted(300, rng=stream(1, "twin"))
    arguments = (weight.problem(), SCALE, u[order], p[order], sampler.log_whole, 300)
    theirs, refused = reference.draw(*arguments, rng=stream(1, "twin"))
    assert rejected == refused
    assert np.allclose(x, theirs, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("lower", ds.LOWER_ENDS)
@pytest.mark.parametrize("weight", [MEAN, SSE, ds.GammaWeight(400.0, sigma2=1.0, count=950)])
def test_the_step_function_is_an_envelope(weight, lower):
    sampler = ds.DirectSampler(weight, ds.LaplaceBase(SCALE), lower=lower)
    log_u = sampler.log_lower * stream(2, "u").random(1000) ** 4
    log_u = np.concatenate([log_u, [2 * sampler.log_lower, -1e-12]])
    assert (sampler.log_height(log_u) >= sampler.log_area(log_u) - 1e-12).all()
    assert 0 < sampler.rejection_rate <= min(1, sampler.bound)
    assert sampler.total_variation <= sampler.bound


@pytest.mark.parametrize(("target", "knots", "options", "rate"), [
    ("mean", 25, {"lower": "machine", "midpoint": "arithmetic"}, 0.095),
    ("mean", 10, {}, 0.130), ("mean", 25, {}, 0.051), ("mean", 50, {}, 0.026),
    ("sse", 25, {}, 0.180), ("sse", 50, {}, 0.086), ("sse", 100, {}, 0.043),
    ("sse", 25, {"spacing": "equal"}, 0.988), ("sse", 100, {"spacing": "equal"}, 0.953),
])  # fmt: skip
def test_rejection_rates_of_the_knot_rules(target, knots, options, rate):
    weight = MEAN if target == "mean" else SSE
    assert ds.DirectSampler(weight, ds.LaplaceBase(SCALE), knots=knots, **options).rejection_rate == pytest.approx(
        rate, abs=6e-4
    )


def test_ends_stay_accurate_next_to_the_mode_and_far_away():
    for weight in (MEAN, SSE):
        sampler = ds.DirectSampler(weight, ds.LaplaceBase(SCALE))
        log_u = -np.array([1e-300, 1e-12, 0.1, 5.0, 700.0, 1e5])
        left, right = sampler.problem.interval(log_u)
        assert (np.diff(left) > 0).all()
        assert (left > 0).all()
        for side in (weight.mode - left[2:5], weight.mode + right[2:5]):
            assert np.allclose(weight.log_relative(side), log_u[2:5], rtol=1e-11)


def test_integer_noise_has_the_law_of_the_weighted_sum():
    for base, log_mass in (
        (ds.GeometricBase(3.0), lambda k: -abs(k) / 3),
        (ds.DiscreteGaussianBase(4.0), lambda k: -(k**2) / 32),
    ):
        weight = ds.GammaWeight(7.5, sigma2=0.7, count=9)
        k = np.arange(-400, 400)
        logs = weight.log_relative(k) + log_mass(k)
        sampler = ds.DirectSampler(weight, base)
        total = np.log(np.exp(logs).sum() / np.exp(log_mass(k)).sum())
        assert sampler.log_psi == pytest.approx(total, abs=1e-12)
        x = sampler.sample(1000, rng=stream(3, "whole"))
        assert (x == np.round(x)).all()
        assert (x < 7.5).all()


def test_gaussian_noise_under_a_normal_weight_is_closed_form():
    for mode, sd, tau in ((3.0, 2.0, 1.0), (-40.0, 1.0, 0.5), (0.0, 10.0, 0.01)):
        weight = ds.NormalWeight(mode, mu=0.0, sigma2=tau**2)
        total = tau**2 + sd**2
        expected = np.log(tau) - 0.5 * np.log(total) - mode**2 / (2 * total)
        assert ds.DirectSampler(weight, ds.GaussianBase(sd)).log_psi == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("call", [
    lambda: ds.LaplaceBase(0.0),
    lambda: ds.NormalWeight(np.nan, mu=0.0, sigma2=1.0),
    lambda: ds.NormalWeight(1.0, mu=0.0, sigma2=-1.0),
    lambda: ds.exact_gamma(1.0, sigma2=1.0, count=1, scale=1.0),
    lambda: ds.exact_normal(np.inf, mu=0.0, sigma2=1.0, count=1, scale=1.0),
    lambda: ds.DirectSampler(MEAN, ds.LaplaceBase(1.0), knots=0),
    lambda: ds.DirectSampler(MEAN, ds.LaplaceBase(1.0), lower="low"),
    lambda: law("mean").quantile([0.0]),
])  # fmt: skip
def test_bad_input_is_named(call):
    with pytest.raises(ValueError, match=r"scale|z must|sigma2|count|knots|lower|q must"):
        call()


def test_too_few_records_for_the_gamma_weight_say_what_is_needed():
    with pytest.raises(ValueError, match=r"count must be >= 4, got 3.*mode of the gamma weight"):
        ds.GammaWeight(10.0, sigma2=1.0, count=3)


def test_a_useless_envelope_is_an_error_and_no_endless_loop():
    sampler = ds.DirectSampler(SSE, ds.LaplaceBase(SCALE), knots=2, spacing="equal")
    with pytest.raises(RuntimeError, match="rejected more than"):
        direct_sampler.draw(
            sampler.problem, sampler._u, sampler._p, sampler.log_whole, 1000, rng=stream(1, "x"), limit=100
        )


def test_no_draws():
    assert ds.DirectSampler(MEAN, ds.LaplaceBase(1.0)).sample(0, rng=stream(1, "none")).shape == (0,)
    assert law("sse").sample(0, rng=stream(1, "none")).shape == (0,)


def test_open_knots_follow_the_need():
    """Check that an adaptive sampler rejects few candidates in a difficult case. In this case, the sampler of the
    slides with 25 knots rejects all but a proportion 2e-15 of the candidates.
    """
    weight = ds.GammaWeight(778.56, sigma2=3.0, count=9500)
    sampler = ds.DirectSampler(weight, ds.LaplaceBase(SCALE))
    assert sampler.adaptive
    assert sampler.rejection_rate < 0.3
    x = sampler.sample(2000, rng=stream(6, "need"))
    assert kstest(x, weight.exact(SCALE).cdf).pvalue > 1e-3
    with pytest.raises(RuntimeError, match="a poor envelope: omit the arguments knots"):
        ds.DirectSampler(weight, ds.LaplaceBase(SCALE), knots=25).sample(10, rng=stream(6, "need"))


@pytest.mark.parametrize("z", [-50.0, 1.0, 15.35, 1e4])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_no_release_makes_the_sampler_wait_and_bounds_are_numbers(z, scale):
    """Test draws of the direct sampler in 24 settings by Kolmogorov-Smirnov tests, and check that the bound on the
    rejection probability is finite. The limit p > 4e-5 gives a probability of a false alarm of 0.1 % in total.
    """
    for weight in (ds.NormalWeight(z, mu=0.0, sigma2=0.04, count=113), ds.GammaWeight(z, sigma2=80.0, count=4083)):
        sampler = ds.DirectSampler(weight, ds.LaplaceBase(scale))
        assert 0 <= sampler.bound < np.inf
        x = sampler.sample(500, rng=stream(7, "wait"))
        assert kstest(x, weight.exact(scale).cdf).pvalue > 4e-5


def test_bounds_far_below_float64_are_numbers_and_agree_with_the_plain_formula():
    weight, base = ds.NormalWeight(-21.27, mu=0.0, sigma2=1.0, count=950), ds.LaplaceBase(0.01)
    assert ds.DirectSampler(weight, base, knots=25).log_psi < -709
    assert ds.DirectSampler(weight, base, knots=25).bound > 0
    assert ds.DirectSampler(weight, base).bound < 2
    # the exact rejection probability is below the bound, and close to the bound if the steps are fine
    fine = ds.DirectSampler(weight, base, knots=20_000)
    assert fine.rejection_rate < fine.bound < 3 * fine.rejection_rate


@pytest.mark.parametrize(
    ("z", "shape", "beta", "scale", "mode"),
    [
        # below 0, the log density rises by 1/beta + 1/scale - (shape - 1)/(z - xi); above 0 by 1/beta - 1/scale - ..
        (10.0, 3.0, 1.0, 2.0, 6.0),  # above 0: z - 2/(1 - 1/2)
        (3.0, 3.0, 1.0, 2.0, 0.0),  # 2 is between 3/2 and 9/2
        (1.0, 3.0, 1.0, 2.0, 1 - 2 / 1.5),  # below 0: 2 > 1.5
        (-4.0, 3.0, 1.0, 2.0, -4 - 2 / 1.5),
        (3.0, 3.0, 2.0, 1.0, 0.0),  # above = -1/2 is negative: never above 0
        (5.0, 1.0, 1.0, 0.5, 0.0),  # an exponential statistic: the peak of the noise
        (5.0, 1.0, 1.0, 2.0, 5.0),  # the density rises up to z
        (-5.0, 1.0, 1.0, 2.0, -5.0),
        (5.0, 0.5, 1.0, 2.0, 5.0),
    ],
)
def test_modes_of_the_noise_of_a_gamma_statistic(z, shape, beta, scale, mode):
    found = ds.GammaStatistic(z=z, shape=shape, beta=beta, scale=scale)
    assert found.mode() == pytest.approx(mode)
    if shape > 1:
        x = np.linspace(mode - 1, min(mode + 1, z - 1e-6), 4001)
        assert x[np.argmax(found.pdf(x))] == pytest.approx(mode, abs=1e-3)


@pytest.mark.parametrize(("z", "mode"), [(5.0, 3.0), (1.0, 0.0), (-1.0, 0.0), (-5.0, -3.0), (2.0, 0.0), (-2.0, 0.0)])
def test_modes_of_the_noise_of_a_normal_statistic(z, mode):
    """Check that the noise in a released normal value z has its mode at z - mu, moved towards 0 by variance/scale = 2,
    but not beyond 0.
    """
    assert ds.NormalStatistic(z + 7, 7.0, 4.0, 2.0).mode() == mode


def test_tails_of_integer_noises_by_sums():
    """Check log P(X >= k) of both noise distributions on the integers against sums of the probabilities."""
    for base, log_mass in ((ds.GeometricBase(1.5), lambda k: -abs(k) / 1.5),
                           (ds.DiscreteGaussianBase(1.2), lambda k: -(k**2) / 2.88)):  # fmt: skip
        k = np.arange(-300, 301)
        mass = np.exp(log_mass(k))
        mass /= mass.sum()
        wanted = [mass[k >= least].sum() for least in range(6)]
        assert np.exp(base.log_tail(6)) == pytest.approx(wanted, rel=1e-12)
        assert len(base.log_tail(1)) == 1
        assert len(base.problem(7.9)["tail"]) == 9


def test_peaks_that_are_treated_separately():
    """Check the threshold at which a peak of the density is classified as narrow: the larger slope, 1 + 1/scale, times
    z must exceed 1e5. A density without a peak at 0 is not treated separately.
    """
    for scale, peaked in ((1.0001e-4, True), (9.9e-5, True), (1.2e-4, False)):
        law = ds.GammaStatistic(z=10.0, shape=1.0, beta=1.0, scale=scale)
        assert law._peaked == (10 * (1 + 1 / scale) > 1e5) == peaked
    assert not ds.GammaStatistic(z=-10.0, shape=1.0, beta=1.0, scale=1e-9)._peaked
    assert not ds.GammaStatistic(z=0.0, shape=1.0, beta=1.0, scale=1e-9)._peaked
    assert not ds.GammaStatistic(z=1e9, shape=1.0, beta=1.0, scale=2.0)._peaked


def test_draws_are_quantiles_of_uniform_numbers():
    found = law("sse")
    u = stream(4, "inversion").random(5)
    assert found.sample(5, rng=stream(4, "inversion")) == pytest.approx(found.quantile(1 - u))
    assert found.quantile(0.5).shape == ()
    assert found.cdf([[0.0, 1.0]]).shape == (1, 2)
    with pytest.raises(ValueError, match="NaN at index 1"):
        found.pdf([0.0, np.nan])
    for level in (0.0, 1.0):
        with pytest.raises(ValueError, match=f"strictly between 0 and 1, got {level:g}"):
            found.quantile([0.5, level])
    far = ds.NormalStatistic(1.0, 0.0, 1.0, 2.0)
    assert np.isfinite(far.quantile([1 - 2.0**-53])).all()


def test_fewest_and_most_arguments_of_the_samplers():
    assert ds.exact_gamma(1.0, sigma2=1.0, count=2, scale=1.0).shape == 0.5
    assert ds.exact_normal(1.0, mu=0.0, sigma2=3.0, count=1, scale=1.0).variance_of_statistic == 3
    with pytest.raises(ValueError, match="count"):
        ds.exact_normal(1.0, mu=0.0, sigma2=1.0, count=0, scale=1.0)
    assert ds.GammaWeight(10.0, sigma2=1.0, count=4).power == 0.5
    assert ds.DirectSampler(MEAN, ds.LaplaceBase(SCALE), knots=1).rejection_rate < 1
    with pytest.raises(ValueError, match="knots"):
        ds.DirectSampler(MEAN, ds.LaplaceBase(SCALE), knots=10**6 + 1)
    for name in ("lower", "spacing"):
        with pytest.raises(ValueError, match=name):
            ds.DirectSampler(MEAN, ds.LaplaceBase(SCALE), **{name: "other"})
    assert not ds.DirectSampler(MEAN, ds.LaplaceBase(SCALE), knots=3).adaptive
    assert ds.DirectSampler(MEAN, ds.LaplaceBase(SCALE), knots=3, adaptive=True).adaptive
    assert not ds.DirectSampler(MEAN, ds.LaplaceBase(SCALE), adaptive=False).adaptive


def test_equally_spaced_knots_are_equally_spaced_in_u():
    sampler = ds.DirectSampler(ds.NormalWeight(0.5, mu=0.0, sigma2=1.0), ds.LaplaceBase(1.0), knots=4, spacing="equal")
    steps = sampler.step_function()
    u = np.exp(steps["log_u"].to_numpy())
    low = np.exp(sampler.log_lower)
    assert u == pytest.approx([0, low, *(low + (1 - low) * k / 4 for k in (1, 2, 3)), 1])
    assert steps["order"].tolist() == [-1, 0, 1, 2, 3, 4]
    assert steps["log_height"].iloc[-1] == -np.inf
    assert sampler.log_height(np.log([low / 2, low, 0.999, 1.0]))[[0, 1, 3]].tolist() == [
        sampler.log_whole, steps["log_height"][1], -np.inf
    ]  # fmt: skip


def test_rates_bounds_and_distances_by_the_rectangles():
    """Check the rejection rate, the bound and the total variation distance of a sampler with four knots against sums
    over fine grids.
    """
    sampler = ds.DirectSampler(ds.NormalWeight(0.5, mu=0.0, sigma2=1.0), ds.LaplaceBase(1.0), knots=4)
    u = (np.arange(400_000) + 0.5) / 400_000
    area, height = np.exp(sampler.log_area(np.log(u))), np.exp(sampler.log_height(np.log(u)))
    psi = area.mean()
    assert np.exp(sampler.log_psi) == pytest.approx(psi, rel=1e-5)
    assert sampler.rejection_rate == pytest.approx(1 - psi / height.mean(), abs=1e-5)
    distance = np.abs(area / psi - height / height.mean()).mean() / 2
    assert sampler.total_variation == pytest.approx(distance, abs=1e-5)
    steps = sampler.step_function()
    ends, heights = np.exp(steps["log_u"].to_numpy()), np.exp(steps["log_height"].to_numpy())
    # rectangles between consecutive heights; the last height is P(A_1) = 0
    assert sampler.bound == pytest.approx((np.diff(ends) @ -np.diff(heights)) / psi, rel=1e-5)


def test_the_lowest_knot_costs_at_most_a_thousandth():
    """Check that u_L is a thousandth of the maximum of u P(A_u)/P(A_0). The machine's u_L is the largest u for
    which P(A_u) equals P(A_0).
    """
    sampler = ds.DirectSampler(ds.NormalWeight(0.5, mu=0.0, sigma2=1.0), ds.LaplaceBase(1.0))
    log_u = np.linspace(-3, -1e-4, 200_001)
    top = (log_u + sampler.log_area(log_u)).max()
    assert sampler.log_lower == pytest.approx(np.log(1e-3) + top - sampler.log_whole, abs=1e-6)
    place, value = sampler._peak
    assert value == pytest.approx(top, abs=1e-8)
    assert place == pytest.approx(log_u[np.argmax(log_u + sampler.log_area(log_u))], abs=1e-3)
    machine = ds.DirectSampler(ds.NormalWeight(0.5, mu=0.0, sigma2=1.0), ds.LaplaceBase(1.0), lower="machine")
    end = machine.log_lower
    assert machine.log_area(end * (1 - 1e-8))[0] < machine.log_whole
    assert machine.log_area(end * (1 + 1e-8))[0] == machine.log_whole


def test_the_highest_knot_of_integer_noise_is_at_an_integer():
    """Check that the relative weight exp(-(k - 2.3)^2/2) of an integer k has its maximum at k = 2."""
    sampler = ds.DirectSampler(ds.NormalWeight(2.3, mu=0.0, sigma2=1.0), ds.GeometricBase(3.0))
    assert sampler.log_upper == pytest.approx(-(0.3**2) / 2)
    up = ds.DirectSampler(ds.NormalWeight(2.7, mu=0.0, sigma2=1.0), ds.GeometricBase(3.0))
    assert up.log_upper == pytest.approx(-(0.3**2) / 2)
    low, high = sampler.interval(np.log([0.5]))
    assert (low[0], high[0]) == pytest.approx((2.3 - np.sqrt(2 * np.log(2)), 2.3 + np.sqrt(2 * np.log(2))))
