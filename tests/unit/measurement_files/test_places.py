"""Tests of files in the Census Bureau's layout with its exceptions, codes to GEOIDs by hand, counts by enumeration."""

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured_files import put
from reference.tree_enumeration import Enumeration, splits

from dpmultinomial._accuracy import Accuracy
from dpmultinomial._measurement_files import files, places, reading
from dpmultinomial._measurement_files.places import COLUMNS, Places
from dpmultinomial._measurement_files.products import product_of
from reproduction import synthetic_census
from reproduction.synthetic_census import Size

HISPANIC = {"hispanic": "hispanic"}
COUNTY, OTHER, TRIBAL = "050100011", "050100031", "150020091"


def block(prefix, tract, digit, number):
    """Return a block's code: spine prefix, state, county, tract, digit of the block group twice, rest of the block."""
    county = prefix[5:8] if prefix[3:5] == "10" else "001"  # of an AIAN area
    return f"{prefix}{prefix[1:3]}{county}{tract}{digit}{digit}{number}"


def cell(code, values, variance=4.0, query="hispanic_dpq", **specs):
    return (code, query, specs or HISPANIC, values, variance)


def rng():
    return np.random.default_rng(7)


def read(folder, cell=None, state="VT", **rest):
    return reading.read(
        folder, product="pl94", table="person", state=state, cell=HISPANIC if cell is None else cell, **rest
    )


@pytest.fixture
def tiny(tmp_path):
    """Return a state with two counties, one of which is also in the other branch of the spine; four blocks."""
    put(tmp_path, "State", [cell("050", [20, 9])])
    put(tmp_path, "State", [cell("150", [9, 3])], state="150")
    put(tmp_path, "County", [cell(COUNTY, [8, 5]), cell(OTHER, [12, 2])], width="int64")
    put(tmp_path, "County", [cell(TRIBAL, [8, 4])], state="150", width="int16")
    a, b = block(COUNTY + "A1", "000100", 1, "001"), block(COUNTY + "A2", "000100", 1, "002")
    put(tmp_path, "Block", [cell(a, [1, 2]), cell(b, [3, 4])])
    put(tmp_path, "Block", [cell(block(OTHER + "B1", "000200", 2, "001"), [5, 1])], part=1, width="int8")
    put(tmp_path, "Block", [cell(block(TRIBAL + "C1", "000100", 2, "003"), [5, 3])], state="150", sign=True)
    return tmp_path


def test_codes_become_geoids(tiny):
    found = read(tiny, query="hispanic").spine
    assert found.levels == (files.TOP, "State", "County", "Block")
    assert found.codes[0] == "State 50"
    assert found.parent.tolist() == [-1, 0, 0, 1, 1, 2, 3, 3, 4, 5]
    assert found.blocks.tolist() == ["500010001001001", "500010001001002", "500030002002001", "500010001002003"]
    assert found.places("State") == {"50": [1, 2]}
    assert found.places("County") == {"50001": [3, 5], "50003": [4]}
    assert found.places("Block")["500030002002001"] == [8]


def test_block_groups_and_tracts_of_the_tabulation_are_sums_of_blocks():
    codes = [block("050100011" + spine_part, tract, digit, "001") for spine_part, tract, digit in
             (("X11", "000100", 1), ("X12", "000100", 2), ("X21", "000100", 1), ("X31", "000200", 1))]  # fmt: skip
    made = files.spine_of(
        {"County": np.array(["050100011"]), "Tract": np.array([c[:11] for c in codes]),
         "Block_Group": np.array([c[:12] for c in codes]),
         "Block": np.array(codes)}, 50)  # fmt: skip
    names = made.codes.tolist()

    def as_names(level):
        return {k: [names[i] for i in v] for k, v in made.places(level).items()}

    assert as_names("Tract") == {"50001000100": ["050100011X1", "050100011X2"], "50001000200": ["050100011X3"]}
    assert as_names("Block_Group") == {
        "500010001001": ["050100011X11", "050100011X21"], "500010001002": ["050100011X12"],
        "500010002001": ["050100011X31"],
    }  # fmt: skip


def test_without_blocks_counties_have_geoids_and_tracts_have_none():
    """Check codes of the same lengths as in the Redistricting files: 3, 9, 13."""
    codes = {"State": ["050"], "County": ["050100071", "050100252"], "Tract": ["0501000710003", "0501002520001"]}
    made = files.spine_of({level: np.array(own) for level, own in codes.items()}, 50)
    assert made.places("State") == {"50": [0]}
    assert made.places("County") == {"50007": [1], "50025": [2]}
    assert made.places("Tract") == {"0501000710003": [3], "0501002520001": [4]}
    assert [made.knows_geoids(level) for level in made.levels] == [True, True, False]
    assert made.geoid("County", "50007") == "50007"
    assert made.geoid("Tract", "0501000710003") == ""
    assert made.tabulated == made.levels
    assert not made.lacks_aian_parts("County")


