"""Shapes, types and values that a kernel of the posteriors must reject: (call, argument, bad values)."""

import numpy as np
import pytest

from dpmultinomial._kernels import dirichlet, geometric
from dpmultinomial._mechanisms.additive import additive_release
from dpmultinomial._posteriors.additive import _frequency_products, _sum_chain
from dpmultinomial._posteriors.censored import _statistics_sampler
from dpmultinomial._posteriors.counts import _fixed_sum, _noisy_tables, beta_mixtures, compositions
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018.algorithms import products
from reproduction.papers.raim2021.algorithms import censored_gibbs, direct_sampler, laplace_noise

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
    return _fixed_sum.table_chain(**given | change)


def convolution(**change):
    given = {"static": np.zeros((3, 5)), "alpha": ONES, "initial": THIRD, "reference": THIRD}
    return _fixed_sum.convolution_chain(**given | {"draws": 3, "burn_in": 1, "rng": rng()} | change)


def density(**change):
    given = {"z": [0.0], "mine": ONES, "theirs": ONES, "of_total": np.ones(5), "alpha": 1.0, "beta": 1.0}
    return beta_mixtures.log_density(**given | change)


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
    *cases(TABLES, lambda v: _fixed_sum.row_weights(v, ONES, THIRD)),
    *cases(VECTORS, lambda v: _fixed_sum.row_weights(COUNTS, ONES, v)),
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


REFUSALS = (ValueError, TypeError, OverflowError)
SPECTRA = np.fft.rfft(np.ones((3, 8)), axis=1)
SWEEP = {
    "spectra": SPECTRA,
    "tail": SPECTRA[0],
    "clear": np.array([[0, 1]]),
    "got": np.array([[2, -1]]),
    "lost": np.array([[-1, -1]]),
    "weight": [1.0],
    "repeats": [1, 1],
    "length": 8,
    "early": [0.5],
    "late": [0.5],
}
BOXES = {"lower": [0], "upper": [3], "kind": [0], "low": [0], "width": [4], "rise": np.ones((1, 4))} | {
    "epsilon": 1.0,
    "reach": 3,
    "length": 6,
}


@pytest.mark.parametrize(
    "bad",
    [
        {"clear": [[0, 3]]},
        {"clear": [[0, -2]]},
        {"clear": [[0, -1]]},
        {"clear": [[0, HUGE]]},
        {"clear": [[0.0, 1.0]]},
        {"clear": [0, 1]},
        {"got": [[3, -1]]},
        {"got": [[-1, -1]]},
        {"got": None},
        {"lost": [[0]]},
        {"lost": [[-HUGE, 0]]},
        {"spectra": SPECTRA[:, :3]},
        {"spectra": np.full((3, 5), NAN)},
        {"spectra": np.zeros((0, 5))},
        {"tail": SPECTRA[0][:4]},
        {"tail": np.full(5, np.inf)},
        {"weight": [NAN]},
        {"weight": [1.0, 2.0]},
        {"repeats": [0, 1]},
        {"repeats": [1]},
        {"repeats": [2, 1], "early": [0.2]},
        {"length": 9000},
        {"length": 0},
        {"length": -8},
        {"early": ["x"]},
        {"late": [np.inf]},
    ],
)
def test_sweep_refuses(bad):
    with pytest.raises(REFUSALS):
        _frequency_products.sweep(**(SWEEP | bad))


def test_sweep_takes_strided_and_empty_arrays():
    wide = np.repeat(SPECTRA, 2, axis=1)[:, ::2]
    ours = _frequency_products.sweep(**(SWEEP | {"spectra": wide, "clear": np.array([[0, 9, 1, 9]])[:, ::2]}))
    assert np.array_equal(ours[1], _frequency_products.sweep(**SWEEP)[1])
    none = np.zeros((0, 2), dtype=int)
    empty = {"clear": none, "got": none, "lost": none, "weight": [], "early": [], "late": []}
    assert _frequency_products.sweep(**(SWEEP | empty))[0].shape == (0, 2)


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": [1]},
        {"kind": [-1]},
        {"kind": [0, 0]},
        {"kind": [0.5]},
        {"width": [5]},
        {"width": [7]},
        {"width": [-1]},
        {"rise": np.ones((2, 4))},
        {"rise": np.ones(4)},
        {"rise": np.full((1, 4), NAN)},
        {"lower": [HUGE]},
        {"upper": [-HUGE]},
        {"lower": [[0]]},
        {"low": [HUGE]},
        {"low": [0, 1]},
        {"reach": -1},
        {"reach": 10**12},
        {"reach": 1.5},
        {"epsilon": 0.0},
        {"epsilon": NAN},
        {"length": -1},
    ],
)
def test_boxes_refuse(bad):
    with pytest.raises(REFUSALS):
        geometric.boxes(**(BOXES | bad))


