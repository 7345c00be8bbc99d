"""Tests of one cell from many queries: published scales, least squares by a dense inverse, bounds by hand."""

import re
from fractions import Fraction
from itertools import pairwise
from itertools import product as pairs

import numpy as np
import pyarrow as pa
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


# the names of states in alphabetical order have the numbers 1, 2, .. of FIPS 5-2, which skips five numbers
ALPHABETICAL = (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR "
    "PA RI SC SD TN TX UT VT VA WA WV WI WY"
)


def test_states_have_the_numbers_of_the_fips_standard():
    numbers = [number for number in range(1, 57) if number not in (3, 7, 14, 43, 52)]
    assert {**dict(zip(ALPHABETICAL.split(" "), numbers, strict=True)), "PR": 72} == products.STATES
    assert (products.state_number("vt"), products.state_number(" 50 ")) == (50, 50)


def test_a_geoid_has_the_digits_of_its_parts():
    """State 2, county 3, tract 6, block 4; the first digit of a block is that of its block group."""
    digits = {"State": 2, "County": 2 + 3, "Tract": 2 + 3 + 6, "Block_Group": 2 + 3 + 6 + 1, "Block": 2 + 3 + 6 + 4}
    assert digits == products.GEOID_DIGITS


def test_types_of_quarters_are_grouped_by_their_codes():
    """The first digit of a code is the major type; 7 to 9 are other noninstitutional quarters."""
    names, axis = products.RELGQ.levels, products.RELGQ.binnings
    assert len(set(names)) == len(names) == 42
    kinds = [min(int(name[3]), 7) if name.startswith("GQ ") else 0 for name in names]
    major = tuple(tuple(i for i, kind in enumerate(kinds) if kind == wanted) for wanted in range(8))
    assert axis["hhgq8lev"] == major
    single = tuple((i,) for i in major[0])
    assert axis["relship_and_eight_level_GQ"] == single + major[1:]
    assert axis["popSehsdTargetsRelship"] == (*single, tuple(range(18, 42)))
    assert axis["gqlevels"] == (major[0], *((i,) for i in range(18, 42)))
    inst, other = (sum(major[a:b], ()) for a, b in ((1, 5), (5, 8)))
    assert axis["relgq_4_groups"] == ((0, 1), major[0][2:], inst, other)
    assert {name: axis[name] for name in axis if name[5:].isdigit()} == {f"relgq{i}": ((i,),) for i in range(42)}


def test_constraint_groups_of_quarters_have_the_published_codes():
    """405; prisons 101 to 105; college, camps, ships and others; military 106, 404, 601, 602; juvenile and the rest."""
    names = products.RELGQ.levels
    found = [[names[i] for i in part] for part in products.RELGQ.binnings["gq_constr_groups"]]
    codes = ("405", "101 102 103 104 105", "501 801 802 900 901 997", "106 404 601 602",
             "201 202 203 301 401 402 403 701")  # fmt: skip
    assert found == [list(names[:18]), *([f"GQ {code}" for code in part.split()] for part in codes)]


def test_bins_of_ages_begin_at_the_published_ages():
    """Bins of five years from 20 to 110, divided at 18, 62 and 67; single years below 16 or 18."""
    older = sorted({18, 62, 67, *range(20, 111, 5)})
    starts = {
        "age_18_64_116": [0, 18, 65],
        "age_10_groups": [0, 3, 15, 16, 17, 18, 20, 25, 30, 35],
        "age_38_groups": [*range(16), *older],
        "age_40_groups": [*range(18), *older],
        "votingage": [0, 18],
    }
    assert products.AGE.levels == tuple(map(str, range(116)))
    for name, first in starts.items():
        wanted = tuple(tuple(range(a, b)) for a, b in pairwise([*first, 116]))
        assert products.AGE.binnings[name] == wanted, name


def test_names_of_impossible_ages_state_their_limits():
    """For example, age_lt16_gt75 has one bin: the ages below 16 and above 75."""
    others = {name for name in products.AGE.binnings if re.search("lt|gt|than", name)}
    assert len(others) == 13
    for name in others:
        below = re.search(r"(?:lt|lessthan)(\d+)", name)
        above = re.search(r"(?:gt|greaterthan)(\d+)", name)
        ages = [y for y in range(116) if (below and y < int(below[1])) or (above and y > int(above[1]))]
        assert products.AGE.binnings[name] == (tuple(ages),), name


def test_races_alone_come_first_and_groups_follow_from_their_names():
    levels, groups = products.CENRACE.levels, products.CENRACE.groups
    assert levels[:6] == ("white", "black", "aian", "asian", "nhopi", "sor")
    assert groups["two or more races"] == tuple(i for i, name in enumerate(levels) if "-" in name)
    assert len(set(levels)) == 2**6 - 1
    assert set(groups) == {"two or more races", *(f"{race} in combination" for race in levels[:6])}