@pytest.mark.parametrize("prefix", ["15002", "15012", "15011"])
@pytest.mark.parametrize("county", ["050100091", "05010009"])
def test_an_aian_area_is_not_a_county(county, prefix):
    """Check codes of 9 characters (Redistricting) and of 8 (DHC); 2009 is an area's number, 009 a county's. Only the
    two characters 10 after the state are those of a county.
    """
    area = f"{prefix}0091"[: len(county)]
    made = files.spine_of({"State": np.array(["050", "150"]), "County": np.array([county, area])}, 50)
    assert made.places("County") == {"50009": [3], area: [4]}
    assert [made.geoid("County", place) for place in made.places("County")] == ["50009", ""]
    assert made.lacks_aian_parts("County")
    assert not made.lacks_aian_parts("State")


def test_a_county_on_both_branches_is_the_sum_of_both():
    made = files.spine_of({"State": np.array(["050", "150"]), "County": np.array(["050100091", "150100091"])}, 50)
    assert made.places("County") == {"50009": [3, 4]}
    assert not made.lacks_aian_parts("County")


def test_a_county_without_its_aian_part_says_so(tmp_path):
    put(tmp_path, "State", [cell("050", [20, 9])])
    put(tmp_path, "State", [cell("150", [9, 3])], state="150")
    put(tmp_path, "County", [cell(COUNTY, [8, 5]), cell(OTHER, [12, 2])])
    put(tmp_path, "County", [cell(TRIBAL, [8, 4])], state="150")
    places = Places(read(tmp_path, query="hispanic"), ["State", "County"], prior=1.0)
    table = places.table("hispanic", rng=rng())
    assert table["geoid"].tolist() == ["50", "50001", "50003", ""]
    assert table["geocode"].tolist() == ["", COUNTY, OTHER, TRIBAL]
    outside = "hispanic (part outside AIAN areas)"
    assert table["quantity"].tolist() == ["hispanic", outside, outside, "hispanic"]
    assert list(places.names) == ["state 50", "county 50001", "county 50003", f"county {TRIBAL}"]


def test_tracts_and_block_groups_follow_from_blocks_alone(tiny):
    places = Places(
        read(tiny, query="hispanic"), ["Tract", "Block_Group"], prior={"State": 1.0, "County": 0.8, "Block": 0.5}
    )
    table = places.table("hispanic", rng=rng())
    tract, group = (table[table["level"] == level] for level in ("Tract", "Block_Group"))
    assert tract["geoid"].tolist() == ["50001000100", "50003000200"]
    assert group["geoid"].tolist() == ["500010001001", "500010001002", "500030002002"]
    blocks = Places(read(tiny, query="hispanic"), ["Block"], prior={"State": 1.0, "County": 0.8, "Block": 0.5})
    each = blocks.table("hispanic", rng=rng())
    mean = each.groupby(each["geoid"].str[:12])["mean"].sum()
    np.testing.assert_allclose(group["mean"], mean, rtol=1e-9)
    with pytest.raises(
        ValueError,
        match=r"the files contain no data for Prim\. The available levels are State, County, Block, Tract, Block_Group",
    ):
        Places(read(tiny, query="hispanic"), ["Prim"])


def test_codes_that_break_the_spine_are_refused():
    with pytest.raises(ValueError, match="County must have the same length, and this length must be greater than"):
        files.spine_of({"State": np.array(["050"]), "County": np.array(["050100011", "0501000112"])}, 50)
    made = files.spine_of({"State": np.array(["050"]), "Block": np.array(["05005010001100010012001"])}, 50)
    with pytest.raises(ValueError, match="the geocode of a block must contain the digit of the block group twice"):
        made.places("Block")


def law_of_tiny(noise):
    """Check the tiny state by enumeration of all counts: root, two branches, three counties, four blocks."""
    parent = [-1, 0, 0, 1, 1, 2, 3, 3, 4, 5]
    values = [None, 9, 3, 5, 2, 4, 2, 4, 1, 3]
    measured = [(i, noise, float(v)) for i, v in enumerate(values) if v is not None]
    each = np.array([1.0, 1, 1, 0.8, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5])

    def prior(n):
        return splits(parent, each, n, np.ones(10, bool))

    return Enumeration(parent, 21, prior, measured, [0] * 10, [np.inf] * 10)