@pytest.mark.parametrize(
    ("likelihood", "epsilon", "reach"),
    [
        (np.ones((1, 4)), 1.0, 2),
        (np.ones(9), 1.0, 2),
        (np.ones((1, 1, 9)), 1.0, 2),
        (np.full((1, 9), NAN), 1.0, 2),
        (np.full((1, 9), np.inf), 1.0, 2),
        (-np.ones((1, 9)), 1.0, 2),
        ([["a"] * 9], 1.0, 2),
        (np.ones((1, 9), dtype=complex), 1.0, 2),
        (np.ones((1, 9)), 1.0, -1),
        (np.ones((1, 9)), 1.0, 10**9),
        (np.ones((1, 9)), 1.0, None),
        (np.ones((1, 9)), -1.0, 2),
        (np.ones((1, 9)), np.inf, 2),
        ([[1.0, 2.0], [3.0]], 1.0, 0),
    ],
)
def test_smooth_refuses(likelihood, epsilon, reach):
    with pytest.raises(REFUSALS):
        geometric.smooth(likelihood, epsilon=epsilon, reach=reach)
    assert geometric.smooth(np.ones((0, 9)), epsilon=1.0, reach=2).shape == (0, 5)


ERRORS = (ValueError, TypeError, OverflowError)
Z, PRIOR = (0.1, 5.0, 2.0, 3.0), (0.0, 1.0, 2.0, 1.0)
NUMBERS = [NAN, INF, -INF, None, "x", [], 1j]
FOURS = [
    (),
    (1.0,) * 3,
    (1.0,) * 5,
    np.ones((2, 2)),
    (NAN,) * 4,
    (INF, 1.0, 1.0, 1.0),
    "four",
    None,
    np.array(["a"] * 4),
    [[1.0] * 4],
]
WHOLES = [-1, 2.5, NAN, None, "3", -(2**63), [3], True]


def statistics(**changes):
    call = {"release": Z, "n": 80, "scales": (1.0,) * 4, "grids": (0.0,) * 4, "prior": PRIOR}
    call |= {"start": (0.1, -1.5, 0.0, 0.0, 0.0, 0.0), "uniforms": np.full(64, 0.4), "walk": 0.1 * np.eye(6)}
    call |= {"centre": (0.0, -1.0), "spread": 0.3 * np.eye(2), "draws": 3, "thin": 1, "rng": stream(1, "hostile")}
    return _statistics_sampler.chain(**(call | changes))


def target(**changes):
    call = {"release": Z, "n": 80, "scales": (1.0,) * 4, "grids": (0.0,) * 4, "prior": PRIOR}
    call |= {"start": (0.1, -1.5, 0.0, 0.0, 0.0, 0.0), "uniforms": np.full(64, 0.4)}
    return _statistics_sampler.log_target(**(call | changes))


def gibbs(**changes):
    call = {"release": Z, "n": 12, "a": -1.0, "b": 1.0, "scales": 1.0, "prior": PRIOR, "initial": (0.0, 0.5)}
    call |= {"form": "corrected", "draws": 2, "burn_in": 0, "rng": stream(1, "hostile")}
    return censored_gibbs.statistics_chain(**(call | changes))


def records(**changes):
    call = {"release": Z, "n": 12, "a": -1.0, "b": 1.0, "scales": 1.0, "prior": PRIOR, "initial": (0.0, 0.5)}
    call |= {"records": np.zeros(12), "draws": 2, "burn_in": 0, "rng": stream(1, "hostile")}
    return censored_gibbs.records_chain(**(call | changes))


def problem(**changes):
    return direct_sampler.Problem(
        **({"weight": "gamma", "base": "laplace", "mode": 1.0, "width": 2.0, "power": 3.0} | changes)
    )


