"""Tests of one cell from many queries: published scales, least squares by a dense inverse, bounds by hand."""

from fractions import Fraction
from itertools import product as pairs

import numpy as np
import pytest

from dpmultinomial._measurement_files import levels, products
from dpmultinomial._measurement_files.products import PRODUCTS, Axis, Product, masks
from reproduction import synthetic_census

PEOPLE, UNITS, DHC = PRODUCTS["pl94", "person"], PRODUCTS["pl94", "unit"], PRODUCTS["dhc", "person"]
LEVELS = ("State", "County", "Tract", "Block_Group", "Block")


def test_histograms_have_the_published_shapes():
    assert PEOPLE.shape == (8, 2, 2, 63)
    assert UNITS.shape == (2,)
    assert DHC.shape == (42, 2, 116, 2, 63)
    sizes = {"age_18_64_116": 3, "age_10_groups": 10, "age_38_groups": 38, "age_40_groups": 40}
    assert {name: len(products.AGE.binnings[name]) for name in sizes} == sizes
    sizes = {"relgq_4_groups": 4, "popSehsdTargetsRelship": 19, "relship_and_eight_level_GQ": 25, "gq_constr_groups": 6,
             "gqlevels": 25, "hhgq8lev": 8}  # fmt: skip
    assert {name: len(products.RELGQ.binnings[name]) for name in sizes} == sizes
    for axis, names in ((products.AGE, ("age_10_groups", "age_38_groups", "age_40_groups")), (products.RELGQ, sizes)):
        for name in names:
            every = sorted(level for part in axis.binnings[name] for level in part)
            assert every == list(range(len(axis.levels))), name
    assert products.CENRACE.levels[6] == "white-black"
    assert products.CENRACE.levels[20] == "nhopi-sor"
    assert products.CENRACE.levels[62] == "white-black-aian-asian-nhopi-sor"
    assert int(products.CENRACE.mask("white in combination").sum()) == 32  # subsets of the other five


def test_totals_have_the_published_standard_deviations():
    """Check the 2020 Redistricting release: scales 1.10, 2.17, 2.47, 1.75 and 89.2; 3.18 for a cell of a block."""
    found = [float(synthetic_census.variances("pl94", "person", level)["total"]) ** 0.5 for level in LEVELS]
    assert [f"{sd:.3g}" for sd in found] == ["1.1", "2.17", "2.47", "1.75", "89.2"]
    assert f"{float(synthetic_census.variances('pl94', 'person', 'Block')['detailed']) ** 0.5:.3g}" == "3.18"
    assert "total" not in synthetic_census.variances("pl94", "person", "US")


@pytest.mark.parametrize(("table", "rho"), [("person", 2.56), ("unit", 0.07)])
def test_privacy_loss_adds_up_to_what_was_published(table, rho):
    """Check sums of 1/sigma^2 over all levels and queries: 2.56 and 0.07 of zCDP, printed to two digits."""
    every = [v for level in ("US", *LEVELS) for v in synthetic_census.variances("pl94", table, level).values()]
    total = sum(1 / v for v in every)
    assert total == 1 / synthetic_census.GLOBAL["pl94", table] ** 2  # shares add up to 1, exactly
    assert round(float(total), 2) == rho


@pytest.mark.parametrize(
    ("axis", "name", "cells"),
    [
        (products.HHGQ, "household", [0]), (products.HHGQ, "institutional", [1, 2, 3, 4]),
        (products.HHGQ, "noninstitutional", [5, 6, 7]), (products.HHGQ, "group quarters", list(range(1, 8))),
        (products.HHGQ, "nursing", [3]), (products.HHGQ, "military", [6]),
        (products.RELGQ, "household", list(range(18))), (products.RELGQ, "householder", [0, 1]),
        (products.RELGQ, "group quarters", list(range(18, 42))), (products.RELGQ, "institutional", list(range(18, 33))),
        (products.RELGQ, "noninstitutional", list(range(33, 42))), (products.RELGQ, "GQ 501", [33]),
        (products.AGE, "0-17", list(range(18))), (products.AGE, "18-64", list(range(18, 65))),
        (products.AGE, "65+", list(range(65, 116))), (products.AGE, "voting", list(range(18, 116))),
    ],
)  # fmt: skip
def test_named_groups_are_complete(axis, name, cells):
    """Check the groups of cells that a user can name. Codes of institutional quarters begin with 1 to 4."""
    assert np.flatnonzero(axis.mask(name)).tolist() == cells