def test_one_query_alone_is_exact_and_equals_enumeration(tiny):
    measured = read(tiny, query="hispanic")
    law = law_of_tiny({"law": "discrete_gaussian", "sigma": 2.0})
    found = Places(measured, ["County", "Block"], prior={"State": 1.0, "County": 0.8, "Block": 0.5})
    table = found.table("hispanic", rng=rng())
    assert list(table.columns) == list(COLUMNS)
    assert table["geoid"].tolist()[:2] == ["50001", "50003"]
    assert table["geocode"].tolist()[:2] == ["", OTHER]
    assert table["released"].tolist()[:2] == [9, 2]
    assert set(table["status"]) == {"exact"}
    assert law.edge < 1e-6

    def mean(i):
        return float(np.arange(len(law.law(i))) @ law.law(i))

    np.testing.assert_allclose(table["mean"], [mean(3) + mean(5), mean(4), *map(mean, (6, 7, 9, 8))], atol=1e-5)


def test_one_number_is_read_to_its_last_digit_whatever_the_solver_leaves_of_its_weight(tiny, monkeypatch):
    exact, solve = read(tiny, query="hispanic").levels, np.linalg.lstsq
    monkeypatch.setattr(np.linalg, "lstsq", lambda *system, **how: (solve(*system, **how)[0] * (1 - 4e-16),))
    for name, level in read(tiny, query="hispanic").levels.items():
        assert level.alone.all()
        np.testing.assert_array_equal(level.released, np.rint(exact[name].released))
        np.testing.assert_array_equal(level.variance, 4.0)


def test_rows_of_places_that_are_two_nodes_and_their_questions(tiny):
    measured = read(tiny, query="hispanic")
    found = Places(measured, ["County"], prior=1.0)
    row = found.table("h", rng=rng()).iloc[0]
    both = found.law.sum(COUNTY, TRIBAL)
    assert row["mean"] == pytest.approx(both.mean())
    second = both.probabilities @ (both.values - both.mean()) ** 2
    assert row["sd"] == pytest.approx(second**0.5)
    assert (row["lower"], row["upper"]) == both.interval(0.95)
    least = found.least_squares
    one, two = (measured.tree.position(code) for code in (COUNTY, TRIBAL))
    assert row["least_squares"] == pytest.approx(least.estimate[one] + least.estimate[two])
    spread = least.sd[one] ** 2 + least.sd[two] ** 2 + 2 * least.covariance(one, two)
    assert row["least_squares_sd"] == pytest.approx(spread**0.5)
    asked = {
        "larger": {"probability": "county 50001 > county 50003 + 1"},
        "sum": {"sum": ["county 50001", "county 50003"]},
        "share": {"share": {"of": ["county 50003"], "among": ["county 50001", "county 50003"]}},
    }
    answers = found.ask(asked, rng=rng()).set_index("quantity")
    draws = found.law.sample(200_000, rng=rng(), nodes=[COUNTY, TRIBAL, OTHER])
    a, b = draws[:, 0] + draws[:, 1], draws[:, 2]
    assert answers.loc["larger", "mean"] == pytest.approx((a > b + 1).mean(), abs=0.01)
    assert answers.loc["sum", "mean"] == pytest.approx((a + b).mean(), abs=0.05)
    assert answers.loc["sum", "sd"] == pytest.approx((a + b).std(), rel=0.02)
    ends = np.quantile(a + b, [0.025, 0.975])
    assert answers.loc["sum", ["lower", "upper"]].to_numpy(dtype=float) == pytest.approx(ends, abs=1.0)
    assert answers.loc["share", "mean"] == pytest.approx((b / (a + b))[a + b > 0].mean(), abs=0.01)
    with pytest.raises(ValueError, match="county 50001 cannot be ranked, because this place is a sum"):
        found.ask({"r": {"rank": {"of": "all", "top": 1}}}, rng=rng())
    with pytest.raises(KeyError, match="unknown name 'county 50005'"):
        found.ask({"r": {"sum": ["county 50005"]}}, rng=rng())


@pytest.mark.parametrize("level", ["Tract", "Block_Group"])
def test_the_error_of_a_sum_of_blocks_includes_their_covariances(tiny, level):
    """The covariance of weighted least squares is 4 (X'X)^-1, with the variance 4 of every released number and one row
    of X per measured node: two branches of the state, three counties, and the blocks a, b, c and d.
    """
    a, b, c, d = np.eye(4)
    measured = np.array([a + b + c, d, a + b, c, d, a, b, c, d])
    covariance = 4 * np.linalg.inv(measured.T @ measured)
    units = {"Tract": [a + b + d, c], "Block_Group": [a + b, d, c]}[level]
    table = Places(read(tiny, query="hispanic"), [level], prior=1.0).table("h", rng=rng())
    expected = [np.sqrt(unit @ covariance @ unit) for unit in units]
    assert table["least_squares_sd"].tolist() == pytest.approx(expected, rel=1e-9)
    released = np.array([9.0, 3, 5, 2, 4, 2, 4, 1, 3])
    estimate = covariance @ measured.T @ released / 4
    assert table["least_squares"].tolist() == pytest.approx([unit @ estimate for unit in units], rel=1e-9)


