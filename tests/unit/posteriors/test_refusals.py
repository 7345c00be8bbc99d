"""Tests of shapes, types and values that kernels of posteriors must reject, and of inputs that are just valid."""

from functools import partial

import numpy as np
import pytest
from refusals import REJECTED, cases, rejects

from dpmultinomial._kernels import dirichlet, geometric
from dpmultinomial._mechanisms import additive_release
from dpmultinomial._posteriors.additive import _frequency_products, _sum_chain
from dpmultinomial._posteriors.censored import _statistics_sampler
from dpmultinomial._posteriors.counts import _fixed_sum, _noisy_tables, beta_mixtures, compositions
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018.algorithms import composition_tables
from reproduction.papers.raim2021.algorithms import censored_gibbs, direct_sampler, laplace_noise

NAN, INF, HUGE = np.nan, np.inf, 2**62
UNSIGNED = np.array([0, 2**63], dtype=np.uint64)
RNG = stream(1, "hostile")

# Bad values by kind. A test that needs a kind without some of its values, or with more, says so in its row.
COUNTS, ONES, THIRD = np.array([[2, 0, 0], [1, 1, 0], [0, 2, 0]]), np.ones(3), np.full(3, 1 / 3)
MATRICES = {
    "flat": ONES, "cube": np.ones((2, 2, 2)), "empty": np.ones((0, 3)), "one_row": np.ones((1, 3)),
    "no_columns": np.ones((3, 0)), "nan": np.full((2, 3), NAN), "infinite": np.full((2, 3), INF),
    "forbidden": np.full((2, 3), -INF), "words": np.array([["a", "b"], ["c", "d"]]),
    "objects": np.array([[None, 1], [2, 3]], dtype=object), "complex": np.ones((2, 3)) * 1j,
}  # fmt: skip
VECTORS = {
    "short": np.ones(2), "long": np.ones(9), "matrix": np.ones((3, 1)), "empty": np.ones(0), "zero": np.zeros(3),
    "negative": np.array([1.0, -1.0, 1.0]), "nan": np.array([1.0, NAN, 1.0]), "infinite": np.array([1.0, INF, 1.0]),
    "words": np.array(["a", "b", "c"]), "none": None, "ragged": [[1.0], [1.0, 2.0]],
}  # fmt: skip
TABLES = {
    "flat": np.array([1, 2, 3]), "narrow": COUNTS[:, :2], "wide": np.ones((3, 4), dtype=int), "negative": COUNTS - 1,
    "lowest": np.full((3, 3), -(2**63)), "huge": np.full((3, 3), HUGE), "floats": COUNTS + 0.5,
    "nan": np.full((3, 3), NAN), "unsigned": np.full((3, 3), 2**63, dtype=np.uint64),
    "words": np.array([["a"] * 3] * 3), "none": None,
}  # fmt: skip
INTEGERS = {
    "negative": -1, "half": 1.5, "text": "3", "none": None, "truth": True, "nan": NAN, "infinite": INF,
    "array": np.ones(2), "lowest": -(2**63), "list": [1],
}  # fmt: skip
NUMBERS = [NAN, INF, -INF, None, "x", [], 1j]
FOURS = [(), (1.0,) * 3, (1.0,) * 5, np.ones((2, 2)), (NAN,) * 4, (INF, 1.0, 1.0, 1.0), "four", None,
         np.array(["a"] * 4), [[1.0] * 4]]  # fmt: skip
WHOLES = [-1, 2.5, NAN, None, "3", -(2**63), [3], True]


def without(values, *names):
    return {name: value for name, value in values.items() if name not in names}


