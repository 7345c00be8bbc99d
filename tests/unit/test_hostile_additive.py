"""Hostile arguments at the kernels of noisy, additive and coupled counts and of Laplace noise: refused, or right."""

import numpy as np
import pytest

from dpmultinomial._kernels import geometric
from dpmultinomial._mechanisms.additive import additive_release, multinomial_mode
from dpmultinomial._posteriors.additive import _sum_chain
from dpmultinomial._posteriors.censored import _laplace_noise
from dpmultinomial._seeding import stream

REFUSALS = (ValueError, TypeError, OverflowError)
NAN, INF, HUGE = float("nan"), float("inf"), 2**62
RNG = stream(1, "hostile additive")


@pytest.mark.parametrize("function", [geometric.probabilities, geometric.cumulative])
@pytest.mark.parametrize(
    ("epsilon", "support"),
    [(0.0, 5), (-1.0, 5), (NAN, 5), (INF, 5), (None, 5), ("1", 5), (1.0, -1), (1.0, 2.5), (1.0, HUGE), (1.0, None)],
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
        multinomial_mode.modes(totals, weights, ties=ties, rng=RNG)


def test_modes_take_strided_and_empty_arrays():
    wide = np.array([[3, 9, 1, 9]])[:, ::2]
    assert multinomial_mode.modes([4], wide, ties="first", rng=RNG).tolist() == [[3, 1]]
    assert multinomial_mode.modes([4], np.asfortranarray([[3, 1]]), ties="ieee", rng=RNG).tolist() == [[3, 1]]
    none = np.ones((0, 2), dtype=int)
    assert multinomial_mode.modes(np.ones(0, dtype=int), none, ties="first", rng=RNG).shape == (0, 2)


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


TABLE, BEGIN, LENGTH = _sum_chain.solve(FACTORS, np.ones(5), 0)[3]


@pytest.mark.parametrize(
    "chain",
    [
        None,
        (TABLE, BEGIN),
        [TABLE, BEGIN, LENGTH],
        (TABLE[:2], BEGIN, LENGTH),
        (TABLE[:, :, :0], BEGIN, LENGTH),
        (np.concatenate([TABLE, TABLE], axis=1), BEGIN, LENGTH),
        (TABLE * NAN, BEGIN, LENGTH),
        (TABLE - 2.0, BEGIN, LENGTH),
        (TABLE, BEGIN[:2], LENGTH),
        (TABLE, BEGIN + HUGE, LENGTH),
        (TABLE, BEGIN * 1.0, LENGTH),
        (TABLE, BEGIN, LENGTH + 99),
        (TABLE, BEGIN, LENGTH - 99),
        (TABLE, BEGIN, LENGTH[None]),
    ],
)
def test_draws_from_chains_refuse(chain):
    with pytest.raises(REFUSALS):
        _sum_chain.draw(FACTORS, chain, 3, rng=RNG)


def test_draws_from_chains_refuse_other_factors_and_stay_inside_a_wrong_chain():
    for factors in (np.ones((3, 2, 3)), np.ones((1, 3, 3)), np.ones(3), FACTORS * NAN):
        with pytest.raises(REFUSALS):
            _sum_chain.draw(factors, (TABLE, BEGIN, LENGTH), 3, rng=RNG)
    with pytest.raises(REFUSALS):
        _sum_chain.draw(FACTORS, (TABLE, BEGIN, LENGTH), -1, rng=RNG)
    off = _sum_chain.draw(FACTORS, (TABLE, BEGIN + 2**30, LENGTH), 5, rng=RNG)  # no weight anywhere
    assert ((off >= 0) & (off < 3)).all()
    assert _sum_chain.draw(FACTORS[:, :, ::-1], (TABLE, BEGIN, LENGTH), 5, rng=RNG).max() < 3


NORMAL = {"m": 1.0, "variance": 2.0, "scale": 0.5}
GAMMA = {"z": 1.0, "shape": 2.0, "beta": 1.0, "scale": 0.5}


@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, value) for name in NORMAL for value in (NAN, INF, None, "1", [1.0])]
    + [(name, value) for name in ("variance", "scale") for value in (0.0, -1.0, 1e-300, 1e300)],
)
def test_normal_noise_refuses(name, bad):
    for call in (
        lambda law: _laplace_noise.normal_log_total(**law),
        lambda law: _laplace_noise.normal_log_cdf([0.0], **law),
        lambda law: _laplace_noise.normal_quantile([0.5], **law),
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
        lambda law: _laplace_noise.gamma_log_psi(**law),
        lambda law: _laplace_noise.gamma_log_pdf([0.5], **law),
        lambda law: _laplace_noise.gamma_log_cdf([0.5], **law),
        lambda law: _laplace_noise.gamma_quantile([0.5], **law),
    ):
        with pytest.raises(REFUSALS):
            call(GAMMA | {name: bad})


@pytest.mark.parametrize("points", [[NAN], [[0.5]], 0.5, ["a"], None, [0.5j], [[1.0], [2.0, 3.0]]])
def test_laws_of_noise_refuse_points(points):
    for call in (
        lambda x: _laplace_noise.normal_log_cdf(x, **NORMAL),
        lambda x: _laplace_noise.normal_quantile(x, **NORMAL),
        lambda x: _laplace_noise.gamma_log_pdf(x, **GAMMA),
        lambda x: _laplace_noise.gamma_log_cdf(x, **GAMMA),
        lambda x: _laplace_noise.gamma_quantile(x, **GAMMA),
    ):
        with pytest.raises(REFUSALS):
            call(points)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.1, INF])
def test_quantiles_of_noise_refuse(level):
    with pytest.raises(REFUSALS):
        _laplace_noise.normal_quantile([level], **NORMAL)
    with pytest.raises(REFUSALS):
        _laplace_noise.gamma_quantile([level], **GAMMA)


@pytest.mark.parametrize(("shape", "x"), [(0.0, 1.0), (-1.0, 1.0), (NAN, 1.0), (1.0, NAN), (1.0, INF), (1e13, 1.0)])
def test_incomplete_gamma_integrals_refuse(shape, x):
    for integral in (_laplace_noise.log_lower, _laplace_noise.log_upper):
        with pytest.raises(REFUSALS):
            integral(shape, x)


def test_laws_of_noise_take_strided_empty_and_infinite_points():
    wide = np.array([-1.0, 9.0, 0.5, 9.0])[::2]
    ours = _laplace_noise.normal_log_cdf(wide, **NORMAL)
    assert np.array_equal(ours, _laplace_noise.normal_log_cdf(wide.copy(), **NORMAL))
    assert _laplace_noise.gamma_quantile([], **GAMMA).shape == (0,)
    assert _laplace_noise.normal_log_cdf([-INF, INF], **NORMAL).tolist() == [-INF, 0.0]
    assert _laplace_noise.gamma_log_cdf([-INF, 0.0], **GAMMA).tolist() == [-INF, -INF]
