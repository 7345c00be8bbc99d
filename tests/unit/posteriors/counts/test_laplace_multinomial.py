"""Tests of the posterior of Balmat et al. (2018): published exact values, enumeration, 50 digits, limits."""

import mpmath
import numpy as np
import pytest
from reference import count_laws
from scipy.special import gammaln, logsumexp

from dpmultinomial._posteriors.counts import laplace_multinomial
from dpmultinomial._posteriors.counts.dirichlet_mixture import BetaMixture
from dpmultinomial._seeding import stream

R = {"category": 0, "given": (0, 1)}
MODEL = {"total": 50, "scale": 2.0, "alpha": 1.0}


def fifty_digits(noisy, total, scale, alpha):
    """Return mean and variance of p1/(p1 + p0), and of the last share, over all compositions with 50 digits."""
    mpmath.mp.dps = 50
    a = [mpmath.mpf(v) for v in alpha]
    factor = [
        [mpmath.gamma(s + a[i]) / mpmath.factorial(s) * mpmath.exp(-abs(mpmath.mpf(float(noisy[i])) - s) / scale)
         for s in range(total + 1)]
        for i in range(3)
    ]  # fmt: skip
    norm, moments = mpmath.mpf(0), [mpmath.mpf(0)] * 4
    for s in count_laws.compositions(total, 3).tolist():
        weight = factor[0][s[0]] * factor[1][s[1]] * factor[2][s[2]]
        norm += weight
        n = a[0] + a[1] + s[0] + s[1]
        m = n + a[2] + s[2]
        first, last = a[0] + s[0], a[2] + s[2]
        moments[0] += weight * first / n
        moments[1] += weight * first * (first + 1) / (n * (n + 1))
        moments[2] += weight * last / m
        moments[3] += weight * last * (last + 1) / (m * (m + 1))
    r, r2, e, e2 = (v / norm for v in moments)
    return [float(v) for v in (r, r2 - r * r, e, e2 - e * e)]


@pytest.mark.parametrize(
    ("counts", "mean", "sd", "mode", "interval"),
    [
        ((5, 40, 5), 0.12763, 0.05876, 0.1092, (0.0300, 0.2588)),
        ((15, 30, 5), 0.34009, 0.07596, 0.3329, (0.1983, 0.4949)),
        ((30, 15, 5), 0.65991, 0.07596, 0.6671, (0.5051, 0.8017)),
        ((40, 5, 5), 0.87237, 0.05876, 0.8908, (0.7412, 0.9700)),
    ],
)
def test_the_four_settings_of_figure_1(counts, mean, sd, mode, interval):
    posterior = laplace_multinomial.exact(counts, **MODEL)
    assert posterior.mean(**R) == pytest.approx(mean, abs=5e-6)
    assert posterior.variance(**R) ** 0.5 == pytest.approx(sd, abs=5e-6)
    assert posterior.mode(**R) == pytest.approx(mode, abs=5.1e-5)
    assert posterior.quantile([0.025, 0.975], **R) == pytest.approx(interval, abs=5.1e-5)


@pytest.mark.parametrize(
    ("noisy", "total", "scale", "alpha"),
    [
        ((5, 40, 5), 50, 2.0, (1, 1, 1)),
        ((15, 30, 5), 50, 2.0, (1, 1, 1)),
        ((30, 15, 5), 50, 2.0, (1, 1, 1)),
        ((12.3, -4.1, 44.2), 50, 2.0, (1, 1, 1)),
        ((2.5, 90.0, -30.0), 30, 0.7, (0.5, 2, 1.3)),
    ],
)
def test_moments_against_fifty_digits(noisy, total, scale, alpha):
    posterior = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=np.array(alpha, dtype=float))
    ours = [posterior.mean(**R), posterior.variance(**R), posterior.mean(category=2), posterior.variance(category=2)]
    assert ours == pytest.approx(fifty_digits(noisy, total, scale, alpha), abs=1e-13)