def rectangles(**changes):
    call = {"problem": problem(), "lower": -9.0, "upper": 0.0, "count": 5}
    return direct_sampler.small_rectangles(**(call | changes))


U = np.array([-9.0, -4.0, -1.0, 0.0])
P = problem().log_area(U)


def draw(**changes):
    call = {
        "problem": problem(),
        "log_u": U,
        "log_p": P,
        "first": problem().log_whole(),
        "size": 4,
        "rng": stream(1, "hostile"),
    }
    return direct_sampler.draw(**(call | changes))


def envelope(**changes):
    return direct_sampler.envelope(**({"log_u": U, "log_p": P, "first": 0.0} | changes))


def inside_density(**changes):
    return _statistics_sampler.log_inside_density(**({"mean": [0.1], "sse": [20.0], "counts": [80]} | changes))


KNOTS = [
    [],
    [-1.0],
    [NAN] * 4,
    [-INF, -2.0, -1.0, 0.0],
    [0.0, -1.0, -2.0, -3.0],
    [1.0, 2.0, 3.0, 4.0],
    np.zeros((2, 2)),
    None,
    "u",
    U[:3],
]
FALLING = [
    [],
    [0.0],
    [NAN] * 4,
    [-4.0, -3.0, -2.0, -1.0],
    [INF, 0.0, 0.0, 0.0],
    np.zeros((2, 2)),
    None,
    "p",
    P[:3],
    [1j] * 4,
]
SHARED = {"release": FOURS, "prior": [*FOURS, (0.0, -1.0, 1.0, 1.0), (0.0, 1.0, 0.0, 1.0), (0.0, 1.0, 1.0, -1.0)]}
CHAIN = SHARED | {"scales": [0.0, -1.0, NAN, (1.0, 2.0), np.ones((4, 1)), "s", None, (1.0, 1.0, 1.0, 0.0), INF, []]}
TABLE = {
    statistics: CHAIN
    | {
        "n": [0, *WHOLES, 2**62],
        "grids": [*FOURS, (-1.0, 0.0, 0.0, 0.0)],
        "start": [*FOURS, np.full(6, NAN), (9.0, -9.0, 1e5, 0, 0, 0)],
        "uniforms": [
            np.zeros(64),
            np.ones(64),
            np.full(63, 0.5),
            np.full(65, 0.5),
            np.full((8, 8), 0.5),
            np.full(64, NAN),
            None,
            -1.0,
        ],
        "walk": [
            np.eye(5),
            np.zeros((6, 6)),
            np.full((6, 6), NAN),
            -np.eye(6),
            np.ones(36),
            None,
            "w",
            np.eye(6)[:, :5],
        ],
        "centre": [(0.0,), (0.0, NAN), np.zeros((1, 2)), None],
        "spread": [np.eye(3), np.zeros((2, 2)), None, [1.0, 1.0]],
        "draws": WHOLES,
        "thin": [0, *WHOLES],
        "rng": [None, 1, np.random.RandomState(1)],
        "origin": NUMBERS,
    },
    target: CHAIN | {"n": WHOLES, "start": FOURS, "uniforms": [np.zeros(64), np.full(5, 0.5), None], "origin": NUMBERS},
    inside_density: {
        "mean": [[], [NAN], [INF], [0.1, 0.2], [[0.1]], None, "m", [1j], [[]], 0.1],
        "sse": [[], [NAN], [1.0, 2.0], [[1.0]], None, 20.0],
        "counts": [[], [-5], [2], [0], [2.5], [NAN], [80, 80], [[80]], None, "c"],
    },
    gibbs: CHAIN
    | {
        "n": [0, 3, *WHOLES, 10**9],
        "a": [1.0, 2.0, *NUMBERS],
        "b": [-1.0, *NUMBERS],
        "initial": [(), (0.0,), (0.0, 0.0), (NAN, 1.0), (0.0, -1.0)],
        "form": ["best", None, 1, ""],
        "draws": WHOLES,
        "burn_in": WHOLES,
        "rng": [None, 1],
        "release": [*FOURS, (1e300, 0.0, 0.0, 0.0)],
    },
    records: CHAIN
    | {
        "n": [0, 3, 11, 13, *WHOLES],
        "a": [1.0, *NUMBERS],
        "b": [-1.0, *NUMBERS],
        "initial": [(), (0.0, 0.0), (NAN, 1.0)],
        "records": [
            [],
            np.zeros(11),
            np.zeros(13),
            np.full(12, NAN),
            np.zeros((3, 4)),
            None,
            "r",
            np.full(12, INF),
            np.zeros(12) + 1j,
            [[0.0] * 12],
        ],
        "draws": WHOLES,
        "burn_in": WHOLES,
        "rng": [None, 1],
    },
    problem: {
        "weight": ["beta", None, 0, ""],
        "base": ["cauchy", None, "integers"],
        "mode": NUMBERS,
        "width": [0.0, -1.0, *NUMBERS],
        "power": [0.0, -1.0, NAN],
        "scale": [0.0, -2.0, *NUMBERS],
        "tail": [[-1.0], [], "t"],
    },
    rectangles: {
        "problem": [None, 1, "p"],
        "lower": [0.0, 1.0, NAN, -INF, None, "l"],
        "upper": [1.0, NAN, -9.0, -10.0, None],
        "count": [0, *WHOLES, 10**12],
        "midpoint": ["other", None],
    },
    draw: {
        "problem": [None, 1],
        "log_u": KNOTS,
        "log_p": FALLING,
        "first": [NAN, INF, -INF, -50.0],
        "size": WHOLES,
        "rng": [None, 7],
        "limit": [-1, 2**63, None, 1.5],
    },
    envelope: {"log_u": KNOTS, "log_p": FALLING, "first": [NAN, INF, -INF]},
}
CASES = [(call, name, value) for call, names in TABLE.items() for name, values in names.items() for value in values]