def test_ranks_name_the_places(tiny):
    found = Places(read(tiny, query="hispanic"), ["Block"], prior=1.0)
    names = found.ask({"r": {"rank": {"of": "all", "top": 1}}}, rng=rng())["quantity"]
    assert names[0].startswith("r: block 50")
    assert any(name.startswith("r: P(block 500010001001002 in top 1)") for name in names)


def test_several_queries_are_combined_and_said_to_be_approximate(tmp_path):
    both = [cell("050", [6, 9], 4.0), cell("050", [14], 2.0, "total_dpq", hispanic="*")]
    put(tmp_path, "State", both)
    put(tmp_path, "County", [cell(COUNTY, [8, 5]), cell(OTHER, [12, 2])])
    measured = read(tmp_path)
    # x + y = 14 with variance 2, y = 6 with 4: y has 14 - 6 = 8 with variance 6 beside 9 with variance 4
    assert measured.whole.released[0] == pytest.approx((9 / 4 + 8 / 6) / (1 / 4 + 1 / 6))
    assert measured.whole.variance[0] == pytest.approx(1 / (1 / 4 + 1 / 6))
    assert measured.whole.alone.tolist() == [False, True, True]
    found = Places(measured, ["State", "County"], prior=0.7)
    sd = float(measured.whole.variance[0]) ** 0.5
    parent, each = [-1, 0, 0], np.array([1.0, 0.7, 0.7])
    words = [{"law": "gaussian", "sd": sd}, *[{"law": "discrete_gaussian", "sigma": 2.0}] * 2]
    values = [float(measured.whole.released[0]), 5.0, 2.0]
    law = Enumeration(
        parent, 60, lambda n: splits(parent, each, n, np.ones(3, bool)),
        list(zip(range(3), words, values, strict=True)),
        [0] * 3, [np.inf] * 3)  # fmt: skip
    table = found.table("h", rng=rng())
    np.testing.assert_allclose(table["mean"], [np.arange(len(law.law(i))) @ law.law(i) for i in range(3)], atol=1e-9)
    assert set(table["status"]) == {"approximate"}
    assert (table["error"] >= measured.error).all()
    assert measured.error > 0


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 2, 1, 3], [3, 0, 2, 1]])
def test_rows_of_queries_may_stand_together_or_in_turn(tmp_path, order):
    rows = [cell(code, values) for code, values in ((COUNTY, [6, 9]), (OTHER, [1, 2]))]
    rows += [cell(code, [n], 4.0, "total_dpq", hispanic="*") for code, n in ((COUNTY, 14), (OTHER, 5))]
    put(tmp_path, "County", [rows[i] for i in order])
    released = read(tmp_path).levels["County"].released
    # y = 9 with variance 4 beside 14 - 6 = 8 with variance 4 + 4; 2 beside 5 - 1 = 4
    assert released == pytest.approx([(9 * 2 + 8) / 3, (2 * 2 + 4) / 3])


def test_constraints_bound_counts(tmp_path):
    put(tmp_path, "County", [cell(COUNTY, [3] + [2] * 7, 9.0, "hhgq_dpq", hhgq="hhgq")])
    low = (COUNTY, "hhgq_total_lb_con", {"hhgq": "hhgq"}, [0, 4, 0, 1, 0, 0, 0, 0], ">=")
    high = (COUNTY, "hhgq_total_ub_con", {"hhgq": "hhgq"}, [99999, 7, 0, 3, 0, 0, 0, 0], "<=")
    zero = (COUNTY, "nurse_nva_0_con", {"hhgq": "gqNursingTotal", "votingage": "nonvoting"}, [0], "=")
    put(tmp_path, "County", [low, high, zero], kind="Constraint")
    for level, bounds in (("correctional", (4, 7)), ("juvenile", (0, 0)), ("nursing", (1, 3))):
        tree = read(tmp_path, {"hhgq": level}).tree
        assert (tree.lower.tolist(), tree.upper.tolist()) == ([bounds[0]], [bounds[1]])
    law = Places(read(tmp_path, {"hhgq": "nursing"}, query="hhgq"), ["County"]).table("n", rng=rng())
    n = np.arange(1, 4)
    p = np.exp(-((n - 2) ** 2) / 18)
    assert law["mean"][0] == pytest.approx(n @ p / p.sum())


def test_a_missing_column_of_signs_is_read_from_the_names(tmp_path):
    put(tmp_path, "County", [cell(COUNTY, [3] + [2] * 7, 9.0, "hhgq_dpq", hhgq="hhgq")])
    low = (COUNTY, "hhgq_total_lb_con", {"hhgq": "hhgq"}, [0, 4, 0, 1, 0, 0, 0, 0], "")
    high = (COUNTY, "hhgq_total_ub_con", {"hhgq": "hhgq"}, [99999, 7, 0, 3, 0, 0, 0, 0], "")
    put(tmp_path, "County", [low, high], kind="Constraint", sign=False)
    tree = read(tmp_path, {"hhgq": "nursing"}).tree
    assert (tree.lower.tolist(), tree.upper.tolist()) == ([1], [3])