# Calls with good arguments: a row of a table replaces one of them.
chain = partial(
    _fixed_sum.table_chain, counts=COUNTS, static=ONES, alpha=ONES, initial=THIRD, draws=3, burn_in=1, rng=RNG
)
convolution = partial(
    _fixed_sum.convolution_chain, static=np.zeros((3, 5)), alpha=ONES, initial=THIRD, reference=THIRD, draws=3,
    burn_in=1, rng=RNG,
)  # fmt: skip
draw_table = partial(_fixed_sum.draw, tables=_fixed_sum.tables(np.zeros((3, 4))), size=2, rng=RNG)
weights = partial(_fixed_sum.row_weights, counts=COUNTS, static=ONES, p=THIRD)
dirichlet_draw = partial(dirichlet.draw, alpha=ONES, counts=COUNTS, rng=RNG)
density = partial(beta_mixtures.log_density, z=[0.0], mine=ONES, theirs=ONES, of_total=np.ones(5), alpha=1.0, beta=1.0)
noisy_tables = partial(
    _noisy_tables.counts_and_rates, noisy=ONES, starts=np.array([0, 3]), totals=np.array([3]), scales=ONES, alphas=ONES
)
noisy_pair = partial(noisy_tables, noisy=ONES[:2], starts=[0, 2], totals=[3], scales=ONES[:2], alphas=ONES[:2])
digits = partial(
    composition_tables.fewest_digits, counts=COUNTS, coefficients=ONES, exact=[1, 2, 1], probabilities=[THIRD]
)
each_product = partial(composition_tables.product_each, counts=COUNTS, probabilities=np.ones((3, 3)))
block_product = partial(composition_tables.product_block, counts=COUNTS, probabilities=ONES)
noise = partial(geometric.draw, size=3, epsilon=1.0, support=5, rng=RNG)
noise_of_two = partial(geometric.draw, size=2, epsilon=1.0, support=5, rng=RNG)
noise_tables = [partial(f, epsilon=1.0, support=5) for f in (geometric.probabilities, geometric.cumulative)]
NOT_POSITIVE = without(VECTORS, "short", "long")

COUNT_ROWS = cases(
    (_fixed_sum.tables, "log_factors", MATRICES),
    (_fixed_sum.tilted, "log_factors", without(MATRICES, "one_row")),
    (partial(_fixed_sum.convolve, a=ONES), "b", [np.ones(2), np.ones((3, 1)), ["a"] * 3, None]),
    (draw_table, "tables", [
        _fixed_sum.Tables(np.ones(factors), np.ones(suffix), 0.0)
        for factors, suffix in (((3, 4), (3, 5)), ((3, 4), (2, 4)), ((1, 4), (1, 4)), ((3, 0), (3, 0)))
    ]),
    (draw_table, "size", INTEGERS),
    (weights, "counts", without(TABLES, "narrow", "wide")),
    (weights, "counts", {"narrow": TABLES["narrow"], "wide": TABLES["wide"]}, "initial must have shape"),
    (weights, "p", VECTORS, "initial must"),
    (chain, "counts", without(TABLES, "narrow", "wide")),
    (chain, "counts", {"narrow": TABLES["narrow"], "wide": TABLES["wide"]}, "alpha must be one number or [24]"),
    (chain, "static", VECTORS | {"zero": -INF * ONES, "negative": np.ones(4)}),
    (chain, "alpha initial", VECTORS),
    (chain, "draws burn_in", INTEGERS),
    (convolution, "static", without(MATRICES, "one_row", "empty")),
    (convolution, "static", {k: MATRICES[k] for k in ("one_row", "empty")}, "static|alpha"),
    (convolution, "alpha reference initial", VECTORS),
    (convolution, "rng", {"seed": 1, "none": None, "legacy": np.random.RandomState(1)}),
    (dirichlet_draw, "counts", without(TABLES, "flat") | {"two": np.array([1, 2])}),
    (dirichlet_draw, "alpha", without(VECTORS, "short", "long", "empty")),
    (dirichlet_draw, "alpha", {k: VECTORS[k] for k in ("short", "long", "empty")}, "counts must have shape"),
    (density, "mine theirs of_total", NOT_POSITIVE),
    (density, "z", {"nan": [NAN], "far": [601.0], "infinite": [INF], "matrix": [[0.0]], "word": ["a"]}),
    (density, "first", {"two": (0, 0), "negative": (0, -1, 0), "half": (0, 0.5, 0), "huge": (HUGE, 0, 0)}),
    (density, "first", [(0, 0, 99)], r"the range of of_total with first = \(0, 0, 99\)"),
    (density, "alpha", [0.0, NAN, "a", None]),
    (density, "tolerance", [0.0, 1.0, NAN]),
    (noisy_tables, "noisy", without(VECTORS, "words", "ragged", "zero", "negative")),
    (noisy_tables, "noisy", [np.ones((3, 3)), np.ones(4)]),
    (noisy_tables, "scales alphas", without(VECTORS, "words", "ragged")),
    (noisy_tables, "noisy scales alphas", [VECTORS["words"], VECTORS["ragged"]], "could not convert|an array element"),
    (noisy_tables, "starts", {
        "short": [0], "late": [1, 3], "negative": [0, -3], "falling": [3, 0], "one": [0, 1], "floats": [0.0, 3.0],
        "matrix": [[0, 3]], "none": None, "empty": np.zeros(0, dtype=np.int64),
    }),
    (noisy_tables, "starts", {"past": [0, 4], "huge": [0, HUGE]}, r"entries \(the last entry of starts\)"),
    (noisy_tables, "totals", {"negative": [-1], "huge": [HUGE], "floats": [3.0], "matrix": [[3]], "none": None}),
    (noisy_tables, "totals", {"two": [3, 3]}, "starts must have 3 entries"),
    (noisy_pair, "starts totals", [np.ones((2, 2)), ["a"], [1.5], None]),
    (noisy_tables, "level", [1.0, 0.0, NAN, "a"]),
    (noisy_tables, "wanted", [np.ones(0, bool), np.ones(1), np.ones(2, bool)]),
    (digits, "counts", TABLES),
    (digits, "coefficients probabilities", VECTORS),
    (digits, "exact", {"short": [1, 2], "long": [1] * 4, "empty": []}),
    (each_product, "counts", TABLES),
    (each_product, "probabilities", MATRICES),
    (block_product, "counts", TABLES),
    (block_product, "probabilities", [np.ones(2), np.ones((3, 1)), VECTORS["nan"]]),
    (compositions.log_factorials, "total", INTEGERS | {"too_many": HUGE}),
    ([compositions.compositions, compositions.log_multinomial_table], "total", INTEGERS),
    (partial(compositions.multinomial_table, 3), "categories", INTEGERS | {"one": 1, "zero": 0}),
    (noise, "size", INTEGERS),
    (noise, "support", INTEGERS | {"huge": HUGE}),
    (noise, "least", {
        "large": [6, 0, 0], "short": [0], "floats": [0.5] * 3, "nan": [NAN] * 3, "matrix": [[0, 0, 0]],
        "huge": [HUGE] * 3,
    }),
    (partial(geometric.cumulative, support=5), "epsilon", [0.0, -1.0, NAN, INF, "a"]),
)  # fmt: skip