@pytest.mark.parametrize(
    ("call", "name", "value"), CASES, ids=[f"{c.__name__}-{n}-{i}" for i, (c, n, _) in enumerate(CASES)]
)
def test_hostile_arguments_are_refused(call, name, value):
    with pytest.raises(ERRORS):
        call(**{name: value})


@pytest.mark.parametrize("value", [*FOURS[1:], NAN, INF, None, "x", 1j])
def test_hostile_log_u(value):
    made = problem()
    for call in (made.log_area, made.interval):
        with pytest.raises(ERRORS):
            call(value if not np.isscalar(value) else [value])


@pytest.mark.parametrize("name", ["mu", "sigma2", "a", "b"])
@pytest.mark.parametrize("value", NUMBERS)
def test_hostile_moments(name, value):
    with pytest.raises(ERRORS):
        censored_gibbs.inside_moments(**({"mu": 0.0, "sigma2": 1.0, "a": -1.0, "b": 1.0} | {name: value}))


def test_offsets_dtypes_and_strides_are_the_same_numbers():
    wide = np.repeat(np.array(Z), 3).astype(np.float32)[::3]
    records_found, _ = records(release=wide, records=np.zeros(36)[::3])
    assert np.allclose(records_found, records(release=np.asarray(wide, float))[0])
    assert np.allclose(
        statistics(uniforms=np.full(128, 0.4)[::2], walk=np.asfortranarray(0.1 * np.eye(6)))[0], statistics()[0]
    )
    assert np.array_equal(draw(log_u=np.repeat(U, 2)[::2], log_p=np.repeat(P, 2)[::2])[0], draw()[0])
    assert np.array_equal(problem().log_area(np.repeat(U, 2)[::2]), P)


def test_an_integer_base_needs_a_table():
    with pytest.raises(ValueError, match="tail must have at least one entry"):
        direct_sampler.Problem(weight="normal", base="integers", mode=1.0, width=1.0, tail=[])


def test_integer_bases_at_the_end_of_their_table():
    made = direct_sampler.Problem(weight="normal", base="integers", mode=50.0, width=1.0, tail=[-0.3, -2.0])
    assert np.isneginf(made.log_area([-1.0])).all()  # nothing of the table reaches the weight
    left, right = made.interval([-1e300])
    assert np.isfinite([left, right]).all()


RNG = stream(1, "hostile additive")


@pytest.mark.parametrize("function", [geometric.probabilities, geometric.cumulative])
@pytest.mark.parametrize(
    ("epsilon", "support"),
    [
        (0.0, 5),
        (-1.0, 5),
        (NAN, 5),
        (INF, 5),
        (None, 5),
        ("1", 5),
        (1.0, -1),
        (1.0, 2.5),
        (1.0, HUGE),
        (1.0, None),
    ],
)
def test_noise_tables_refuse(function, epsilon, support):
    with pytest.raises(REFUSALS):
        function(epsilon, support)


