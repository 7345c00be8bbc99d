"""Shapes, types and values that no kernel of the noisy-count posteriors may accept in silence or read past."""

import numpy as np
import pytest

from dpmultinomial._kernels import dirichlet, geometric
from dpmultinomial._posteriors.counts import _fixed_sum, _laplace_gibbs, _noisy_tables, _share_density, compositions
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018 import products

NAN, INF, HUGE = np.nan, np.inf, 2**62
COUNTS = np.array([[2, 0, 0], [1, 1, 0], [0, 2, 0]])
ONES = np.ones(3)
THIRD = np.full(3, 1 / 3)
MATRICES = {
    "flat": np.ones(3),
    "cube": np.ones((2, 2, 2)),
    "empty": np.ones((0, 3)),
    "one_row": np.ones((1, 3)),
    "no_columns": np.ones((3, 0)),
    "nan": np.full((2, 3), NAN),
    "infinite": np.full((2, 3), INF),
    "forbidden": np.full((2, 3), -INF),
    "words": np.array([["a", "b"], ["c", "d"]]),
    "objects": np.array([[None, 1], [2, 3]], dtype=object),
    "complex": np.ones((2, 3)) * 1j,
}
VECTORS = {
    "short": np.ones(2),
    "long": np.ones(9),
    "matrix": np.ones((3, 1)),
    "empty": np.ones(0),
    "zero": np.zeros(3),
    "negative": np.array([1.0, -1.0, 1.0]),
    "nan": np.array([1.0, NAN, 1.0]),
    "infinite": np.array([1.0, INF, 1.0]),
    "words": np.array(["a", "b", "c"]),
    "none": None,
    "ragged": [[1.0], [1.0, 2.0]],
}
TABLES = {
    "flat": np.array([1, 2, 3]),
    "narrow": COUNTS[:, :2],
    "wide": np.ones((3, 4), dtype=int),
    "negative": COUNTS - 1,
    "lowest": np.full((3, 3), -(2**63)),
    "huge": np.full((3, 3), HUGE),
    "floats": COUNTS + 0.5,
    "nan": np.full((3, 3), NAN),
    "unsigned": np.full((3, 3), 2**63, dtype=np.uint64),
    "words": np.array([["a"] * 3] * 3),
    "none": None,
}
WHOLE = {"negative": -1, "half": 1.5, "text": "3", "none": None, "truth": True, "nan": NAN, "infinite": INF}
WHOLE |= {"array": np.ones(2), "lowest": -(2**63), "list": [1]}


def cases(table, call):
    return [pytest.param(lambda value=value: call(value), id=name) for name, value in table.items()]


def rng():
    return stream(1, "hostile")


def chain(**change):
    given = {"counts": COUNTS, "static": ONES, "alpha": ONES, "initial": THIRD, "draws": 3, "burn_in": 1, "rng": rng()}
    return _laplace_gibbs.table_chain(**given | change)


def convolution(**change):
    given = {"static": np.zeros((3, 5)), "alpha": ONES, "initial": THIRD, "reference": THIRD}
    return _laplace_gibbs.convolution_chain(**given | {"draws": 3, "burn_in": 1, "rng": rng()} | change)


def density(**change):
    given = {"z": [0.0], "mine": ONES, "theirs": ONES, "of_total": np.ones(5), "alpha": 1.0, "beta": 1.0}
    return _share_density.log_density(**given | change)


def tables(**change):
    given = {"noisy": ONES, "starts": np.array([0, 3]), "totals": np.array([3]), "scales": ONES, "alphas": ONES}
    return _noisy_tables.counts_and_rates(**given | change)


def digits(**change):
    given = {"counts": COUNTS, "coefficients": ONES, "exact": [1, 2, 1], "probabilities": [THIRD]}
    return products.fewest_digits(**given | change)