def test_exact_totals_of_units_are_used(tmp_path):
    there = {"ending": "Unit_PL_PROD"}
    put(tmp_path, "County", [(COUNTY, "detailed_dpq", {"h1": "detailed"}, [4, 9], 8.0)], **there)
    put(tmp_path, "County", [(COUNTY, "total_con", {}, [11], "=")], kind="Constraint", **there)

    def ask(cell):
        return reading.read(tmp_path, product="pl94", table="unit", state="50", cell=cell)

    vacant = ask({"h1": "vacant"})
    assert vacant.whole.released.tolist() == pytest.approx([(4 + 11 - 9) / 2])
    assert vacant.whole.variance.tolist() == pytest.approx([4])
    assert vacant.tree.upper.tolist() == [11]
    total = Places(ask({}), ["County"]).table("t", rng=rng()).iloc[0]
    assert (total["mean"], total["sd"], total["lower"], total["upper"]) == (11, 0, 11, 11)


def test_nodes_that_were_passed_over_have_no_measurement(tmp_path):
    put(tmp_path, "State", [cell("050", [20, 9])])
    put(tmp_path, "County", [cell(COUNTY, [8, 5])])
    put(tmp_path, "County", [(OTHER, "hhgq_total_lb_con", {"hhgq": "hhgq"}, [0] * 8, ">=")], kind="Constraint")
    measured = read(tmp_path)
    assert measured.tree.names == ("050", COUNTY, OTHER)
    assert measured.measured.tolist() == [0, 1]
    assert np.isnan(measured.whole.released[2])
    table = Places(measured, ["County"], prior=1.0).table("h", rng=rng())
    assert np.isnan(table["released"][1])
    assert np.isfinite(table["mean"]).all()


def test_nodes_with_variances_of_their_own_are_combined_by_them(tmp_path):
    total = {"hispanic": "*"}
    put(tmp_path, "County", [cell(COUNTY, [6, 9], 4.0), (COUNTY, "total_dpq", total, [14], 2.0)])
    put(tmp_path, "County", [cell(OTHER, [6, 9], 1.0), (OTHER, "total_dpq", total, [14], 2.0)], part=1)
    assert read(tmp_path).whole.variance.tolist()[1:] == pytest.approx([1 / (1 / 4 + 1 / 6), 1 / (1 / 1 + 1 / 3)])


def test_a_public_total_is_the_root(tiny):
    found = Places(read(tiny, query="hispanic", total=13), ["State"], prior=1.0).table("h", rng=rng())
    assert found[["mean", "sd"]].to_numpy().tolist() == [[13, 0]]


def test_folders_by_county_and_binnings_of_ages_are_read(tmp_path):
    rows = [("05010007", "age_18_64_116 * sex_dpq", {"sex": "sex", "age": "age_18_64_116"}, [1, 2, 3, 4, 5, 6], 16.0)]
    put(tmp_path, "County", rows, ending="DHCP_PROD", county="05010007")
    other = [("05010009", *rows[0][1:3], [0, 1, 0, 2, 7, 0], 16.0)]
    put(tmp_path, "County", other, ending="DHCP_PROD", county="05010009", width="int64")

    def ask(**cell):
        return reading.read(tmp_path, product="dhc", table="person", state="VT", cell=cell).whole.released[1:]

    assert ask(sex="female", age="18-64").tolist() == pytest.approx([5, 7])
    assert ask(age="65+").tolist() == pytest.approx([9, 0])
    assert ask(sex="male").tolist() == pytest.approx([6, 1])