@pytest.mark.parametrize(
    "bad",
    [
        {"size": -1},
        {"size": 2.0},
        {"size": None},
        {"epsilon": 0.0},
        {"epsilon": NAN},
        {"support": -1},
        {"support": HUGE},
        {"support": 1.5},
        {"rng": 7},
        {"rng": None},
        {"least": [0]},
        {"least": [[0, 0]]},
        {"least": [0, 6]},
        {"least": [0, HUGE]},
        {"least": [0.0, 1.0]},
        {"least": np.array([0, 2**63], dtype=np.uint64)},
    ],
)
def test_noise_refuses(bad):
    with pytest.raises(REFUSALS):
        geometric.draw(**({"size": 2, "epsilon": 1.0, "support": 5, "rng": RNG, "least": None} | bad))


def test_noise_takes_any_lower_bound_and_strided_arrays():
    least = np.array([-HUGE, 9, -5, 9, 5, 9])[::2]
    drawn = geometric.draw(3, epsilon=1.0, support=5, rng=RNG, least=least)
    assert (np.abs(drawn) <= 5).all()
    assert drawn[2] == 5


RELEASE = {"counts": [3, 4], "epsilon": 1.0, "support": 5, "algorithms": additive_release.ALGORITHMS} | {
    "ties": "random",
    "size": 2,
    "rng": RNG,
}


@pytest.mark.parametrize(
    "bad",
    [
        {"counts": []},
        {"counts": [-1, 2]},
        {"counts": [[1, 2]]},
        {"counts": [1.5, 2.0]},
        {"counts": [NAN, 1]},
        {"counts": [HUGE, HUGE]},
        {"counts": [10**9]},
        {"counts": np.full(3, 2**63, dtype=np.uint64)},
        {"counts": "12"},
        {"epsilon": 0.0},
        {"epsilon": NAN},
        {"support": -1},
        {"support": 10**9},
        {"support": None},
        {"algorithms": ("4",)},
        {"algorithms": None},
        {"ties": "coin"},
        {"size": -1},
        {"size": 1.0},
        {"rng": 3},
    ],
)
def test_releases_refuse(bad):
    with pytest.raises(REFUSALS):
        additive_release.draw(**(RELEASE | bad))


def test_releases_take_strided_and_narrow_counts_and_nothing():
    wide = np.array([3, 9, 4, 9], dtype=np.int16)[::2]
    given = RELEASE | {"algorithms": ("2", "3"), "ties": "first"}
    ours = additive_release.draw(**(given | {"counts": wide, "rng": stream(2, "same")}))
    assert np.array_equal(ours, additive_release.draw(**(given | {"rng": stream(2, "same")})))
    assert additive_release.draw(**(RELEASE | {"size": 0})).shape == (4, 0, 2)
    assert additive_release.draw(**(RELEASE | {"algorithms": ()})).shape == (0, 2, 2)
    assert additive_release.draw(**(RELEASE | {"counts": [0, 0], "support": 0})).sum() == 0


@pytest.mark.parametrize("size", [-1, 1.0, None, 10**7, NAN])
def test_summed_noise_refuses(size):
    with pytest.raises(REFUSALS):
        additive_release.summed_noise(1.0, 5, size)
    assert additive_release.summed_noise(1.0, 5, 0)[1] == 0


@pytest.mark.parametrize(
    ("totals", "weights", "ties"),
    [
        ([1], [[0, 0]], "first"),
        ([1], [[-1, 2]], "first"),
        ([1], [[10**9, 1]], "first"),
        ([1], [[HUGE, HUGE]], "first"),
        ([1], [1, 2], "first"),
        ([1], [[1.0, 2.0]], "first"),
        ([1], [[NAN, 2.0]], "first"),
        ([1], np.ones((1, 0), dtype=int), "first"),
        ([1], [[[1, 2]]], "first"),
        ([1, 2], [[1, 2]], "first"),
        ([[1]], [[1, 2]], "first"),
        ([-1], [[1, 2]], "first"),
        ([1.0], [[1, 2]], "first"),
        ([10**9], [[1, 2]], "first"),
        ([HUGE], [[1, 2]], "first"),
        ([], [[1, 2]], "first"),
        ([1], [[1, 2]], "coin"),
        ([1], np.full((1, 2), 2**63, dtype=np.uint64), "first"),
    ],
)
def test_modes_refuse(totals, weights, ties):
    with pytest.raises(REFUSALS):
        additive_release.modes(totals, weights, ties=ties, rng=RNG)