def test_other_products_have_no_scales_here():
    with pytest.raises(ValueError, match="dhc person are not known"):
        synthetic_census.variances("dhc", "person", "State")


def toy(*sizes):
    made = [Axis(f"x{i}", tuple(f"{i}{k}" for k in range(size)), {}, {}) for i, size in enumerate(sizes)]
    return Product("toy", "toy", "TOY", tuple(made), ("State",))


@pytest.mark.parametrize("seed", range(8))
def test_weights_are_those_of_least_squares_over_the_whole_histogram(seed):
    """Check that, by symmetry, nothing is lost if every query separates all levels of an axis or sums over them."""
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(2, 4, 3).tolist())
    histogram = toy(*sizes)
    cell = {"x0": "00", "x1": ["10", "11"]} if seed % 2 else {"x0": ["00"], "x2": "20"}
    wanted = masks(histogram, cell)
    every = [tuple(axis.name if use else "*" for axis, use in zip(histogram.axes, which, strict=True))
             for which in pairs((0, 1), repeat=3)]  # fmt: skip
    queries = [every[i] for i in sorted({7, *rng.choice(7, 3, replace=False).tolist()})]
    variances = rng.uniform(0.5, 20, len(queries))
    truth = rng.integers(0, 30, sizes).astype(float)
    rows, noisy, v = [], [], []
    for specs, variance in zip(queries, variances, strict=True):
        own = [np.arange(n) * (s != "*") for n, s in zip(sizes, specs, strict=True)]
        where = np.meshgrid(*own,
                            indexing="ij")  # fmt: skip
        shape = [n if s != "*" else 1 for n, s in zip(sizes, specs, strict=True)]
        place = np.ravel_multi_index(where, shape).ravel()
        matrix = (place[None] == np.arange(np.prod(shape))[:, None]).astype(float)
        rows.append(matrix)
        noisy.append(matrix @ truth.ravel() + rng.normal(0, variance**0.5, len(matrix)))
        v += [variance] * len(matrix)
    a, y = np.vstack(rows), np.concatenate(noisy)
    covariance = np.linalg.inv(a.T @ (a / np.array(v)[:, None]))
    estimate = covariance @ a.T @ (y / np.array(v))
    inside = np.multiply.outer(np.multiply.outer(wanted[0], wanted[1]), wanted[2]).ravel().astype(float)
    parts = [levels.sums(histogram, specs, wanted) for specs in queries]
    found = levels.combine(parts, variances.tolist())
    got = sum(float(part.added(y_[None])[0] @ w) for part, y_, w in zip(parts, noisy, found.weights, strict=True))
    assert found.variance == pytest.approx(inside @ covariance @ inside, rel=1e-10)
    assert got == pytest.approx(inside @ estimate, rel=1e-10, abs=1e-8)
    assert not found.alone


def test_an_exact_total_halves_the_variance_of_one_of_two():
    """Check vacant v and occupied o with variance s each, v + o = T: (v + T - o)/2 with variance s/2."""
    wanted = masks(UNITS, {"h1": "vacant"})
    parts = [levels.sums(UNITS, ("detailed",), wanted), levels.sums(UNITS, ("*",), wanted)]
    found = levels.combine(parts, [8.0, 0.0])
    assert found.variance == pytest.approx(4.0)
    assert sum(p.added(y)[0] @ w for p, y, w in zip(parts, [np.array([[3.0, 10.0]]), np.array([[11.0]])], found.weights,
                                                    strict=True)) == pytest.approx((3 + 11 - 10) / 2)  # fmt: skip
    whole = masks(UNITS, {})
    parts = [levels.sums(UNITS, (spec,), whole) for spec in ("detailed", "*")]
    found = levels.combine(parts, [8.0, 0.0])
    assert found.variance == 0
    assert found.alone


