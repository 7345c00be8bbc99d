"""Hostile arguments at every public function of the kernels for a censored release and of the direct sampler.

Each must raise ValueError, TypeError or OverflowError. Run once against a build with bounds checks.
"""

import numpy as np
import pytest

from dpmultinomial._posteriors.censored import _censored_gibbs, _censored_records, _direct_sampler, _statistics_sampler
from dpmultinomial._seeding import stream

NAN, INF = float("nan"), float("inf")
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
    return _censored_gibbs.statistics_chain(**(call | changes))


def records(**changes):
    call = {"release": Z, "n": 12, "a": -1.0, "b": 1.0, "scales": 1.0, "prior": PRIOR, "initial": (0.0, 0.5)}
    call |= {"records": np.zeros(12), "draws": 2, "burn_in": 0, "rng": stream(1, "hostile")}
    return _censored_records.records_chain(**(call | changes))


def problem(**changes):
    return _direct_sampler.Problem(
        **({"weight": "gamma", "base": "laplace", "mode": 1.0, "width": 2.0, "power": 3.0} | changes)
    )


def rectangles(**changes):
    call = {"problem": problem(), "lower": -9.0, "upper": 0.0, "count": 5}
    return _direct_sampler.small_rectangles(**(call | changes))


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
    return _direct_sampler.draw(**(call | changes))


def envelope(**changes):
    return _direct_sampler.envelope(**({"log_u": U, "log_p": P, "first": 0.0} | changes))


def density(**changes):
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
    density: {
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
        _censored_gibbs.inside_moments(**({"mu": 0.0, "sigma2": 1.0, "a": -1.0, "b": 1.0} | {name: value}))


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
        _direct_sampler.Problem(weight="normal", base="integers", mode=1.0, width=1.0, tail=[])


def test_integer_bases_at_the_end_of_their_table():
    made = _direct_sampler.Problem(weight="normal", base="integers", mode=50.0, width=1.0, tail=[-0.3, -2.0])
    assert np.isneginf(made.log_area([-1.0])).all()  # nothing of the table reaches the weight
    left, right = made.interval([-1e300])
    assert np.isfinite([left, right]).all()