SPECTRA = np.fft.rfft(np.ones((3, 8)), axis=1)
SWEEP = {
    "spectra": SPECTRA, "tail": SPECTRA[0], "clear": np.array([[0, 1]]), "got": np.array([[2, -1]]),
    "lost": np.array([[-1, -1]]), "weight": [1.0], "repeats": [1, 1], "length": 8, "early": [0.5], "late": [0.5],
}  # fmt: skip
BOXES = {"lower": [0], "upper": [3], "kind": [0], "low": [0], "width": [4], "rise": np.ones((1, 4))}
BOXES |= {"epsilon": 1.0, "reach": 3, "length": 6}
FACTORS = np.ones((1, 2, 3))
CHAIN_TABLE, BEGIN, LENGTH = _sum_chain.solve(FACTORS, np.ones(5), 0)[3]
CHAIN = (CHAIN_TABLE, BEGIN, LENGTH)

sweep, boxes = partial(_frequency_products.sweep, **SWEEP), partial(geometric.boxes, **BOXES)
smooth = partial(geometric.smooth, likelihood=np.ones((1, 9)), epsilon=1.0, reach=2)
RELEASE = {"counts": [3, 4], "epsilon": 1.0, "support": 5, "algorithms": additive_release.ALGORITHMS}
RELEASE |= {"ties": "random", "size": 2, "rng": RNG}
release = partial(additive_release.draw, **RELEASE)
modes = partial(additive_release.modes, totals=[1], weights=[[1, 2]], ties="first", rng=RNG)
solve = partial(_sum_chain.solve, factors=FACTORS, total_factor=[1.0], first=0)
chain_draw = partial(_sum_chain.draw, factors=FACTORS, chain=CHAIN, size=3, rng=RNG)