def test_what_stands_alone_keeps_its_law_and_what_is_not_measured_has_none():
    wanted = masks(PEOPLE, {"hispanic": "hispanic"})
    own = levels.sums(PEOPLE, ("*", "*", "hispanic", "*"), wanted)
    assert levels.combine([own], [5.0]).alone
    assert levels.combine([own], [5.0]).error == 0
    both = levels.sums(PEOPLE, ("*", "votingage", "hispanic", "*"), wanted)
    assert levels.combine([both], [5.0]).variance == pytest.approx(10.0)
    assert not levels.combine([both], [5.0]).alone
    total = levels.sums(PEOPLE, ("*",) * 4, wanted)
    assert levels.combine([total], [5.0]).variance == np.inf
    assert levels.combine([own], [np.inf]).variance == np.inf
    assert levels.combine([], []).variance == np.inf
    assert levels.sums(PEOPLE, ("gqNursingTotal", "nonvoting", "*", "*"), wanted) is None
    assert levels.sums(PEOPLE, ("no such binning", "*", "*", "*"), wanted) is None


def test_a_binning_that_cuts_across_a_cell_counts_only_as_a_sum():
    wanted = masks(PEOPLE, {"hhgq": "nursing"})
    part = levels.sums(PEOPLE, ("hhinstlevels", "*", "*", "*"), wanted)
    assert part.cells.tolist() == [3]
    assert part.knows.tolist() == [[1, 1]]
    inside = levels.sums(PEOPLE, ("hhinstlevels", "*", "*", "*"), masks(PEOPLE, {"hhgq": "institutional"}))
    assert inside.place.tolist() == [0, 1, 0]
    assert inside.knows.tolist() == [[1, 0], [0, 1]]


def test_queries_that_make_no_difference_are_left_out():
    wanted = masks(PEOPLE, {})
    parts = [levels.sums(PEOPLE, PEOPLE.specs(name), wanted) for name in synthetic_census.QUERIES]

    def at(level):
        variances = synthetic_census.variances("pl94", "person", level)
        chosen = levels.worth_reading(parts, [float(variances[query]) for query in synthetic_census.QUERIES])
        return [synthetic_census.QUERIES[i] for i in chosen]

    assert at("County") == ["total"]
    assert {"total", "detailed"} <= set(at("Block"))
    assert levels.worth_reading(parts, [np.inf] * len(parts)) == []


@pytest.mark.parametrize(("sigma2", "k"), [(0.5, 2), (0.5, 3), (0.7, 2)])
def test_the_stated_error_of_a_sum_bounds_its_distance_from_a_gaussian(sigma2, k):
    n = np.arange(-60, 61)
    one = np.exp(-(n**2) / (2 * sigma2))
    one /= one.sum()
    law = one
    for _ in range(k - 1):
        law = np.convolve(law, one, mode="same")
    gaussian = np.exp(-(n**2) / (2 * k * sigma2))
    distance = 0.5 * np.abs(law - gaussian / gaussian.sum()).sum()
    wanted = masks(PEOPLE, {"hispanic": "hispanic"})
    part = levels.Sums(np.repeat([0, 1], k), np.array([k, k]), np.eye(2))
    stated = levels.combine([part], [sigma2]).error
    assert 0 < distance <= stated
    assert wanted[2].tolist() == [False, True]


def test_the_stated_error_of_a_combination_bounds_its_distance_from_enumeration():
    """Check a cell and the rest, both measured, and their sum: the rest is summed over integers."""
    s1, s2 = 0.6, 0.3
    x, z = np.arange(-40, 41), np.arange(-60, 61)
    log = (
        -((x[:, None] - 2) ** 2) / (2 * s1) - (z[None] - 1) ** 2 / (2 * s1) - (x[:, None] + z[None] - 4) ** 2 / (2 * s2)
    )
    law = np.exp(log).sum(axis=1)
    wanted = masks(PEOPLE, {"hispanic": "hispanic"})
    parts = [levels.sums(PEOPLE, ("*", "*", "hispanic", "*"), wanted), levels.sums(PEOPLE, ("*",) * 4, wanted)]
    found = levels.combine(parts, [s1, s2])
    estimate = found.weights[0] @ [1, 2] + found.weights[1] @ [4]
    gaussian = np.exp(-((x - estimate) ** 2) / (2 * found.variance))
    distance = 0.5 * np.abs(law / law.sum() - gaussian / gaussian.sum()).sum()
    assert 1e-4 < distance <= found.error < 1