@pytest.mark.parametrize("noisy", [[3.0, 4.5], [5, 4, -3.2], [2.2, 0, 7, 1], [1, 2, 3, 4, -5.5]])
def test_marginals_and_pairs_against_enumeration(noisy):
    noisy, total = np.array(noisy, dtype=float), 9
    alpha = stream(1, "alpha").uniform(0.3, 2.5, len(noisy))
    posterior = laplace_multinomial.exact(noisy, total=total, scale=1.3, alpha=alpha)
    s = np.arange(total + 1)
    logs = gammaln(s + alpha[:, None]) - gammaln(s + 1) - np.abs(noisy[:, None] - s) / 1.3
    counts, weights = count_laws.law(logs)
    for i in range(len(noisy)):
        enumerated = np.bincount(counts[:, i], weights, total + 1)
        assert posterior.counts.marginal(i) == pytest.approx(enumerated, abs=1e-14)
        assert posterior.mean(category=i) == pytest.approx(
            weights @ (alpha[i] + counts[:, i]) / (alpha.sum() + total), abs=1e-13
        )
        for j in range(len(noisy)):
            if i != j:
                shares = (alpha[i] + counts[:, i]) / (alpha[i] + alpha[j] + counts[:, i] + counts[:, j])
                assert posterior.mean(category=i, given=(i, j)) == pytest.approx(weights @ shares, abs=1e-13)
    assert posterior.mean() == pytest.approx([posterior.mean(category=i) for i in range(len(noisy))], abs=1e-14)
    group = tuple(range(len(noisy)))
    assert posterior.mean(given=group) == pytest.approx(posterior.mean(), abs=1e-14)


def test_pdf_cdf_quantile_and_mode_belong_together():
    posterior = laplace_multinomial.exact([12.3, -4.1, 44.2], **MODEL)
    x = np.linspace(0, 1, 2001)
    density, cdf = posterior.pdf(x, **R), posterior.cdf(x, **R)
    trapezoid = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    assert np.max(np.abs(trapezoid - cdf)) < 1e-5
    q = np.array([0.0, 1e-6, 0.025, 0.5, 0.975, 1.0])
    assert posterior.cdf(posterior.quantile(q, **R), **R) == pytest.approx(q, abs=1e-9)
    mode = posterior.mode(**R)
    assert posterior.pdf(mode, **R) >= density.max() * (1 - 1e-9)
    assert posterior.beta(0, (0, 1)).sf(0.3) == pytest.approx(1 - posterior.cdf(0.3, **R), abs=1e-14)


def test_symmetry_and_limits():
    left, right = (laplace_multinomial.exact(c, **MODEL) for c in ((5, 40, 5), (40, 5, 5)))
    assert left.mean(**R) == pytest.approx(1 - right.mean(**R), abs=1e-14)
    prior = laplace_multinomial.exact([5, 40, 5], total=50, scale=1e9, alpha=1.0)
    assert prior.mean() == pytest.approx(np.full(3, 1 / 3), abs=1e-8)
    clean = laplace_multinomial.exact([5, 40, 5], total=50, scale=1e-6, alpha=1.0)
    assert clean.mean(**R) == pytest.approx(6 / 47, abs=1e-13)
    assert clean.variance(**R) == pytest.approx(6 * 41 / (47**2 * 48), abs=1e-13)
    nothing = laplace_multinomial.exact([3.0, -2.0, 0.5], total=0, scale=2.0, alpha=1.0)
    assert nothing.variance(**R) == pytest.approx(1 / 12, abs=1e-14)
    assert nothing.sample(3, rng=stream(1, "prior")).shape == (3, 3)


@pytest.mark.parametrize(
    ("noisy", "total", "scale"),
    [
        ([0, 0, 0], 1600, 1.0),
        ([1e6, 0, 0], 50, 0.01),
        ([-1e5, 3, 2], 200, 2.0),
        ([5, 40, 7], 50, 1e-6),
        ([0, 0, 10_000], 1000, 0.5),
    ],
)
def test_no_underflow_where_the_weights_are_tiny(noisy, total, scale):
    """Compare with log-space convolutions, which cannot underflow."""
    posterior = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=1.0)
    s = np.arange(total + 1)
    logs = -np.abs(np.array(noisy, dtype=float)[:, None] - s) / scale
    rest = np.array([logsumexp(logs[1, : t + 1] + logs[2, t::-1]) for t in s])
    marginal = logs[0] + rest[::-1]
    marginal = np.exp(marginal - logsumexp(marginal))
    assert posterior.counts.marginal(0) == pytest.approx(marginal, abs=1e-10)
    draws = posterior.counts.draw(100, rng=stream(1, "tiny"))
    assert (draws.sum(axis=1) == total).all()