ADDITIVE_ROWS = cases(
    (sweep, "clear", [[[0, 3]], [[0, -2]], [[0, -1]], [[0, HUGE]], [[0.0, 1.0]], [0, 1]]),
    (sweep, "got", [[[3, -1]], [[-1, -1]]]),
    (sweep, "got", [None], "got, lost, early and late must be given together"),
    (sweep, "lost", [[[0]], [[-HUGE, 0]]]),
    (sweep, "spectra", [SPECTRA[:, :3], np.full((3, 5), NAN)]),
    (sweep, "spectra", [np.zeros((0, 5))], r"clear must lie in \[-1, -1\]"),
    (sweep, "tail", [SPECTRA[0][:4], np.full(5, INF)]),
    (sweep, "weight", [[NAN], [1.0, 2.0]]),
    (sweep, "repeats", [[0, 1], [1]]),
    (partial(sweep, early=[0.2]), "repeats", [[2, 1]], "early and late must be equal if repeats > 1"),
    (sweep, "length", [9000, 0, -8]),
    (sweep, "early", [["x"]]),
    (sweep, "late", [[INF]]),
    (boxes, "kind", [[1], [-1], [0.5]]),
    (boxes, "kind", [[0, 0]], r"lower must have shape \(2,\)"),
    (boxes, "width", [[7], [-1]]),
    (boxes, "width", [[5]], "rise must have one row per kind"),
    (boxes, "rise", [np.ones((2, 4)), np.ones(4), np.full((1, 4), NAN)]),
    (boxes, "lower", [[HUGE], [[0]]]),
    (boxes, "upper", [[-HUGE]]),
    (boxes, "low", [[HUGE]]),
    (boxes, "low", [[0, 1]], r"width must have shape \(2,\)"),
    (boxes, "reach", [-1, 10**12, 1.5]),
    (boxes, "epsilon", [0.0, NAN]),
    (boxes, "length", [-1]),
    (smooth, "likelihood", [
        np.ones((1, 4)), np.ones(9), np.ones((1, 1, 9)), np.full((1, 9), NAN), np.full((1, 9), INF), -np.ones((1, 9)),
        [["a"] * 9], np.ones((1, 9), dtype=complex),
    ]),
    (partial(smooth, reach=0), "likelihood", [[[1.0, 2.0], [3.0]]]),
    (smooth, "reach", [-1, 10**9, None]),
    (smooth, "epsilon", [-1.0, INF]),
    (noise_tables, "epsilon", [0.0, -1.0, NAN, INF, None, "1"]),
    (noise_tables, "support", [-1, 2.5, HUGE, None]),
    (noise_of_two, "size", [-1, 2.0, None]),
    (noise_of_two, "epsilon", [0.0, NAN]),
    (noise_of_two, "support", [-1, HUGE, 1.5]),
    (noise_of_two, "rng", [7, None]),
    (noise_of_two, "least", [[0], [[0, 0]], [0, 6], [0, HUGE], [0.0, 1.0], UNSIGNED]),
    (release, "counts", [
        [], [-1, 2], [[1, 2]], [1.5, 2.0], [NAN, 1], [HUGE, HUGE], [10**9], np.full(3, 2**63, dtype=np.uint64), "12",
    ]),
    (release, "epsilon", [0.0, NAN]),
    (release, "support", [-1, 10**9, None]),
    (release, "algorithms", [("4",)], "algorithm must be one of"),
    (release, "algorithms", [None], "not iterable", TypeError),
    (release, "ties", ["coin"]),
    (release, "size", [-1, 1.0]),
    (release, "rng", [3]),
    (partial(additive_release.summed_noise, 1.0, 5), "size", [-1, 1.0, None, 10**7, NAN]),
    (modes, "weights", [
        [[0, 0]], [[-1, 2]], [[10**9, 1]], [[HUGE, HUGE]], [1, 2], [[1.0, 2.0]], [[NAN, 2.0]],
        np.ones((1, 0), dtype=int), [[[1, 2]]], np.full((1, 2), 2**63, dtype=np.uint64),
    ]),
    (modes, "totals", [[1, 2], [[1]], [-1], [1.0], [10**9], [HUGE], []]),
    (modes, "ties", ["coin"]),
    (solve, "factors", [
        np.ones((2, 2, 3)), np.ones((1, 0, 3)), np.ones((1, 2, 0)), np.ones((2, 3)), FACTORS * NAN, FACTORS * INF,
        -FACTORS, FACTORS * 1e308, FACTORS * 1j, [[["a"]]],
    ]),
    (solve, "total_factor", [[], [[1.0]], [NAN], [-1.0], [INF]]),
    (solve, "first", [HUGE, -HUGE, 0.5, None]),
    (chain_draw, "chain", [
        None, CHAIN[:2], list(CHAIN), (CHAIN_TABLE[:2], BEGIN, LENGTH), (CHAIN_TABLE[:, :, :0], BEGIN, LENGTH),
        (np.concatenate([CHAIN_TABLE, CHAIN_TABLE], axis=1), BEGIN, LENGTH), (CHAIN_TABLE * NAN, BEGIN, LENGTH),
        (CHAIN_TABLE - 2.0, BEGIN, LENGTH), (CHAIN_TABLE, BEGIN[:2], LENGTH), (CHAIN_TABLE, BEGIN + HUGE, LENGTH),
        (CHAIN_TABLE, BEGIN * 1.0, LENGTH), (CHAIN_TABLE, BEGIN, LENGTH + 99), (CHAIN_TABLE, BEGIN, LENGTH - 99),
        (CHAIN_TABLE, BEGIN, LENGTH[None]),
    ]),
    (chain_draw, "factors", [np.ones((3, 2, 3)), np.ones((1, 3, 3))], r"chain\[0\] must have shape"),
    (chain_draw, "factors", [np.ones(3), FACTORS * NAN]),
    (chain_draw, "size", [-1]),
)  # fmt: skip