def test_binnings_of_the_redistricting_file():
    quarters = products.HHGQ.levels
    assert [[quarters[i] for i in part] for part in products.HHGQ.binnings["hhinstlevels"]] == [
        ["household"], ["correctional", "juvenile", "nursing", "other institutional"],
        ["college", "military", "other noninstitutional"],
    ]  # fmt: skip
    assert [quarters[i] for part in products.HHGQ.binnings["gqNursingTotal"] for i in part] == ["nursing"]
    for name in ("nonvoting", "voting"):
        (part,) = products.VOTINGAGE.binnings[name]
        assert [products.VOTINGAGE.levels[i] for i in part] == [name]
    every = products.VOTINGAGE.all_binnings
    assert (every["*"], every["detailed"], every["votingage"]) == (((0, 1),), ((0,), (1,)), ((0,), (1,)))


@pytest.mark.parametrize(("text", "shown"), [("60", "60"), ("XX", "XX"), ("5 0", "5 0"), ("²", "²"), ("03", "03")])
def test_a_state_that_does_not_exist_is_rejected(text, shown):
    with pytest.raises(ValueError, match=f"two digits of the FIPS code, got '{shown}'"):
        products.state_number(text)


@pytest.mark.parametrize(("number", "found"), [("050", True), ("150", True), ("50", True), ("250", False)])
def test_a_folder_of_a_state_has_its_number_and_a_branch(tmp_path, number, found):
    """The branches are 0 and 1; a code of 200 or more is not a state."""
    (tmp_path / "State.parquet" / "DPQuery" / f"State={number}").mkdir(parents=True)
    if found:
        assert list(products.levels_there(tmp_path, PEOPLE, 50)) == ["State"]
    else:
        with pytest.raises(ValueError, match=f"no files for the state 50. The folder contains State={number}$"):
            products.levels_there(tmp_path, PEOPLE, 50)


def test_other_states_are_listed_up_to_twenty(tmp_path):
    for number in range(1, 23):
        (tmp_path / "State.parquet" / "DPQuery" / f"State={number:03}").mkdir(parents=True)
    listed = ", ".join(f"State={number:03}" for number in range(1, 21))
    with pytest.raises(ValueError, match=f"The folder contains {listed}$"):
        products.levels_there(tmp_path, PEOPLE, 50)


@pytest.mark.parametrize(("state", "name"), [(50, "US_Person_PL_PROD"), (72, "PR_Person_PL_PROD")])
def test_the_folder_of_a_product_may_be_named_itself_or_its_parent(tmp_path, state, name):
    (tmp_path / name).mkdir()
    assert products.data_folder(tmp_path, PEOPLE, state) == tmp_path / name
    assert products.data_folder(tmp_path / name, PEOPLE, state) == tmp_path / name
    with pytest.raises(ValueError, match=f"US_Unit_PL_PROD, the folder of pl94 unit. The folder contains {name}$"):
        products.data_folder(tmp_path, UNITS, 50)
    with pytest.raises(ValueError, match=r"The folder contains no noisy measurements$"):
        products.data_folder(tmp_path / "nothing", UNITS, 50)


def test_an_axis_of_another_product_is_named_with_that_product():
    products_of = {"sex": "dhc person", "age": "dhc person", "relgq": "dhc person", "hhgq": "pl94 person",
                   "votingage": "pl94 person", "h1": "pl94 unit"}  # fmt: skip
    for axis, other in products_of.items():
        histogram = next(p for p in (PEOPLE, UNITS, DHC) if axis not in [a.name for a in p.axes])
        with pytest.raises(ValueError, match=f"'{axis}' is not an axis of .* but of {other}. The available axes"):
            masks(histogram, {axis: "x"})
    with pytest.raises(ValueError, match="but of pl94 person and dhc person"):
        masks(UNITS, {"cenrace": "white"})
    with pytest.raises(ValueError, match="but of pl94 person and dhc person"):
        masks(UNITS, {"hispanic": "hispanic"})


def test_a_group_and_levels_are_selected_together():
    assert np.flatnonzero(products.HHGQ.mask(["household", "noninstitutional"])).tolist() == [0, 5, 6, 7]
    assert [m.sum() for m in masks(PEOPLE, {"hhgq": ("nursing",)})] == [1, 2, 2, 63]


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
    assert total == 1 / synthetic_census.GLOBAL["pl94", table] ** 2  # shares sum to 1, exactly
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
    for parts, variances in (([total], [5.0]), ([own], [np.inf])):
        nothing = levels.combine(parts, variances)
        assert (nothing.alone, nothing.error) == (False, 0.0)
        assert [len(w) for w in nothing.weights] == [len(part.cells) for part in parts]
        assert not np.concatenate(nothing.weights).any()
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


@pytest.mark.parametrize(("ratio", "kept"), [(0.0205, [0, 1]), (0.0200, [1])])
def test_a_query_that_changes_the_standard_deviation_by_less_than_a_hundredth_is_not_read(ratio, kept):
    """Two measurements of the total with variances 1 and 1/ratio: without the second, the variance is 1 + ratio times
    as large, and 1.01^2 = 1.0201. The exact query is always kept.
    """
    whole = levels.Sums(np.zeros(2, dtype=np.int64), np.array([1]), np.ones((1, 1)))
    small = levels.Sums(np.zeros(1, dtype=np.int64), np.array([1]), np.ones((1, 1)))
    assert levels.worth_reading([whole, small], [1 / ratio, 1.0]) == kept
    assert levels.worth_reading([whole, small], [1.0, 0.0]) == [1]
    assert levels.worth_reading([whole, small], [np.inf, 2.0]) == [1]


