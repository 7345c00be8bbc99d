"""The kernel of regressions against sums with SciPy's distributions."""

import numpy as np
import pytest
from reference import rate_sums as reference
from scipy import integrate, stats
from scipy.special import digamma, ndtri, polygamma

from dpmultinomial._posteriors.rates import _rate_sums
from dpmultinomial._seeding import stream

LEVELS = np.array([0.025, 0.5, 0.975])
DESIGN = np.ones((1, 1))


def windows(*rows, low):
    """Arguments of the kernel for windows given by likelihoods whose largest entry is 1."""
    start = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    peak = np.array([int(np.argmax(row)) for row in rows], dtype=np.int64)
    return np.concatenate(rows), start, np.array(low, dtype=np.int64), peak


def bell(size, centre, scale):
    row = np.exp(-(((np.arange(size) - centre) / scale) ** 2) / 2)
    return row / row.max()


CASES = [(0, 40, 12, 4.0), (100, 60, 30, 8.0), (3, 1, 0, 1.0), (0, 30, 0, 3.0), (2000, 400, 200, 50.0),
         (0, 400, 5, 100.0)]  # fmt: skip


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
@pytest.mark.parametrize(("low", "size", "centre", "scale"), CASES)
@pytest.mark.parametrize("log_a", [-3.0, 1.0, 6.0, 7.5])
def test_evidence_and_moments(low, size, centre, scale, log_a, shares):
    """Also far from the likelihood: some mean rates make the counts improbable by hundreds of powers of ten."""
    row = bell(size, centre, scale)
    exposure = low + size + 50.0 if shares else 50.0
    for b in (-4.0, 0.5, 2.0):
        parameters = np.array([log_a, b])
        law = reference.count_law(parameters, DESIGN[0], exposure, shares=shares)
        a, mu = np.exp(log_a), (1 / (1 + np.exp(-b)) if shares else np.exp(b))
        first, second = (a * mu, a * (1 - mu)) if shares else (a, mu)
        table = windows(row, low=[low])
        arguments = np.array([first]), np.array([second]), np.array([[exposure]])
        found = _rate_sums.sums(*table, *arguments, shares=shares)[0, 0]
        d = low + np.arange(size)
        logs = law.logpmf(d) + np.log(row)
        w = np.exp(logs - logs.max())
        assert found[0] == pytest.approx(np.log(w.sum()) + logs.max(), abs=1e-9)
        w /= w.sum()
        u = digamma(first + d) - digamma(first)
        v = digamma(second + exposure - d) - digamma(second) if shares else u
        x, y = (u, v) if shares else (d, u)
        t = [polygamma(1, first + d) - polygamma(1, first)]
        t += [polygamma(1, second + exposure - d) - polygamma(1, second)] if shares else []
        means = [w @ x, w @ y]
        spread = [w @ (x - means[0]) ** 2, w @ ((x - means[0]) * (y - means[1])), w @ (y - means[1]) ** 2]
        expected = [*means, *spread, *(w @ one for one in t)]
        assert found[1 : 1 + len(expected)] == pytest.approx(expected, rel=1e-8, abs=1e-10)
        alone = _rate_sums.sums(*table, *arguments, shares=shares, moments=False)[0, 0]
        assert alone[0] == found[0]
        assert not alone[1:].any()