Z, PRIOR = (0.1, 5.0, 2.0, 3.0), (0.0, 1.0, 2.0, 1.0)
COMMON = {"release": Z, "scales": (1.0,) * 4, "prior": PRIOR}
START = {"n": 80, "grids": (0.0,) * 4, "start": (0.1, -1.5, 0.0, 0.0, 0.0, 0.0), "uniforms": np.full(64, 0.4)}
GIBBS = {"release": Z, "n": 12, "a": -1.0, "b": 1.0, "scales": 1.0, "prior": PRIOR, "initial": (0.0, 0.5)}
GIBBS |= {"draws": 2, "burn_in": 0, "rng": RNG}
target = partial(_statistics_sampler.log_target, **COMMON, **START)
statistics = partial(
    _statistics_sampler.chain, **COMMON, **START, walk=0.1 * np.eye(6), centre=(0.0, -1.0), spread=0.3 * np.eye(2),
    draws=3, thin=1, rng=RNG,
)  # fmt: skip
inside_density = partial(_statistics_sampler.log_inside_density, mean=[0.1], sse=[20.0], counts=[80])
gibbs = partial(censored_gibbs.statistics_chain, **GIBBS, form="corrected")
records = partial(censored_gibbs.records_chain, **GIBBS, records=np.zeros(12))
moments = partial(censored_gibbs.inside_moments, mu=0.0, sigma2=1.0, a=-1.0, b=1.0)
problem = partial(direct_sampler.Problem, weight="gamma", base="laplace", mode=1.0, width=2.0, power=3.0)
GAMMA_PROBLEM, U = problem(), np.array([-9.0, -4.0, -1.0, 0.0])
P = GAMMA_PROBLEM.log_area(U)
rectangles = partial(direct_sampler.small_rectangles, problem=GAMMA_PROBLEM, lower=-9.0, upper=0.0, count=5)
envelope = partial(direct_sampler.envelope, log_u=U, log_p=P, first=0.0)
direct_draw = partial(
    direct_sampler.draw, problem=GAMMA_PROBLEM, log_u=U, log_p=P, first=GAMMA_PROBLEM.log_whole(), size=4, rng=RNG
)
KNOTS = [[], [-1.0], [NAN] * 4, [-INF, -2.0, -1.0, 0.0], [0.0, -1.0, -2.0, -3.0], [1.0, 2.0, 3.0, 4.0],
         np.zeros((2, 2)), None, "u", U[:3]]  # fmt: skip
FALLING = [[], [0.0], [NAN] * 4, [-4.0, -3.0, -2.0, -1.0], np.zeros((2, 2)), None, "p", P[:3], [1j] * 4]
BAD_UNIFORMS = [np.zeros(64), np.ones(64), np.full(63, 0.5), np.full(65, 0.5), np.full((8, 8), 0.5), np.full(64, NAN),
                None, -1.0]  # fmt: skip
BAD_WALKS = [np.eye(5), np.zeros((6, 6)), np.full((6, 6), NAN), -np.eye(6), np.ones(36), None, "w", np.eye(6)[:, :5]]
BAD_RECORDS = [[], np.zeros(11), np.zeros(13), np.full(12, NAN), np.zeros((3, 4)), None, "r", np.full(12, INF),
               np.zeros(12) + 1j, [[0.0] * 12]]  # fmt: skip