def test_the_error_of_a_sum_of_noise_terms_by_hand():
    """Two terms with variance 0.6 each: 40 sqrt(1.2) 2 exp(-pi^2 0.6); a single term has no error."""
    one, two = np.zeros((1, 0)), np.array([2])
    expected = 40 * np.sqrt(1.2) * 2 * np.exp(-(np.pi**2) * 0.6)
    assert levels._error(one, np.array([1.2]), two, np.array([0.6])) == pytest.approx(expected)
    assert levels._error(one, np.array([0.6]), np.array([1]), np.array([0.6])) == 0
    assert levels._error(one, np.array([0.2]), two, np.array([0.1])) == 1.0  # a probability
    # another class, measured with variance 0.4: (1 + 2 exp(-2 pi^2 0.4)) - 1
    other = levels._error(np.ones((1, 1)), np.array([0.4]), np.array([1]), np.array([0.4]))
    assert other == pytest.approx(2 * np.exp(-2 * np.pi**2 * 0.4))
    both = levels._error(np.eye(2), np.array([0.4, 9.0]), np.ones(2), np.array([0.4, 9.0]))
    assert both == pytest.approx((1 + 2 * np.exp(-2 * np.pi**2 * 0.4)) ** 2 - 1)
    assert levels._error(np.zeros((1, 1)), np.array([0.4]), np.array([1]), np.array([0.4])) == 0
    exact = levels._error(np.ones((2, 1)), np.array([0.0, 0.4]), np.ones(2), np.array([0.0, 0.4]))
    assert exact == pytest.approx(other)  # an exact query has no noise


@pytest.mark.parametrize(
    ("cell", "specs", "sign", "lower", "upper"),
    [
        ({"hhgq": "nursing"}, ("hhgq", "*", "*", "*"), "=", 36 - 4, 36 - 4),
        ({"hhgq": "nursing"}, ("hhgq", "*", "*", "*"), ">=", 36 - 4, None),
        ({"hhgq": "nursing"}, ("hhgq", "*", "*", "*"), "<=", None, 36 - 4),
        ({"hhgq": ["juvenile", "nursing"]}, ("hhgq", "*", "*", "*"), "=", 36 - 7, 36 - 7),
        ({"hhgq": "nursing", "hispanic": "hispanic"}, ("hhgq", "*", "*", "*"), "=", 36 - 4, 36),
        ({}, ("hhgq", "*", "*", "*"), "=", None, 0),
        ({"hhgq": "nursing"}, ("gqNursingTotal", "*", "*", "*"), "=", None, None),
        ({"hhgq": "juvenile"}, ("gqNursingTotal", "*", "*", "*"), "=", 1, None),
        ({"hispanic": "hispanic"}, ("*", "*", "*", "*"), "=", None, 1),
        ({"hispanic": "hispanic"}, ("nothing known", "*", "*", "*"), "=", None, None),
    ],
)
def test_bounds_of_the_rest_by_hand(cell, specs, sign, lower, upper):
    """The constraint has the values 1, 2, .. for household, correctional, juvenile, nursing, ..; their sum is 36."""
    values = np.arange(1.0, 9.0)
    found = levels.bound_of_rest(PEOPLE, specs, sign, masks(PEOPLE, cell))
    for weights, expected in ((found.lower, lower), (found.upper, upper)):
        assert (None if weights is None else values[: len(weights)] @ weights) == expected


def test_the_total_is_one_number_that_contains_every_class():
    total = levels._total(4)
    assert (total.place.tolist(), total.cells.tolist(), total.knows.tolist()) == ([0], [1], [[1, 1, 1, 1]])
    assert levels.Target(()).coefficients(3).tolist() == [0, 0, 1]
    assert levels.Target((), rest=True).coefficients(3).tolist() == [1, 1, 0]
    design = np.array([[1.0, 2, 3, 4]])
    assert levels.Target(()).nuisance(design).tolist() == [[1, 2, 3]]
    assert levels.Target((), given_total=True).nuisance(design).tolist() == [[1, 2]]


def test_codes_are_sorted_and_found_and_duplicates_are_named():
    parts = [pa.array(["b", "d"]), pa.array(["a", "b"])]
    codes = levels._codes(parts)
    assert codes.tolist() == ["a", "b", "d"]
    assert levels._places(codes, parts[0]).tolist() == [1, 2]
    assert levels._codes([]).tolist() == []
    levels._once("q", codes, parts[:1], 2)
    with pytest.raises(ValueError, match="q: the geocode b occurs in more than one row"):
        levels._once("q", codes, parts, 3)
    with pytest.raises(ValueError, match="got 2 rows without a geocode"):
        levels._codes([pa.array(["a", None]), pa.array([None], pa.string())])