NOT_POSITIVE = {k: v for k, v in VECTORS.items() if k not in ("short", "long")}
BAD = [
    *cases({k: v for k, v in MATRICES.items() if k != "one_row"} | {"one": np.ones((1, 3))}, _fixed_sum.tables),
    *cases({k: v for k, v in MATRICES.items() if k != "one_row"}, _fixed_sum.tilted),
    *cases(
        {"short": np.ones(2), "matrix": np.ones((3, 1)), "words": ["a"] * 3, "none": None},
        lambda v: _fixed_sum.convolve(ONES, v),
    ),
    *cases(
        {"suffix": ((3, 4), (3, 5)), "rows": ((3, 4), (2, 4)), "one": ((1, 4), (1, 4)), "empty": ((3, 0), (3, 0))},
        lambda v: _fixed_sum.draw(_fixed_sum.Tables(np.ones(v[0]), np.ones(v[1]), 0.0), 2, rng=rng()),
    ),
    *cases(WHOLE, lambda v: _fixed_sum.draw(_fixed_sum.tables(np.zeros((3, 4))), v, rng=rng())),
    *cases(TABLES, lambda v: _laplace_gibbs.row_weights(v, ONES, THIRD)),
    *cases(VECTORS, lambda v: _laplace_gibbs.row_weights(COUNTS, ONES, v)),
    *cases(TABLES, lambda v: chain(counts=v)),
    *cases(VECTORS | {"zero": -INF * ONES, "negative": np.ones(4)}, lambda v: chain(static=v)),
    *cases(VECTORS, lambda v: chain(alpha=v)),
    *cases(VECTORS, lambda v: chain(initial=v)),
    *cases(WHOLE, lambda v: chain(draws=v)),
    *cases(WHOLE, lambda v: chain(burn_in=v)),
    *cases(MATRICES, lambda v: convolution(static=v)),
    *cases(VECTORS, lambda v: convolution(alpha=v)),
    *cases(VECTORS, lambda v: convolution(reference=v)),
    *cases(VECTORS, lambda v: convolution(initial=v)),
    *cases({"seed": 1, "none": None, "legacy": np.random.RandomState(1)}, lambda v: convolution(rng=v)),
    *cases(
        {k: v for k, v in TABLES.items() if k != "flat"} | {"flat": np.array([1, 2])},
        lambda v: dirichlet.draw(ONES, v, rng=rng()),
    ),
    *cases(VECTORS, lambda v: dirichlet.draw(v, COUNTS, rng=rng())),
    *cases(NOT_POSITIVE, lambda v: density(mine=v)),
    *cases(NOT_POSITIVE, lambda v: density(theirs=v)),
    *cases(NOT_POSITIVE, lambda v: density(of_total=v)),
    *cases({"nan": [NAN], "far": [601.0], "infinite": [INF], "matrix": [[0.0]], "word": ["a"]}, lambda v: density(z=v)),
    *cases(
        {"two": (0, 0), "negative": (0, -1, 0), "half": (0, 0.5, 0), "apart": (0, 0, 99), "huge": (HUGE, 0, 0)},
        lambda v: density(first=v),
    ),
    *cases({"zero": 0.0, "nan": NAN, "word": "a", "none": None}, lambda v: density(alpha=v)),
    *cases({"zero": 0.0, "one": 1.0, "nan": NAN}, lambda v: density(tolerance=v)),
    *cases(VECTORS | {"zero": np.ones((3, 3)), "negative": np.ones(4)}, lambda v: tables(noisy=v)),
    *cases(VECTORS, lambda v: tables(scales=v)),
    *cases(VECTORS, lambda v: tables(alphas=v)),
    *cases(
        {
            "short": [0],
            "late": [1, 3],
            "past": [0, 4],
            "huge": [0, HUGE],
            "negative": [0, -3],
            "falling": [3, 0],
            "one": [0, 1],
            "floats": [0.0, 3.0],
            "matrix": [[0, 3]],
            "none": None,
            "empty": np.zeros(0, dtype=np.int64),
        },
        lambda v: tables(starts=v),
    ),
    *cases(
        {"negative": [-1], "huge": [HUGE], "floats": [3.0], "two": [3, 3], "matrix": [[3]], "none": None},
        lambda v: tables(totals=v),
    ),
    *cases({"one": 1.0, "zero": 0.0, "nan": NAN, "word": "a"}, lambda v: tables(level=v)),
    *cases({"short": np.ones(0, bool), "numbers": np.ones(1), "long": np.ones(2, bool)}, lambda v: tables(wanted=v)),
    *cases(TABLES, lambda v: digits(counts=v)),
    *cases(VECTORS, lambda v: digits(coefficients=v)),
    *cases({"short": [1, 2], "long": [1] * 4, "empty": []}, lambda v: digits(exact=v)),
    *cases(VECTORS, lambda v: digits(probabilities=v)),
    *cases(TABLES, lambda v: products.product_each(v, np.ones((3, 3)))),
    *cases(MATRICES, lambda v: products.product_each(COUNTS, v)),
    *cases(TABLES, lambda v: products.product_block(v, ONES)),
    *cases(
        {"short": np.ones(2), "matrix": np.ones((3, 1)), "nan": VECTORS["nan"]},
        lambda v: products.product_block(COUNTS, v),
    ),
    *cases(WHOLE, lambda v: geometric.draw(v, epsilon=1.0, support=5, rng=rng())),
    *cases(WHOLE | {"huge": HUGE}, lambda v: geometric.draw(3, epsilon=1.0, support=v, rng=rng())),
    *cases(
        {"zero": 0.0, "negative": -1.0, "nan": NAN, "infinite": INF, "word": "a"}, lambda v: geometric.cumulative(v, 5)
    ),
    *cases(
        {
            "large": [6, 0, 0],
            "short": [0],
            "floats": [0.5] * 3,
            "nan": [NAN] * 3,
            "matrix": [[0, 0, 0]],
            "huge": [HUGE] * 3,
        },
        lambda v: geometric.draw(3, epsilon=1.0, support=5, rng=rng(), least=v),
    ),
    *cases(WHOLE | {"huge": HUGE}, compositions.log_factorials),
    *cases(WHOLE, compositions.compositions),
    *cases(WHOLE | {"one": 1, "zero": 0}, lambda v: compositions.multinomial_table(3, v)),
    *cases(WHOLE, compositions.log_multinomial_table),
]


@pytest.mark.parametrize("call", BAD)
def test_bad_input_is_refused(call):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        call()


def test_good_input_in_any_layout_gives_the_same_answer():
    wide = np.zeros((6, 5))[::2]
    assert np.array_equal(_fixed_sum.tables(wide).suffix, _fixed_sum.tables(wide.copy()).suffix)
    assert np.array_equal(chain(counts=np.asfortranarray(COUNTS)), chain())
    assert np.array_equal(chain(counts=COUNTS.astype(np.int16)), chain())
    assert np.array_equal(tables(noisy=np.ones(6)[::2])[0], tables()[0])
    assert np.array_equal(tables(starts=np.array([0, 3], dtype=np.int32))[0], tables()[0])
    assert np.array_equal(density(mine=np.ones(6)[::2]), density())
    assert np.array_equal(
        dirichlet.draw([1, 1, 1], COUNTS[::-1], rng=rng()), dirichlet.draw(ONES, COUNTS[::-1], rng=rng())
    )