REAL = "must be finite|must be real number"  # Cython converts a `double` before the function can name its argument
CHAINS = [statistics, target, gibbs, records]

CENSORED_ROWS = cases(
    (CHAINS, "release prior", FOURS),
    (CHAINS, "prior", [(0.0, -1.0, 1.0, 1.0), (0.0, 1.0, 0.0, 1.0), (0.0, 1.0, 1.0, -1.0)]),
    (CHAINS, "scales", [0.0, -1.0, NAN, (1.0, 2.0), np.ones((4, 1)), "s", None, (1.0, 1.0, 1.0, 0.0), INF, []]),
    (CHAINS, "n", WHOLES),
    (statistics, "n", [0, HUGE]),
    (statistics, "grids", [*FOURS, (-1.0, 0.0, 0.0, 0.0)]),
    ([statistics, target], "start", FOURS),
    (statistics, "start", [np.full(6, NAN), (9.0, -9.0, 1e5, 0, 0, 0)]),
    (statistics, "uniforms", BAD_UNIFORMS),
    (target, "uniforms", [np.zeros(64), np.full(5, 0.5), None]),
    (statistics, "walk", BAD_WALKS),
    (statistics, "centre", [(0.0,), (0.0, NAN), np.zeros((1, 2)), None]),
    (statistics, "spread", [np.eye(3), np.zeros((2, 2)), None, [1.0, 1.0]]),
    ([statistics, gibbs, records], "draws", WHOLES),
    (statistics, "thin", [0, *WHOLES]),
    (statistics, "rng", [None, 1, np.random.RandomState(1)]),
    ([gibbs, records], "rng", [None, 1]),
    (direct_draw, "rng", [None, 7]),
    ([statistics, target], "origin", NUMBERS),
    (inside_density, "mean", [[], [NAN], [INF], [0.1, 0.2], [[0.1]], None, "m", [1j], [[]], 0.1]),
    (inside_density, "sse", [[], [NAN], [1.0, 2.0], [[1.0]], None, 20.0]),
    (inside_density, "counts", [[], [-5], [2], [0], [2.5], [NAN], [80, 80], [[80]], None, "c"]),
    (gibbs, "release", [(1e300, 0.0, 0.0, 0.0)]),
    (gibbs, "n", [0, 3, 10**9]),
    (records, "n", [0, 3]),
    (records, "n", [11, 13], "records must have n = 1[13] entries"),
    ([gibbs, records], "a", [1.0, *NUMBERS]),
    (gibbs, "a", [2.0]),
    ([gibbs, records], "b", [-1.0, *NUMBERS]),
    ([gibbs, records], "initial", [(), (0.0, 0.0), (NAN, 1.0)]),
    (gibbs, "initial", [(0.0,), (0.0, -1.0)]),
    (gibbs, "form", ["best", None, 1, ""]),
    ([gibbs, records], "burn_in", WHOLES),
    (records, "records", BAD_RECORDS),
    (moments, "mu sigma2 a b", NUMBERS),
    (problem, "weight", ["beta", None, 0, ""]),
    (problem, "base", ["cauchy", None]),
    (problem, "base", ["integers"], "tail must be given if and only if the base is an integer distribution"),
    (problem, "mode", NUMBERS, REAL),
    (problem, "width", [0.0, -1.0, *NUMBERS], REAL),
    (problem, "power", [0.0, -1.0, NAN]),
    (problem, "scale", [0.0, -2.0, *NUMBERS], REAL),
    (problem, "tail", [[-1.0], [], "t"]),
    (partial(problem, weight="normal", base="integers", width=1.0), "tail", [[]], "tail must have at least one entry"),
    ([GAMMA_PROBLEM.log_area, GAMMA_PROBLEM.interval], "log_u", [
        *FOURS[1:], ["four"], [NAN], [INF], [None], ["x"], [1j],
    ]),
    ([rectangles, direct_draw], "problem", [None, 1]),
    (rectangles, "problem", ["p"]),
    (rectangles, "lower", [0.0, 1.0, NAN, -INF]),
    (rectangles, "upper", [1.0, NAN, -9.0, -10.0]),
    (rectangles, "lower upper", [None, "l"], REAL),
    (rectangles, "count", [0, -3, *WHOLES, 10**12, 10**18]),
    (rectangles, "midpoint", ["other", None]),
    ([direct_draw, envelope], "log_u", KNOTS),
    ([direct_draw, envelope], "log_p", FALLING),
    ([direct_draw, envelope], "log_p", [[INF, 0.0, 0.0, 0.0]], r"first must be finite and >= log_p\[0\] \(inf\)"),
    ([direct_draw, envelope], "first", [NAN, INF, -INF]),
    (direct_draw, "first", [-50.0]),
    (direct_draw, "size", WHOLES),
    (direct_draw, "limit", [-1, 2**63, None, 1.5]),
)  # fmt: skip