def test_modes_take_strided_and_empty_arrays():
    wide = np.array([[3, 9, 1, 9]])[:, ::2]
    assert additive_release.modes([4], wide, ties="first", rng=RNG).tolist() == [[3, 1]]
    assert additive_release.modes([4], np.asfortranarray([[3, 1]]), ties="ieee", rng=RNG).tolist() == [[3, 1]]
    none = np.ones((0, 2), dtype=int)
    assert additive_release.modes(np.ones(0, dtype=int), none, ties="first", rng=RNG).shape == (0, 2)


FACTORS = np.ones((1, 2, 3))


@pytest.mark.parametrize(
    ("factors", "total", "first"),
    [
        (np.ones((2, 2, 3)), [1.0], 0),
        (np.ones((1, 0, 3)), [1.0], 0),
        (np.ones((1, 2, 0)), [1.0], 0),
        (np.ones((2, 3)), [1.0], 0),
        (FACTORS * NAN, [1.0], 0),
        (FACTORS * INF, [1.0], 0),
        (-FACTORS, [1.0], 0),
        (FACTORS * 1e308, [1.0], 0),
        (FACTORS * 1j, [1.0], 0),
        ([[["a"]]], [1.0], 0),
        (FACTORS, [], 0),
        (FACTORS, [[1.0]], 0),
        (FACTORS, [NAN], 0),
        (FACTORS, [-1.0], 0),
        (FACTORS, [INF], 0),
        (FACTORS, [1.0], HUGE),
        (FACTORS, [1.0], -HUGE),
        (FACTORS, [1.0], 0.5),
        (FACTORS, [1.0], None),
    ],
)
def test_chains_refuse(factors, total, first):
    with pytest.raises(REFUSALS):
        _sum_chain.solve(factors, total, first)


@pytest.mark.parametrize(
    ("first", "reachable"), [(-(2**40), False), (-3, False), (5, False), (2**40, False), (4, True)]
)
@pytest.mark.parametrize("states", [1, 3])
def test_chains_answer_for_sums_out_of_reach(first, reachable, states):
    weight, marginals, total, chain = _sum_chain.solve(np.ones((states, 2, 3)), [1.0], first)
    assert (weight > -INF) == reachable
    assert marginals.any() == reachable
    assert total.sum() == reachable
    assert (chain is not None) == reachable


CHAIN_TABLE, BEGIN, LENGTH = _sum_chain.solve(FACTORS, np.ones(5), 0)[3]


@pytest.mark.parametrize(
    "chain",
    [
        None,
        (CHAIN_TABLE, BEGIN),
        [CHAIN_TABLE, BEGIN, LENGTH],
        (CHAIN_TABLE[:2], BEGIN, LENGTH),
        (CHAIN_TABLE[:, :, :0], BEGIN, LENGTH),
        (np.concatenate([CHAIN_TABLE, CHAIN_TABLE], axis=1), BEGIN, LENGTH),
        (CHAIN_TABLE * NAN, BEGIN, LENGTH),
        (CHAIN_TABLE - 2.0, BEGIN, LENGTH),
        (CHAIN_TABLE, BEGIN[:2], LENGTH),
        (CHAIN_TABLE, BEGIN + HUGE, LENGTH),
        (CHAIN_TABLE, BEGIN * 1.0, LENGTH),
        (CHAIN_TABLE, BEGIN, LENGTH + 99),
        (CHAIN_TABLE, BEGIN, LENGTH - 99),
        (CHAIN_TABLE, BEGIN, LENGTH[None]),
    ],
)
def test_draws_from_chains_refuse(chain):
    with pytest.raises(REFUSALS):
        _sum_chain.draw(FACTORS, chain, 3, rng=RNG)


