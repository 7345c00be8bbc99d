"""Tests of every compiled kernel, against its NumPy reference with the same stream, and at the ends of its range."""

import math
from fractions import Fraction

import numpy as np
import pytest
from reference import count_laws as reference_sums
from scipy.special import gammaln

from dpmultinomial._kernels import dirichlet
from dpmultinomial._posteriors.counts import _fixed_sum, compositions
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018.algorithms import numpy_gibbs as reference_gibbs


def log_factors(noisy, total, scale=2.0, alpha=1.0):
    s = np.arange(total + 1)
    noise = -np.abs(np.asarray(noisy, dtype=float)[:, None] - s) / scale
    return gammaln(s + alpha) - gammaln(s + 1) + noise


@pytest.mark.parametrize(("total", "categories"), [(0, 2), (0, 3), (1, 3), (7, 2), (6, 3), (5, 4), (4, 5)])
def test_table_is_every_composition_in_the_papers_order(total, categories):
    counts, values = compositions.multinomial_table(total, categories)
    assert np.array_equal(counts, reference_sums.compositions(total, categories))
    assert values.tolist() == reference_sums.coefficients(counts)
    assert len(counts) == compositions.rows(total, categories)


@pytest.mark.parametrize("total", [37, 50, 100, 200, 647])
def test_recurrence_against_exact_integers(total):
    counts, values = compositions.multinomial_table(total)
    assert sum(Fraction(v) for v in values) / 3**total == pytest.approx(1, rel=1e-14)
    some = slice(None, None, 1 if total <= 100 else 97)
    counts, values = counts[some], values[some]
    exact = reference_sums.coefficients(counts)
    error = max(float(abs(Fraction(v) - e) / e) for v, e in zip(values, exact, strict=True))
    assert error <= {37: 0, 50: 1e-15, 100: 2e-15, 200: 3e-15, 647: 7e-15}[total]


def test_log_table_agrees_with_exact_logs():
    mpmath = pytest.importorskip("mpmath")
    counts, logs = compositions.log_multinomial_table(1000, 2)
    exact = [float(mpmath.log(mpmath.mpf(c))) for c in reference_sums.coefficients(counts)]
    assert np.max(np.abs(logs - exact)) < 2e-12


def test_overflow_names_the_largest_safe_total_and_the_way_out():
    with pytest.raises(OverflowError, match=r"647.*log_multinomial_table"):
        compositions.multinomial_table(648)
    assert np.isfinite(compositions.log_multinomial_table(648)[1]).all()
    for categories in (2, 3, 4):
        safe = compositions.largest_safe_total(categories)
        if compositions.rows(safe, categories) < 1e6:
            assert np.isfinite(compositions.multinomial_table(safe, categories)[1]).all()


@pytest.mark.parametrize("categories", [2, 3, 7, 100])
def test_the_largest_safe_total_is_where_exact_products_end(categories):
    """Check total times the largest coefficient of total - 1, in integers: below 2^1024, but not one further."""

    def product(total):
        share, extra = divmod(total - 1, categories)
        parts = [share + 1] * extra + [share] * (categories - extra)
        return total * math.factorial(total - 1) // math.prod(map(math.factorial, parts))

    safe = compositions.largest_safe_total(categories)
    assert product(safe) < 2**1024 <= product(safe + 1)


@pytest.mark.parametrize(
    ("categories", "error"), [(0, ValueError), (1, ValueError), (-3, ValueError), (2.0, TypeError)]
)
def test_a_table_needs_two_categories(categories, error):
    with pytest.raises(error, match="categories must be"):
        compositions.largest_safe_total(categories)


def test_a_table_beyond_memory_is_refused_before_it_is_made():
    with pytest.raises(MemoryError, match="16 GiB"):
        compositions.multinomial_table(200, 12)


@pytest.mark.parametrize("noisy", [[5, 40, 5], [12.3, -4.1, 44.2], [3, 3, 30, 7, 9.5]])
def test_fixed_sum_draws_equal_the_reference(noisy):
    tables = _fixed_sum.tables(log_factors(noisy, 50))
    ours = _fixed_sum.draw(tables, 500, rng=stream(1, "twin"))
    expected = reference_sums.draw(tables.factors, tables.suffix, 500, rng=stream(1, "twin"))
    assert np.array_equal(ours, expected)
    assert (ours.sum(axis=1) == 50).all()


def test_convolve_equals_numpy():
    rng = stream(2, "convolve")
    for n in (1, 2, 3, 4, 5, 8, 51):
        a, b = rng.random(n), rng.random(n)
        assert np.allclose(_fixed_sum.convolve(a, b), np.convolve(a, b)[:n], rtol=1e-14, atol=0)