def test_realised_share_is_the_law_of_the_counts():
    posterior = laplace_multinomial.exact([2.0, 3.0, 4.0], total=5, scale=2.0, alpha=1.0)
    values, weights = posterior.share_of_counts(**R)
    counts = posterior.counts.draw(200_000, rng=stream(1, "share"))
    with np.errstate(invalid="ignore"):
        share = counts[:, 0] / (counts[:, 0] + counts[:, 1])
    assert np.isnan(values[-1])
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    for value, weight in zip(values[:-1], weights[:-1], strict=True):
        # 4.5 standard deviations, about 12 values: false alarm below 1e-4
        assert np.mean(np.isclose(share, value)) == pytest.approx(weight, abs=4.5 * np.sqrt(weight / 200_000))


def test_the_density_of_a_mixture_has_the_digits_of_its_components():
    """Compare with the sum of Beta densities with 40 digits; rounding of two log gammas near 7,000 leaves 4e-12."""
    a, b, weights = [0.5, 3.0, 40.0, 900.0], [0.5, 7.5, 25.0, 300.0], [0.4, 0.3, 0.2, 0.1]
    law, places = BetaMixture(a, b, weights), [1e-6, 0.05, 0.3, 0.62, 0.75, 0.999]
    with mpmath.workdps(40):
        exact = [
            sum(w * mpmath.mpf(x) ** (p - 1) * (1 - mpmath.mpf(x)) ** (q - 1) / mpmath.beta(p, q)
                for p, q, w in zip(a, b, weights, strict=True))
            for x in places
        ]  # fmt: skip
    assert law.pdf(places) == pytest.approx(np.array(exact, dtype=float), rel=4e-12)
    top = law.mode()
    assert law.pdf(top) > law.pdf([top - 1e-4, top + 1e-4]).max()


def test_infinite_density_at_an_end_has_its_interior_mode_or_none():
    sharp = BetaMixture([0.5], [0.5], [1.0])
    assert np.isinf(sharp.pdf([0.0, 1.0])).all()
    assert sharp.mode() is None
    both = BetaMixture([0.5, 30.0], [0.5, 20.0], [0.1, 0.9])
    assert both.mode() == pytest.approx(29 / 48, abs=0.01)
    assert (BetaMixture([1.0], [3.0], [1.0]).mode(), BetaMixture([3.0], [1.0], [1.0]).mode()) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"total": -1}, "total must be >= 0, got -1"),
        ({"total": 2.5}, "total must be an integer"),
        ({"scale": 0.0}, "scale must be finite and > 0, got 0.0"),
        ({"scale": [1.0, 2.0]}, "scale must be one number or 3"),
        ({"alpha": [1, 1, -2]}, r"alpha must be finite and > 0, got -2.0 \(index 2\)"),
        ({"noisy_counts": [1.0, np.nan, 3.0]}, r"noisy_counts must be finite, got nan \(index 1\)"),
        ({"noisy_counts": [1.0]}, "at least 2 entries"),
    ],
)
def test_bad_arguments_are_named(change, match):
    arguments = {"noisy_counts": [5.0, 40.0, 5.0], **MODEL} | change
    with pytest.raises((ValueError, TypeError), match=match):
        laplace_multinomial.exact(arguments.pop("noisy_counts"), **arguments)


def test_bad_calls_of_gibbs_and_mixture_are_named():
    chain = {**MODEL, "draws": 10, "burn_in": 0}
    with pytest.raises(ValueError, match="'convolution', 'table'"):
        laplace_multinomial.gibbs([1, 2, 3], **chain, rng=stream(1, "a"), kernel="tabel")
    with pytest.raises(TypeError, match="rng must be a numpy"):
        laplace_multinomial.gibbs([1, 2, 3], **chain, rng=1)
    posterior = laplace_multinomial.exact([1, 2, 3], **MODEL)
    with pytest.raises(ValueError, match="the argument `given` must contain"):
        posterior.mean(category=2, given=(0, 1))
    with pytest.raises(ValueError, match="x must lie in"):
        posterior.cdf(1.5, category=0)