@pytest.mark.parametrize(
    ("cell", "specs", "sign", "lower", "upper"),
    [
        ({"hhgq": "nursing"}, ("hhgq", "*", "*", "*"), ">=", 4, None),
        ({"hhgq": "nursing"}, ("hhgq", "*", "*", "*"), "<=", None, 4),
        ({"hhgq": "nursing", "hispanic": "hispanic"}, ("hhgq", "*", "*", "*"), ">=", None, None),
        ({"hhgq": "nursing", "hispanic": "hispanic"}, ("hhgq", "*", "*", "*"), "<=", None, 4),
        ({"hhgq": ["juvenile", "nursing"]}, ("hhgq", "*", "*", "*"), "<=", None, 7),
        ({}, ("hhgq", "*", "*", "*"), ">=", 36, None),
        ({"hhgq": "nursing", "votingage": "nonvoting"}, ("gqNursingTotal", "nonvoting", "*", "*"), "=", 1, 1),
        ({"hhgq": "nursing"}, ("gqNursingTotal", "nonvoting", "*", "*"), "=", 1, None),
        ({}, ("*", "*", "*", "*"), "=", 1, 1),
        ({"hispanic": "hispanic"}, ("*", "*", "*", "*"), "=", None, 1),
        ({"hispanic": "hispanic"}, ("nothing known", "*", "*", "*"), "=", None, None),
    ],
)
def test_bounds_by_hand(cell, specs, sign, lower, upper):
    values = np.arange(1.0, 9.0)  # household 1, correctional 2, juvenile 3, nursing 4, ..
    found = levels.bound(PEOPLE, specs, sign, masks(PEOPLE, cell))
    for weights, expected in ((found.lower, lower), (found.upper, upper)):
        assert (None if weights is None else values[: len(weights)] @ weights) == expected


def test_ages_that_a_relation_never_has_are_an_upper_bound_of_nothing():
    cell = {"relgq": "householder alone", "age": [str(year) for year in range(10)]}
    found = levels.bound(DHC, ("relgq0", "*", "age_lessthan15", "*", "*"), "=", masks(DHC, cell))
    assert found.upper.tolist() == [1.0]
    older = levels.bound(DHC, ("relgq0", "*", "age_lessthan15", "*", "*"), "=", masks(DHC, {**cell, "age": "40"}))
    assert older.upper is None or older.upper.tolist() == [0.0]


@pytest.mark.parametrize(
    ("product", "cell", "message"),
    [
        (PEOPLE, {"sex": "male"}, "'sex' is not an axis of pl94 person but of dhc person. The available axes are hhgq"),
        (PEOPLE, {"income": "high"}, "The available axes are hhgq, votingage"),
        (
            PEOPLE,
            {"hispanic": "latino"},
            "hispanic: the level 'latino' is not known: choose from not hispanic, hispanic",
        ),
        (PEOPLE, {"hispanic": []}, "at least one level must be given"),
    ],
)
def test_a_cell_that_a_product_lacks_is_refused(product, cell, message):
    with pytest.raises(ValueError, match=message):
        masks(product, cell)


@pytest.mark.parametrize(("size", "choices"), [(9, ""), (10, ", j"), (11, ", j, .."), (12, ", j, ..")])
def test_an_unknown_level_lists_the_first_ten_levels(size, choices):
    axis = Axis("letters", tuple("abcdefghijkl"[:size]), {}, {"vowels": (0, 4, 8)})
    with pytest.raises(ValueError, match="is not known") as error:
        axis.mask("z")
    assert str(error.value).endswith(f"choose from a, b, c, d, e, f, g, h, i{choices}, vowels")


def test_queries_have_names():
    assert PEOPLE.name(("*", "votingage", "hispanic", "*")) == "votingage*hispanic"
    for name in synthetic_census.QUERIES:
        assert PEOPLE.name(PEOPLE.specs(name)) == name
    assert synthetic_census.variances("pl94", "unit", "Block")["detailed"] == Fraction(12343, 3379) ** 2 / Fraction(
        495, 4100
    )
    with pytest.raises(ValueError, match="must contain only binnings of pl94 person, got salary"):
        PEOPLE.specs("votingage*salary")