NORMAL = {"m": 1.0, "variance": 2.0, "scale": 0.5}
GAMMA = {"z": 1.0, "shape": 2.0, "beta": 1.0, "scale": 0.5}
normal_cdf, normal_quantile = (
    partial(laplace_noise.normal_log_cdf, xi=[0.0], **NORMAL), partial(laplace_noise.normal_quantile, q=[0.5], **NORMAL)
)  # fmt: skip
gamma_pdf, gamma_cdf = (
    partial(f, s=[0.5], **GAMMA) for f in (laplace_noise.gamma_log_pdf, laplace_noise.gamma_log_cdf)
)
gamma_quantile = partial(laplace_noise.gamma_quantile, q=[0.5], **GAMMA)
NORMALS = [partial(laplace_noise.normal_log_total, **NORMAL), normal_cdf, normal_quantile]
GAMMAS = [partial(laplace_noise.gamma_log_psi, **GAMMA), gamma_pdf, gamma_cdf, gamma_quantile]
INCOMPLETE = [partial(f, shape=1.0, x=1.0) for f in (laplace_noise.log_lower, laplace_noise.log_upper)]
POINTS = [[NAN], [[0.5]], 0.5, ["a"], None, [0.5j], [[1.0], [2.0, 3.0]]]

LAPLACE_NOISE_ROWS = cases(
    (NORMALS, "m variance scale", [NAN, INF, None, "1", [1.0]]),
    (NORMALS, "variance scale", [0.0, -1.0, 1e-300, 1e300]),
    (GAMMAS, "z shape beta scale", [NAN, INF, None, "1"]),
    (GAMMAS, "shape beta scale", [0.0, -1.0, 1e300]),
    (GAMMAS, "shape", [1e13]),
    (normal_cdf, "xi", POINTS),
    ([gamma_pdf, gamma_cdf], "s", POINTS),
    ([normal_quantile, gamma_quantile], "q", [*POINTS, [0.0], [1.0], [-0.1], [1.1], [INF]]),
    (INCOMPLETE, "shape", [0.0, -1.0, NAN, 1e13]),
    (INCOMPLETE, "x", [NAN, INF]),
)


@pytest.mark.parametrize(REJECTED, COUNT_ROWS + ADDITIVE_ROWS + CENSORED_ROWS + LAPLACE_NOISE_ROWS)
def test_rejects(call, arguments, words, error):
    rejects(call, arguments, words, error)


def test_good_counts_in_any_layout_give_the_same_answer():
    wide = np.zeros((6, 5))[::2]
    assert np.array_equal(_fixed_sum.tables(wide).suffix, _fixed_sum.tables(wide.copy()).suffix)
    for counts in (np.asfortranarray(COUNTS), COUNTS.astype(np.int16)):
        assert np.array_equal(chain(counts=counts, rng=stream(1, "same")), chain(rng=stream(1, "same")))
    assert np.array_equal(noisy_tables(noisy=np.ones(6)[::2])[0], noisy_tables()[0])
    assert np.array_equal(noisy_tables(starts=np.array([0, 3], dtype=np.int32))[0], noisy_tables()[0])
    assert np.array_equal(density(mine=np.ones(6)[::2]), density())
    integers, floats = (
        dirichlet_draw(alpha=alpha, counts=COUNTS[::-1], rng=stream(1, "same")) for alpha in ([1, 1, 1], ONES)
    )
    assert np.array_equal(integers, floats)