def broken(folder, change):
    path = put(folder, "County", [cell(COUNTY, [8, 5]), cell(OTHER, [12, 2])])
    pq.write_table(change(pq.read_table(path)), path)
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["hispanic"]), "columns of pl94 person, but lacks hispanic"),
        (lambda t: t.drop_columns(["variance"]), "but lacks variance"),
        (lambda t: t.set_column(1, "query_name", [["a_dpq", None]]), "got an empty cell in row 2"),
        (lambda t: t.set_column(t.schema.get_field_index("value"), "value", [[[1, 2], [3]]]), "length 2, got length 1"),
        (lambda t: t.set_column(t.schema.get_field_index("value"), "value", [[[1, 2], [3, None]]]), "row"),
        (lambda t: t.set_column(t.schema.get_field_index("variance"), "variance", [[1.0, 0.0]]), "and > 0, got 0"),
        (lambda t: t.set_column(t.schema.get_field_index("hispanic"), "hispanic", [["hispanic", "*"]]), "same value"),
        (lambda t: t.set_column(0, "geocode", [[COUNTY, COUNTY]]), "geocode 050100011 occurs in more than one row"),
        (lambda t: t.set_column(0, "geocode", [[COUNTY, None]]), "geocode must not contain empty cells"),
        (lambda t: t.append_column("query_shape", [[[1, 1, 2, 1], [1, 1, 2, 1]]]).set_column(
            7, "query_shape", [[[2, 2, 2, 1]] * 2]), None),
    ],
)  # fmt: skip
def test_a_file_that_breaks_the_layout_is_named(tmp_path, change, message):
    if message is None:

        def change(t):
            return t.append_column("query_shape", [[[1, 2, 2, 1]] * 2])

        message = r"query_shape must contain \[1, 1, 2, 1\], the shape of the query's binnings, got \[1, 2, 2, 1\]"
    with pytest.raises(ValueError, match=message):
        read(broken(tmp_path, change))


def test_what_is_no_parquet_is_named(tmp_path):
    path = put(tmp_path, "County", [cell(COUNTY, [8, 5])])
    path.write_bytes(b"no table")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        read(tmp_path)


def test_a_binning_that_is_not_known_is_passed_over_and_said(tmp_path):
    strange = (COUNTY, "strange_dpq", {"hhgq": "some new grouping"}, [1, 2, 3], 5.0)
    put(tmp_path, "County", [cell(COUNTY, [8, 5]), strange])
    level = read(tmp_path).levels["County"]
    assert level.unused == ["strange_dpq"]
    assert level.used == ["hispanic"]


def test_what_is_not_there_is_said(tiny, tmp_path):
    with pytest.raises(ValueError, match=r"contains no files for the state 33\. The folder contains State=050"):
        read(tiny, state="NH")
    with pytest.raises(
        ValueError,
        match=r"does not contain US_DHCP_PROD, the folder of dhc person\. The folder contains US_Person_PL_PROD",
    ):
        reading.read(tiny, product="dhc", table="person", state="VT")
    with pytest.raises(ValueError, match="does not contain PR_Person_PL_PROD"):
        read(tiny, state="PR")
    with pytest.raises(ValueError, match="the product pl94 with the table families is not supported"):
        reading.read(tiny, product="pl94", table="families", state="VT")
    with pytest.raises(ValueError, match="got 'Vermont'"):
        read(tiny, state="Vermont")
    absent = "contains no measurement of the cell cenrace=white in state 50"
    with pytest.raises(ValueError, match=f"{absent} at any of the levels State, County, .*: choose a cell"):
        read(tiny, {"cenrace": "white"})
    folder = reading._Folder(tiny, "pl94", "person", "VT", {"cenrace": "white"})
    with pytest.raises(ValueError, match=f"{absent}: choose a cell that was measured"):
        folder.measured({}, None)
    with pytest.raises(ValueError, match=r"must measure the requested cell at level \w+, got cenrace. .* are hispanic"):
        read(tiny, query="cenrace")
    with pytest.raises(
        ValueError,
        match=r"contain no data for Ward. The available levels are State, County, Block, Tract, Block_Group$",
    ):
        Places(read(tiny), ["Ward"])
    assert read(tiny / "US_Person_PL_PROD", query="hispanic").state == 50


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    size = Size(counties=2, tracts=6, groups=18, blocks=200, reservation=True)
    return folder, synthetic_census.write(folder, state="VT", rng=np.random.default_rng(5), size=size)


def test_synthetic_files_say_so_and_hold_the_truth_with_noise_as_published(made):
    folder, data = made
    assert "ynthetic" in (folder / "SYNTHETIC.txt").read_text()
    paths = sorted(data.rglob("*.parquet"))
    paths = [path for path in paths if path.is_file()]
    assert len(paths) > 10
    assert all(b"synthetic" in pq.read_schema(path).metadata for path in paths)
    assert read(folder).synthetic
    truth = pq.read_table(data / synthetic_census.TRUTH).to_pandas()
    assert not ((truth["hhgq"] == 3) & (truth["votingage"] == 0)).any()
    published = synthetic_census.variances("pl94", "person", "Block")
    for name, axes in (
        ("detailed", ["hhgq", "votingage", "hispanic", "cenrace"]),
        ("hispanic*cenrace", ["hispanic", "cenrace"]),
    ):
        gaps = []
        for path in sorted((data / "Block.parquet/DPQuery").rglob("*.parquet")):
            rows = pq.read_table(path).to_pandas()
            rows = rows[rows["query_name"] == f"{name.replace('*', ' * ')}_dpq"]
            np.testing.assert_allclose(rows["variance"], float(published[name]), rtol=1e-6)
            for code, shape, values in zip(rows["geocode"], rows["query_shape"], rows["value"], strict=True):
                exact = np.zeros([n for n in shape if n > 1], dtype=int)
                own = truth[truth["geocode"] == code]
                np.add.at(exact, tuple(own[axis].to_numpy() for axis in axes), own["count"].to_numpy())
                gaps.append(values - exact.ravel())
        gaps = np.concatenate(gaps)
        assert abs((gaps**2).mean() / float(published[name]) - 1) < 5 * np.sqrt(2 / len(gaps))
        assert abs(gaps.mean()) < 5 * np.sqrt(float(published[name]) / len(gaps))