@pytest.mark.parametrize("total", [0, 1, 50])
def test_fixed_sum_without_draws_and_at_small_totals(total):
    tables = _fixed_sum.tables(log_factors([1, 2, 3], total))
    assert _fixed_sum.draw(tables, 0, rng=stream(1, "none")).shape == (0, 3)
    assert (_fixed_sum.draw(tables, 5, rng=stream(1, "few")).sum(axis=1) == total).all()


def test_fixed_sum_refuses_what_has_no_weight():
    logs = np.full((2, 4), -np.inf)
    logs[:, 3] = 0.0
    with pytest.raises(ValueError, match="no composition of the total 3"):
        _fixed_sum.tables(logs)
    with pytest.raises(ValueError, match="log_factors"):
        _fixed_sum.tables(np.full((2, 4), np.nan))


def test_dirichlet_draws_equal_numpys():
    counts = stream(3, "counts").integers(0, 600, (2000, 3))
    alpha = np.array([1.0, 0.5, 2.0])
    ours = dirichlet.draw(alpha, counts, rng=stream(3, "draw"))
    assert np.array_equal(ours, reference_sums.draw_dirichlet(alpha, counts, rng=stream(3, "draw")))


def test_dirichlet_underflow_is_an_error_not_a_nan():
    with pytest.raises(FloatingPointError, match="alpha"):
        dirichlet.draw(np.full(2, 1e-4), np.zeros((200, 2), dtype=np.int64), rng=stream(3, "tiny"))


@pytest.mark.parametrize("noisy", [[5, 40, 5], [-90.0, 30.0, 200.0], [0, 0, 0]])
def test_gibbs_chains_equal_their_reference(noisy):
    noisy, alpha, start = np.asarray(noisy, dtype=float), np.ones(3), np.array([0.2, 0.5, 0.3])
    counts, logs = compositions.log_multinomial_table(50)
    size = {"draws": 200, "burn_in": 20}
    static = logs - np.abs(noisy - counts).sum(axis=1) / 2
    table = _fixed_sum.table_chain(counts, static, alpha, start, rng=stream(4, "gibbs"), **size)
    expected = reference_gibbs.table_chain(counts, static, alpha, start, rng=stream(4, "gibbs"), **size)
    assert np.allclose(table, expected, rtol=1e-12, atol=0)

    s = np.arange(51)
    static = -np.abs(noisy[:, None] - s) / 2 - gammaln(s + 1)
    chain = _fixed_sum.convolution_chain(static, alpha, start, start, rng=stream(5, "gibbs"), **size)
    expected = reference_gibbs.convolution_chain(static, alpha, start, start, rng=stream(5, "gibbs"), **size)
    assert np.allclose(chain, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("rows", [1, 3, 7, 8, 63, 64, 65, 512, 513, 1326, 5000])
def test_row_weights_are_exponentials(rows):
    """Check numbers from 0 to beyond float64, impossible rows, any position of the maximum, by extended precision."""
    rng = stream(6, "weights", rows)
    counts, p = rng.integers(0, 60, (rows, 3)), rng.dirichlet(np.ones(3))
    static = -rng.random(rows) * np.repeat([1.0, 30.0, 900.0], -(-rows // 3))[:rows]
    static[1::17] = -np.inf
    logs = static + counts[:, 0] * np.log(p[0]) + counts[:, 1] * np.log(p[1]) + counts[:, 2] * np.log(p[2])
    gap = (logs - logs.max()).astype(np.longdouble)
    weights, sums = _fixed_sum.row_weights(counts, static, p)
    seen = gap > -708
    assert np.abs(weights[seen] / np.exp(gap[seen]) - 1).max() <= 2 * np.finfo(float).eps
    assert weights[gap < -710].sum() == 0
    assert weights.max() == 1
    assert sums == pytest.approx(np.cumsum(weights)[[*range(63, rows - 1, 64), -1]], rel=1e-14, abs=0)


def test_convolution_chain_does_not_depend_on_its_reference():
    s = np.arange(401)
    static = -np.abs(np.array([50.0, 300.0, 50.0])[:, None] - s) / 2 - gammaln(s + 1)
    alpha, start = np.ones(3), np.array([0.98, 0.01, 0.01])
    chains = [
        _fixed_sum.convolution_chain(static, alpha, start, np.array(r), draws=50, burn_in=0, rng=stream(6, "r"))
        for r in ([1 / 3, 1 / 3, 1 / 3], [0.125, 0.75, 0.125], [1e-9, 1 - 2e-9, 1e-9])
    ]
    assert np.allclose(chains[0], chains[1], rtol=1e-12, atol=0)
    assert np.allclose(chains[0], chains[2], rtol=1e-12, atol=0)