def mixture(rows, low, parameters, exposure, log_node, weights, points, *, shares, levels=LEVELS):
    """Results of the kernel, and components (weight, distribution) of the first area by SciPy."""
    table = windows(*rows, low=low)
    n = len(rows)
    a = np.exp(parameters[:, 0])
    mu = 1 / (1 + np.exp(-parameters[:, 1])) if shares else np.exp(parameters[:, 1])
    first, second = (a * mu, a * (1 - mu)) if shares else (a, mu)
    pair = [np.repeat(x[:, None], n, axis=1) for x in (first, second)]
    found = _rate_sums.mixtures(
        *table, *pair, exposure, log_node, weights, levels, ndtri(levels), points, shares=shares
    )
    d = low[0] + np.arange(len(rows[0]))
    parts = []
    for h, p in enumerate(parameters):
        joint = {}
        for k, e in enumerate(exposure[0]):
            if np.isfinite(log_node[0, k]):
                pmf = reference.count_law(p, DESIGN[0], e, shares=shares).pmf(d) * rows[0] * np.exp(log_node[0, k])
                joint.update({(k, int(count)): value for count, value in zip(d, pmf, strict=True)})
        whole = sum(joint.values())
        for (k, count), value in joint.items():
            law = reference.rate_law(p, DESIGN[0], exposure[0, k], count, shares=shares)
            parts.append((weights[0, h] * value / whole, weights[1, h] * value / whole, law, count))
    return found, parts


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
def test_mixtures(shares):
    """Two nodes of the exposure (a third is not used), three points of the hyperparameters, two rules of weights."""
    rows = [bell(40, 15, 5.0), np.ones(1)]
    parameters = np.array([[0.5, -0.8], [1.5, -1.0], [2.0, -0.5]])
    nodes = [60.0, 80.0, 1.0] if not shares else [60.0, 1.0, 1.0]
    log_node = np.log([0.3, 0.7, 1.0]) if not shares else np.zeros(3)
    log_node[1 if shares else 2 :] = -np.inf
    weights = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
    points = np.array([[0.05, 0.3], [0.05, 0.3]])
    exposure, log_nodes = np.array([nodes, nodes]), np.array([log_node, log_node])
    (rates, quantiles, at, counts), parts = mixture(
        rows, [0, 3], parameters, exposure, log_nodes, weights, points, shares=shares
    )
    one, two = (np.array([part[i] for part in parts]) for i in (0, 1))
    means = np.array([law.mean() for *_, law, _ in parts])
    squares = np.array([law.var() for *_, law, _ in parts]) + means**2
    assert rates[0] == pytest.approx([one @ means, np.sqrt(one @ squares - (one @ means) ** 2)], rel=1e-9)
    for j, x in enumerate(points[0]):
        below = np.array([law.cdf(x) for *_, law, _ in parts])
        density = one @ np.array([law.pdf(x) for *_, law, _ in parts])
        assert at[0, j] == pytest.approx([one @ below, density, two @ below], abs=1e-11, rel=1e-9)
    for j, level in enumerate(LEVELS):
        below = np.array([law.cdf(quantiles[0, j, 0]) for *_, law, _ in parts])
        assert one @ below == pytest.approx(level, abs=1e-9)
        assert quantiles[0, j, 1:] == pytest.approx([one @ below, two @ below], abs=1e-7)
    d = np.array([part[3] for part in parts])
    mass = np.bincount(d, one)
    assert counts[0, :2] == pytest.approx([one @ d, np.sqrt(one @ d**2 - (one @ d) ** 2)], rel=1e-9)
    assert counts[0, 2] == np.searchsorted(np.cumsum(mass), 0.025)
    assert counts[0, 3] == len(mass) - 1 - np.searchsorted(np.cumsum(mass[::-1]), 0.025, side="right")


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
@pytest.mark.parametrize(("low", "size", "exposure"), [(0, 1, 0.0), (0, 12, 900.0), (5000, 300, 8000.0)])
def test_quantiles_of_extreme_mixtures(low, size, exposure, shares):
    """Nothing measured (the count 0 without exposure), rates near 0, and counts of thousands; levels down to 1e-6."""
    levels = np.array([1e-6, 0.2, 1 - 1e-6])
    row = bell(size, size // 2, max(size / 8, 1.0))
    found, parts = mixture(
        [row], [low], np.array([[0.3, -1.5]]), np.array([[exposure]]), np.zeros((1, 1)), np.ones((2, 1)),
        np.empty((1, 0)), shares=shares, levels=levels,
    )  # fmt: skip
    for j, level in enumerate(levels):
        below = sum(part[0] * part[2].cdf(found[1][0, j, 0]) for part in parts)
        above = sum(part[0] * part[2].sf(found[1][0, j, 0]) for part in parts)
        assert (below if level < 0.5 else above) == pytest.approx(min(level, 1 - level), rel=1e-5)


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
def test_distribution_functions_of_wide_windows(shares):
    """Sums over few of the terms: the counts of a window spread ten times as far as the rate given a count."""
    size, exposure, a = 3000, 4000.0 if shares else 500.0, 2.0
    row = bell(size, 1300, 350.0)
    mu = 0.4 if shares else 3.0
    first, second = (a * mu, a * (1 - mu)) if shares else (a, mu)
    law = reference.count_law(np.log([a, mu / (1 - mu) if shares else mu]), DESIGN[0], exposure, shares=shares)
    d = np.arange(size)
    w = law.pmf(d) * row / (law.pmf(d) @ row)
    beta, gamma = stats.beta(first + d, second + exposure - d), stats.gamma(a + d, scale=1 / (a / mu + exposure))
    parts = beta if shares else gamma
    centre, sd = w @ parts.mean(), np.sqrt(w @ (parts.var() + parts.mean() ** 2) - (w @ parts.mean()) ** 2)
    points = centre + sd * np.array([-3.3, -2.0, -0.3, 0.0, 1.0, 2.7, 4.0])
    pair = [np.full((1, 1), x) for x in (first, second)]
    one = np.ones((2, 1)), np.array([0.5]), np.zeros(1)
    *_, at, _ = _rate_sums.mixtures(
        *windows(row, low=[0]), *pair, np.full((1, 1), exposure), np.zeros((1, 1)), *one, points[None], shares=shares
    )
    for found, x in zip(at[0], points, strict=True):
        assert found[0] == pytest.approx(w @ parts.cdf(x), rel=1e-9)
        assert found[1] == pytest.approx(w @ parts.pdf(x), rel=1e-9)


def test_quantiles_between_two_groups_of_counts():
    """Check levels near a flat part of the distribution function, over which Newton's steps go too far."""
    row = bell(400, 10, 1.0) + 10 * bell(400, 300, 3.0)
    row /= row.max()
    a, mu, exposure = 1.0, 3.0, 50.0
    d = np.arange(400)
    w = reference.count_law(np.log([a, mu]), DESIGN[0], exposure, shares=False).pmf(d) * row
    w /= w.sum()
    flat = w[:100].sum()  # at least 0.1 on either side
    assert 0.1 < flat < 0.9
    levels = np.sort(np.r_[0.01, 0.3, 0.7, 0.99, flat + np.array([-1e-2, -1e-4, 1e-4, 1e-2])])
    one = np.ones((2, 1)), levels, ndtri(levels)
    pair = [np.full((1, 1), x) for x in (a, mu)]
    _, quantiles, *_ = _rate_sums.mixtures(
        *windows(row, low=[0]), *pair, np.full((1, 1), exposure), np.zeros((1, 1)), *one, np.empty((1, 0)), shares=False
    )
    for found, level in zip(quantiles[0, :, 0], levels, strict=True):
        assert w @ stats.gamma(a + d, scale=1 / (a / mu + exposure)).cdf(found) == pytest.approx(level, abs=1e-8)


def test_the_density_integrates_to_the_distribution_function():
    rows, exposure = [bell(25, 9, 3.0)], np.array([[10.0]])

    def at(x):
        return mixture(
            rows, [0], np.array([[0.7, 0.1]]), exposure, np.zeros((1, 1)), np.ones((2, 1)), np.array([[x]]),
            shares=False,
        )[0][2][0, 0]  # fmt: skip

    mass, _ = integrate.quad(lambda x: at(x)[1], 0.4, 1.3, epsabs=1e-11)
    assert at(1.3)[0] - at(0.4)[0] == pytest.approx(mass, abs=1e-9)


def test_draws_have_the_probabilities_of_counts_and_nodes():
    """Inversion of a grid of uniform numbers: frequencies are the probabilities within the step of the grid."""
    rows = [bell(30, 12, 4.0)]
    parameters = np.array([[0.5, -1.0], [2.0, -1.2]])
    exposure, log_node = np.array([[30.0, 50.0]]), np.log([[0.4, 0.6]])
    first, second = np.exp(parameters[:, :1]), np.exp(parameters[:, 1:])
    steps = 20_000
    uniforms = ((np.arange(steps) + 0.5) / steps)[:, None]
    d = np.arange(30)
    for h in (0, 1):
        counts, nodes = _rate_sums.picks(
            *windows(*rows, low=[0]), first, second, exposure, log_node, uniforms, np.full(steps, h), shares=False
        )
        laws = [reference.count_law(parameters[h], DESIGN[0], e, shares=False) for e in exposure[0]]
        joint = np.array([law.pmf(d) * rows[0] * p for law, p in zip(laws, (0.4, 0.6), strict=True)])
        joint /= joint.sum()
        seen = np.array([np.bincount(counts[nodes[:, 0] == k, 0], minlength=30) for k in (0, 1)]) / steps
        assert np.abs(seen - joint).max() < 2 / steps


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
def test_a_rate_that_is_not_a_number_has_no_probability(shares):
    """NaN is a legal argument, and must not become the position of a component."""
    found, _ = mixture(
        [bell(40, 15, 5.0)], [0], np.array([[0.5, -0.8]]), np.array([[60.0]]), np.zeros((1, 1)), np.ones((2, 1)),
        np.array([[np.nan, 0.3]]), shares=shares,
    )  # fmt: skip
    assert np.isnan(found[2][0, 0, [0, 2]]).all()
    assert 0 < found[2][0, 1, 0] < 1


def test_rejects_arrays_that_do_not_fit():
    table = windows(np.ones(3), np.ones(2), low=[0, 1])
    good = {"first": np.ones(2), "second": np.ones(2), "exposure": np.ones((2, 1))}
    assert _rate_sums.sums(*table, *good.values(), shares=False).shape == (2, 1, 8)
    with pytest.raises(ValueError, match="one entry per area"):
        _rate_sums.sums(*table, np.ones(3), np.ones(2), np.ones((2, 1)), shares=False)
    values, start, low, peak = table
    for bad in (
        (values[:-1], start, low, peak),
        (values, start, low - 1, peak),
        (values, start, low, peak + 3),
        (values, start[:-1], low, peak),
        (values, np.array([0, 0, 5]), low, peak),
    ):
        with pytest.raises(ValueError, match="window"):
            _rate_sums.sums(*bad, *good.values(), shares=False)
    wide = [np.ones((1, 2)), np.ones((1, 2)), np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1))]
    with pytest.raises(ValueError, match="consistent shapes for 2 areas"):
        _rate_sums.mixtures(*table, *wide[:4], np.ones((2, 3)), LEVELS, LEVELS, np.empty((2, 0)), shares=False)
    with pytest.raises(ValueError, match="one point of the hyperparameters per draw"):
        _rate_sums.picks(*table, *wide[:4], np.ones((4, 2)) / 2, np.full(4, 1), shares=False)


def test_a_result_does_not_depend_on_the_other_areas():
    rng = stream(1, "areas")
    rows = [bell(int(size), size / 2, 3.0) for size in rng.integers(1, 30, 20)]
    low = rng.integers(0, 9, 20)
    first, second, exposure = rng.gamma(2.0, 1.0, 20), rng.gamma(2.0, 1.0, 20), rng.gamma(2.0, 9.0, (20, 2))
    whole = _rate_sums.sums(*windows(*rows, low=low), first, second, exposure, shares=False)
    for i in range(20):
        one = slice(i, i + 1)
        alone = _rate_sums.sums(
            *windows(rows[i], low=low[one]), first[one], second[one], exposure[one], shares=False
        )  # fmt: skip
        assert (alone[0] == whole[i]).all()