def test_counts_of_synthetic_places_are_near_the_truth(made):
    folder, data = made
    found = Places(read(folder), ["State", "County", "Tract"], level=0.99).table("hispanic", rng=rng())
    truth = pq.read_table(data / synthetic_census.TRUTH).to_pandas()
    truth = truth[truth["hispanic"] == 1]
    geoid = truth["geocode"].str[-16:-5] + truth["geocode"].str[-4:]
    for level, digits in (("State", 2), ("County", 5), ("Tract", 11)):
        own = found[found["level"] == level].set_index("geoid")
        true = truth.groupby(geoid.str[:digits])["count"].sum().reindex(own.index).fillna(0)
        assert (((own["least_squares"] - true) / own["least_squares_sd"]).abs() < 5).all()
        assert ((own["mean"] - true).abs() < 5 * own["sd"] + 1).all()


@pytest.mark.parametrize(
    ("product", "table", "cell"), [("dhc", "person", {"sex": "male"}), ("pl94", "unit", {"h1": "vacant"})]
)
def test_other_products_are_written_and_read(tmp_path, product, table, cell):
    size = Size(counties=2, tracts=4, groups=8, blocks=40)
    data = synthetic_census.write(
        tmp_path, state="VT", rng=np.random.default_rng(3), product=product, table=table, size=size
    )
    truth = pq.read_table(data / synthetic_census.TRUTH).to_pandas()
    axis = next(iter(cell))
    measured = reading.read(tmp_path, product=product, table=table, state="VT", cell=cell)
    total = truth.loc[truth[axis] == 0, "count"].sum()
    root = measured.whole
    assert abs(root.released[0] - total) < 5 * root.variance[0] ** 0.5 + 1e-9
    assert measured.spine.blocks.shape == (40,)
    by_county = any(path.name.startswith("County=") for path in data.rglob("County=*"))
    assert by_county == (product == "dhc")


def test_states_with_settings_of_their_own_are_not_made_up(tmp_path):
    with pytest.raises(ValueError, match="Puerto Rico"):
        synthetic_census.write(tmp_path, state="PR", rng=rng())


@pytest.mark.parametrize(
    ("question", "nodes"),
    [
        ({"sum": ["x", "y"]}, {"sum": ["n0", "n1", "n2"]}),
        ({"difference": ["x", "y"]}, {"difference": [["n0"], ["n1", "n2"]]}),
        (
            {"difference": [["x", "y"], "x"], "about": "north"},
            {"difference": [["n0", "n1", "n2"], ["n0"]], "about": "north"},
        ),
    ],
)
def test_a_question_about_places_is_one_about_their_nodes(question, nodes):
    """A sum is a list of nodes, and each side of a difference is one; place y consists of two nodes."""
    places = object.__new__(Places)
    vars(places).update(
        names={"x": [0], "y": [1, 2]}, measured=SimpleNamespace(tree=SimpleNamespace(names=("n0", "n1", "n2")))
    )
    assert places._translated(question, SimpleNamespace(place=lambda name: None)) == nodes


@pytest.mark.parametrize(("at_once", "sizes"), [(2, [3, 3, 4]), (3, [3, 3, 4]), (6, [6, 4]), (7, [6, 4]), (500, [10])])
def test_units_of_many_nodes_are_sums_of_their_own_nodes(at_once, sizes, monkeypatch):
    """Check draws in which node i always has the count i + 1: three units with the sums 6, 9 and 6 + 7 + 8 + 9."""

    drawn = []

    class Law:
        def sample(self, size, *, rng, nodes):
            drawn.append(len(nodes))
            return np.tile(np.array(nodes) + 1, (size, 1))

    monkeypatch.setattr(places, "_AT_ONCE", at_once)
    found = object.__new__(places.Places)
    found.law, found.accuracy = Law(), Accuracy("exact", 0.0, "")
    units = [[0, 1, 2], [0, 2, 4], [5, 6, 7, 8]]
    several = found.several(units, np.random.default_rng(1))
    assert [rows for rows, _ in several] == units
    assert drawn == sizes
    assert [(law.mean(), law.sd()) for _, law in several] == [(6.0, 0.0), (9.0, 0.0), (30.0, 0.0)]
    assert [law.accuracy.error for _, law in several] == pytest.approx([0.5 / 4000**0.5] * 3, rel=1e-12)