def test_good_statistics_in_any_layout_give_the_same_answer():
    wide = np.repeat(np.array(Z), 3).astype(np.float32)[::3]
    narrow, _ = records(release=wide, records=np.zeros(36)[::3], rng=stream(1, "same"))
    assert np.allclose(narrow, records(release=np.asarray(wide, float), rng=stream(1, "same"))[0])
    strided = statistics(
        uniforms=np.full(128, 0.4)[::2], walk=np.asfortranarray(0.1 * np.eye(6)), rng=stream(1, "same")
    )
    assert np.allclose(strided[0], statistics(rng=stream(1, "same"))[0])
    strided = direct_draw(log_u=np.repeat(U, 2)[::2], log_p=np.repeat(P, 2)[::2], rng=stream(1, "same"))
    assert np.array_equal(strided[0], direct_draw(rng=stream(1, "same"))[0])
    assert np.array_equal(problem().log_area(np.repeat(U, 2)[::2]), P)


def test_sweep_takes_strided_and_empty_arrays():
    wide = np.repeat(SPECTRA, 2, axis=1)[:, ::2]
    ours = sweep(spectra=wide, clear=np.array([[0, 9, 1, 9]])[:, ::2])
    assert np.array_equal(ours[1], sweep()[1])
    none = np.zeros((0, 2), dtype=int)
    assert sweep(clear=none, got=none, lost=none, weight=[], early=[], late=[])[0].shape == (0, 2)


def test_noise_takes_any_lower_bound_and_empty_or_strided_arrays():
    least = np.array([-HUGE, 9, -5, 9, 5, 9])[::2]
    drawn = noise(least=least)
    assert (np.abs(drawn) <= 5).all()
    assert drawn[2] == 5
    assert smooth(likelihood=np.ones((0, 9))).shape == (0, 5)
    assert additive_release.summed_noise(1.0, 5, 0)[1] == 0


def test_releases_take_strided_and_narrow_counts_and_nothing():
    wide = np.array([3, 9, 4, 9], dtype=np.int16)[::2]
    ours, given = (
        release(algorithms=("2", "3"), ties="first", counts=counts, rng=stream(2, "same")) for counts in (wide, [3, 4])
    )
    assert np.array_equal(ours, given)
    assert release(size=0).shape == (4, 0, 2)
    assert release(algorithms=()).shape == (0, 2, 2)
    assert release(counts=[0, 0], support=0).sum() == 0


def test_modes_take_strided_and_empty_arrays():
    assert modes(totals=[4], weights=np.array([[3, 9, 1, 9]])[:, ::2]).tolist() == [[3, 1]]
    assert modes(totals=[4], weights=np.asfortranarray([[3, 1]]), ties="ieee").tolist() == [[3, 1]]
    assert modes(totals=np.ones(0, dtype=int), weights=np.ones((0, 2), dtype=int)).shape == (0, 2)


@pytest.mark.parametrize(
    ("first", "reachable"), [(-(2**40), False), (-3, False), (5, False), (2**40, False), (4, True)]
)
@pytest.mark.parametrize("states", [1, 3])
def test_chains_answer_for_sums_out_of_reach(first, reachable, states):
    weight, marginals, total, found = solve(factors=np.ones((states, 2, 3)), first=first)
    assert (weight > -INF) == reachable
    assert marginals.any() == reachable
    assert total.sum() == reachable
    assert (found is not None) == reachable


def test_draws_stay_inside_a_wrong_chain():
    off = chain_draw(chain=(CHAIN_TABLE, BEGIN + 2**30, LENGTH), size=5)  # no weight anywhere
    assert ((off >= 0) & (off < 3)).all()
    assert chain_draw(factors=FACTORS[:, :, ::-1], size=5).max() < 3


def test_integer_bases_at_the_end_of_their_table():
    found = direct_sampler.Problem(weight="normal", base="integers", mode=50.0, width=1.0, tail=[-0.3, -2.0])
    assert np.isneginf(found.log_area([-1.0])).all()  # nothing of the table reaches the weight
    left, right = found.interval([-1e300])
    assert np.isfinite([left, right]).all()


def test_noise_distributions_take_strided_empty_and_infinite_points():
    wide = np.array([-1.0, 9.0, 0.5, 9.0])[::2]
    assert np.array_equal(normal_cdf(xi=wide), normal_cdf(xi=wide.copy()))
    assert gamma_quantile(q=[]).shape == (0,)
    assert normal_cdf(xi=[-INF, INF]).tolist() == [-INF, 0.0]
    assert gamma_cdf(s=[-INF, 0.0]).tolist() == [-INF, -INF]