def test_draws_from_chains_refuse_other_factors_and_stay_inside_a_wrong_chain():
    for factors in (np.ones((3, 2, 3)), np.ones((1, 3, 3)), np.ones(3), FACTORS * NAN):
        with pytest.raises(REFUSALS):
            _sum_chain.draw(factors, (CHAIN_TABLE, BEGIN, LENGTH), 3, rng=RNG)
    with pytest.raises(REFUSALS):
        _sum_chain.draw(FACTORS, (CHAIN_TABLE, BEGIN, LENGTH), -1, rng=RNG)
    off = _sum_chain.draw(FACTORS, (CHAIN_TABLE, BEGIN + 2**30, LENGTH), 5, rng=RNG)  # no weight anywhere
    assert ((off >= 0) & (off < 3)).all()
    assert _sum_chain.draw(FACTORS[:, :, ::-1], (CHAIN_TABLE, BEGIN, LENGTH), 5, rng=RNG).max() < 3


NORMAL = {"m": 1.0, "variance": 2.0, "scale": 0.5}
GAMMA = {"z": 1.0, "shape": 2.0, "beta": 1.0, "scale": 0.5}


@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, value) for name in NORMAL for value in (NAN, INF, None, "1", [1.0])]
    + [(name, value) for name in ("variance", "scale") for value in (0.0, -1.0, 1e-300, 1e300)],
)
def test_normal_noise_refuses(name, bad):
    for call in (
        lambda law: laplace_noise.normal_log_total(**law),
        lambda law: laplace_noise.normal_log_cdf([0.0], **law),
        lambda law: laplace_noise.normal_quantile([0.5], **law),
    ):
        with pytest.raises(REFUSALS):
            call(NORMAL | {name: bad})


@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, value) for name in GAMMA for value in (NAN, INF, None, "1")]
    + [(name, value) for name in ("shape", "beta", "scale") for value in (0.0, -1.0, 1e300)]
    + [("shape", 1e13)],
)
def test_gamma_noise_refuses(name, bad):
    for call in (
        lambda law: laplace_noise.gamma_log_psi(**law),
        lambda law: laplace_noise.gamma_log_pdf([0.5], **law),
        lambda law: laplace_noise.gamma_log_cdf([0.5], **law),
        lambda law: laplace_noise.gamma_quantile([0.5], **law),
    ):
        with pytest.raises(REFUSALS):
            call(GAMMA | {name: bad})


@pytest.mark.parametrize("points", [[NAN], [[0.5]], 0.5, ["a"], None, [0.5j], [[1.0], [2.0, 3.0]]])
def test_laws_of_noise_refuse_points(points):
    for call in (
        lambda x: laplace_noise.normal_log_cdf(x, **NORMAL),
        lambda x: laplace_noise.normal_quantile(x, **NORMAL),
        lambda x: laplace_noise.gamma_log_pdf(x, **GAMMA),
        lambda x: laplace_noise.gamma_log_cdf(x, **GAMMA),
        lambda x: laplace_noise.gamma_quantile(x, **GAMMA),
    ):
        with pytest.raises(REFUSALS):
            call(points)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.1, INF])
def test_quantiles_of_noise_refuse(level):
    with pytest.raises(REFUSALS):
        laplace_noise.normal_quantile([level], **NORMAL)
    with pytest.raises(REFUSALS):
        laplace_noise.gamma_quantile([level], **GAMMA)


@pytest.mark.parametrize(
    ("shape", "x"),
    [(0.0, 1.0), (-1.0, 1.0), (NAN, 1.0), (1.0, NAN), (1.0, INF), (1e13, 1.0)],
)
def test_incomplete_gamma_integrals_refuse(shape, x):
    for integral in (laplace_noise.log_lower, laplace_noise.log_upper):
        with pytest.raises(REFUSALS):
            integral(shape, x)


def test_laws_of_noise_take_strided_empty_and_infinite_points():
    wide = np.array([-1.0, 9.0, 0.5, 9.0])[::2]
    ours = laplace_noise.normal_log_cdf(wide, **NORMAL)
    assert np.array_equal(ours, laplace_noise.normal_log_cdf(wide.copy(), **NORMAL))
    assert laplace_noise.gamma_quantile([], **GAMMA).shape == (0,)
    assert laplace_noise.normal_log_cdf([-INF, INF], **NORMAL).tolist() == [
        -INF,
        0.0,
    ]
    assert laplace_noise.gamma_log_cdf([-INF, 0.0], **GAMMA).tolist() == [
        -INF,
        -INF,
    ]