@pytest.mark.parametrize(("own", "noise", "both"), [(0.01, 0.02, 0.03), (0.7, 0.6, 1.0), (0.01, 0.0, 0.01)])
def test_the_errors_of_the_posterior_and_of_the_combined_noise_are_added(own, noise, both, monkeypatch):
    law = SimpleNamespace(accuracy=Accuracy("approximate", own, "windows"))
    monkeypatch.setattr(places, "infer", lambda *_, **__: law)
    monkeypatch.setattr(Places, "_depth", lambda self: 0)
    measured = SimpleNamespace(error=noise, measurements=None, spine=SimpleNamespace(levels=("State",)))
    assert Places(measured, ["State"]).accuracy.error == pytest.approx(both, rel=1e-12)


@pytest.mark.parametrize(
    ("table", "level", "query", "expected"),
    [
        ("person", "County", "total", Fraction(339, 542) ** 2 * Fraction(4099, 447) * Fraction(4097, 3126)),
        ("person", "Block", "detailed", Fraction(339, 542) ** 2 * Fraction(4099, 165) * Fraction(4097, 3945)),
        ("person", "Tract", "hispanic*cenrace", Fraction(339, 542) ** 2 * Fraction(4099, 687) * Fraction(4102, 1933)),
        ("person", "US", "cenrace", Fraction(339, 542) ** 2 * Fraction(4099, 104) * Fraction(4097, 52)),
        ("unit", "State", "detailed", Fraction(12343, 3379) ** 2 * 205),
        ("unit", "Block", "detailed", Fraction(12343, 3379) ** 2 * Fraction(4100, 495)),
    ],
)
def test_published_variances_by_hand(table, level, query, expected):
    assert synthetic_census.variances("pl94", table, level)[query] == expected


def test_queries_with_published_variances():
    assert len(synthetic_census.variances("pl94", "person", "State")) == 11
    assert "total" not in synthetic_census.variances("pl94", "person", "US")
    assert list(synthetic_census.variances("pl94", "unit", "US")) == ["detailed"]
    with pytest.raises(ValueError, match=r"^the noise scales of dhc person are not known: choose pl94 person or"):
        synthetic_census.variances("dhc", "person", "State")
    assert all(sum(parts) == of for parts, of in synthetic_census._LEVEL_SHARES.values())
    assert all(sum(parts) == of for parts, of in synthetic_census._QUERY_SHARES.values())


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ("pl94", {"State": 3, "County": 9, "Tract": 13, "Block_Group": 15, "Block": 31}),
        ("dhc", {"State": 3, "County": 8, "Prim": 9, "Block": 32}),
    ],
)
def test_lengths_of_geocodes(product, expected):
    found = synthetic_census._lengths(product_of(product, "person"))
    assert {level: found[level] for level in expected if level in found} == {
        level: length for level, length in expected.items() if level in found
    }
    assert {"State", "County", "Block"} <= set(found)


def test_the_spine_of_a_synthetic_state():
    size = Size(counties=2, tracts=8, groups=16, blocks=50, reservation=True)
    product = product_of("pl94", "person")
    codes, tract = synthetic_census._spine(product, 50, size, np.random.default_rng(1))
    lengths = synthetic_census._lengths(product)
    assert len(codes["Block"]) == len(tract) == 50
    assert {len(code) for code in codes["Block"]} == {lengths["Block"]}
    for level in product.spine:
        assert codes[level].tolist() == sorted({str(code)[: lengths[level]] for code in codes["Block"]})
    assert len(codes["Tract"]) == 8
    assert {str(code)[:3] for code in codes["Block"]} == {"050", "150"}
    reservation = {int(t) for t, code in zip(tract, codes["Block"], strict=True) if code[0] == "1"}
    assert reservation == {5, 7}  # of the tracts 1, 3, 5 and 7 of the second county
    without, _ = synthetic_census._spine(product, 50, Size(tracts=6, groups=12, blocks=50), np.random.default_rng(1))
    assert {str(code)[:3] for code in without["Block"]} == {"050"}


def test_parts_of_a_table_by_county():
    table = pa.table({"geocode": ["05010001x", "05010003y", "05010001z"]})
    dhc, folder = product_of("dhc", "person"), Path("f")
    found = {str(path): rows.column("geocode").to_pylist() for path, rows in
             synthetic_census._parted(folder, table, dhc, "County")}  # fmt: skip
    assert found == {"f/County=05010001": ["05010001x", "05010001z"], "f/County=05010003": ["05010003y"]}
    for product, level in ((dhc, "State"), (product_of("pl94", "person"), "County")):
        ((path, rows),) = synthetic_census._parted(folder, table, product, level)
        assert (path, rows.num_rows) == (folder, 3)
