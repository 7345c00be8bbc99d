"""Tests of the studies of noisy measurement files, of a state and of a nation: true counts, dense algebra, bytes."""

import hashlib

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import stats

from dpmultinomial._measurement_files import reading
from dpmultinomial._measurement_files.products import product_of
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream
from reproduction import studies, style, synthetic_census
from reproduction.studies import coverage as coverage
from reproduction.studies import measurements as study
from reproduction.studies import nation
from reproduction.verdicts import artists

SIZE = {"counties": 2, "tracts": 4, "groups": 8, "blocks": 60, "people": 20.0}
CELL = {"hispanic": "hispanic"}
SETTINGS = {
    "state": "VT", "files": 2, "size": SIZE, "cell": CELL, "levels": ["County", "Tract", "Block"], "level": 0.9,
    "edges": [0, 1, 10, 10_000],
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return study.table(3, **SETTINGS)


def measured(folder, seed, **changes):
    given = {"state": "VT", "size": SIZE, "cell": CELL, "levels": ["County", "Tract", "Block_Group", "Block"]}
    return study.measured(folder, level=0.9, rng=stream(seed, "files"), **(given | changes))


def test_blocks_have_households_or_one_facility():
    """Check that a block with n people has 1 + n // 3 housing units (type 0), or one facility of one other type."""
    people = synthetic_census.made(product_of("pl94", "person"), 50, synthetic_census.Size(**SIZE), stream(3, "units"))
    number = np.bincount(people.block, minlength=len(people.units))
    households = people.units[:, 0] > 0
    assert 0 < (~households).sum() < len(households)
    np.testing.assert_array_equal(people.units[households, 0], 1 + number[households] // 3)
    assert (people.units[households, 1:] == 0).all()
    assert (np.sort(people.units[~households], axis=1) == [0] * 7 + [1]).all()


def test_true_counts_are_those_of_the_people_who_were_made_up(tmp_path):
    """Return the counts row by row from the file of the truth, with GEOIDs from the codes by hand."""
    found = measured(tmp_path, 1)
    rows = pq.read_table(tmp_path / "US_Person_PL_PROD" / synthetic_census.TRUTH).to_pylist()
    digits = {"County": 5, "Tract": 11, "Block_Group": 12, "Block": 15}
    for level, own in found.groupby("level"):
        counted = dict.fromkeys(own["geoid"], 0)
        for row in rows:
            code = row["geocode"]
            geoid = code[len(code) - 16 : len(code) - 5] + code[len(code) - 4 :]
            if row["hispanic"] == 1:
                counted[geoid[: digits[level]]] += row["count"]
        assert own.set_index("geoid")["truth"].to_dict() == counted
    everyone = measured(tmp_path / "again", 1, cell={})
    assert everyone[everyone["level"] == "County"]["truth"].sum() == sum(row["count"] for row in rows)


@pytest.mark.thorough
def test_errors_of_least_squares_are_those_of_dense_algebra(tmp_path):
    """Check errors over 12 states by (A' V^-1 A)^-1, A the nodes' sums over blocks; 5 standard errors, chance 1e-6."""
    found = []
    for i in range(12):
        rows = measured(tmp_path / str(i), i, levels=["County", "Tract", "Block"])
        files = reading.read(tmp_path / str(i), product="pl94", table="person", state="VT", cell=CELL)
        blocks = files.spine.rows("Block")
        sums = np.zeros((len(files.spine.codes), len(blocks)))
        for k, node in enumerate(blocks.tolist()):
            while node >= 0:
                sums[node, k], node = 1.0, files.spine.parent[node]
        whole = np.linalg.inv(sums.T @ (sums / files.whole.variance[:, None]))
        sd = np.sqrt(np.einsum("ij,jk,ik->i", sums, whole, sums))
        by_code = dict(zip(files.spine.codes.tolist(), sd.tolist(), strict=True))
        np.testing.assert_allclose(rows["least_squares_sd"], rows["geocode"].map(by_code), rtol=1e-9)
        _, low, high = coverage.answers(rows, stats.norm.ppf(0.95))["least squares"]
        squares = ((rows["least_squares"] - rows["truth"]) / rows["geocode"].map(by_code)) ** 2
        held = (low <= rows["truth"]) & (rows["truth"] <= high)
        found.append(pd.DataFrame({"square": squares, "held": held, "level": rows["level"]}).groupby("level").mean())
    every = pd.concat(found).groupby("level")
    error = every.std(ddof=1) / np.sqrt(12)
    assert ((every.mean()["square"] - 1).abs() < 5 * error["square"]).all()
    assert ((every.mean()["held"] - 0.9).abs() < 5 * error["held"]).all()
    assert error.loc["Block"].max() < 0.06  # an sd that is 16 % off is seen


@pytest.mark.thorough
def test_the_table_is_made_of_all_places_of_all_files(table, tmp_path):
    rows = []
    for i in range(2):
        rng = stream(3, "studies", "measurements", i)
        given = {key: SETTINGS[key] for key in ("state", "size", "cell", "levels", "level")}
        rows.append(study.measured(tmp_path / str(i), rng=rng, **given))
    rows = pd.concat(rows)
    assert list(dict.fromkeys(table["level"])) == ["county", "tract", "block"]
    found = table.set_index(["level", "method", "from", "to"])
    z = stats.norm.ppf(0.95)
    for name, part in rows.groupby("level"):
        for low, high in ((0, 1), (1, 10), (10, 10_000), (0, np.inf)):
            own = part[(part["truth"] >= low) & (part["truth"] < high)]
            if not len(own):
                assert (name.lower(), "posterior", low, high) not in found.index
                continue
            gap, truth = own["least_squares"] - own["truth"], own["truth"]
            least, clipped, ours = (found.loc[(name.lower(), word, low, high)] for word in coverage.METHODS)
            assert least["counts"] == clipped["counts"] == ours["counts"] == len(own)
            assert least["rmse"] == pytest.approx(np.sqrt((gap**2).mean()))
            assert least["width"] == pytest.approx(2 * z * own["least_squares_sd"].mean())
            assert least["coverage"] == pytest.approx((gap.abs() <= z * own["least_squares_sd"]).mean())
            assert ours["rmse"] == pytest.approx(np.sqrt(((own["mean"] - truth) ** 2).mean()))
            assert ours["coverage"] == truth.between(own["lower"], own["upper"]).mean()
            assert ours["width"] == pytest.approx((own["upper"] - own["lower"]).mean())
            values = [
                [n for n in range(3000) if abs(n - y) <= z * sd] or [0]
                for y, sd in zip(own["least_squares"], own["least_squares_sd"], strict=True)
            ]
            assert clipped["width"] == pytest.approx(np.mean([v[-1] - v[0] for v in values]))
            assert clipped["coverage"] == pytest.approx(np.mean([n in v for n, v in zip(truth, values, strict=True)]))
            assert clipped["rmse"] == pytest.approx(np.sqrt(((own["least_squares"].clip(lower=0) - truth) ** 2).mean()))
    ours = table["method"] == "posterior"
    assert set(table.loc[~ours, "status"]) == {"comparison"}
    assert set(table.loc[ours, "status"]) == {"approximate"}  # combinations of queries are taken for Gaussian
    assert table.loc[ours, "error"].max() < 1e-6
    pd.testing.assert_frame_equal(study.table(3, **SETTINGS), table)


def test_the_figure_shows_all_levels_and_methods(table):
    with style.applied():
        figure = study.figure(table)
    assert [axis.get_title() for axis in figure.axes[:3]] == ["county", "tract", "block"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(coverage.METHODS)
    labels = [text.get_text() for text in figure.axes[-1].get_xticklabels()]
    block = table[(table["level"] == "block") & (table["method"] == "posterior")]
    drawn = block[block["counts"] >= study.FEWEST]
    words = {0: "0", 1: "1 to 9", 10: "10 and more"}
    bins = drawn[drawn["to"] < np.inf]
    assert labels == [*(words[low] for low in bins["from"]), "all"]
    assert len(bins) >= 2
    for axis, measure in zip(figure.axes[2::3], ("rmse", "width", "coverage"), strict=True):
        lines = [line for line in axis.lines if line.get_label() == "posterior"]
        np.testing.assert_array_equal(lines[0].get_ydata(), bins[measure])


def test_settings_are_those_of_the_study():
    found = studies.discover()["measurements"]
    synthetic_census.Size(**found.settings["size"])
    assert set(found.settings) == set(SETTINGS)


SIGMAS = {"county": 2.17, "tract": 2.47, "block group": 1.75, "block": 20.0}
OF_NATION = {"scale": 0.004, "sigmas": SIGMAS, "level": 0.9, "deepest": "block"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nation")
    made = [folder / f"{name}.parquet" for name in ("DC", "RI")]
    for path in made:
        nation.part(1, path.stem, path, **OF_NATION)
    return made


def test_sizes_are_those_published():
    """Check that sums of the table are the nation's: 3,143 counties, 331,449,281 people; shares sum up to rounding."""
    every = pd.read_csv(nation.STATES, sep="\t")
    assert (len(every), every["counties"].sum(), every["population"].sum()) == (51, 3143, 331_449_281)
    found = np.array([nation.sizes(name, 1.0) for name in every["state"]]).sum(axis=0)
    assert found[[0, 4]].tolist() == [3143, 331_449_281]
    assert np.abs(found[1:4] - [84_414, 239_780, 5_769_942]).max() <= 26
    assert found[:4].sum() + 51 == pytest.approx(6_097_330, abs=80)
    assert studies.discover()["nation"].parts == tuple(every["state"])
    assert nation.sizes("DC", 1e-6) == (1, 1, 1, 1, 1)


def test_a_state_adds_up_to_its_population_and_is_measured_everywhere_else():
    made = nation.drawn("RI", scale=0.01, sigmas=SIGMAS, rng=stream(3, "state"))
    counties, tracts, groups, blocks, people = nation.sizes("RI", 0.01)
    assert np.bincount(made.tree.depth).tolist() == [1, counties, tracts, groups, blocks]
    assert made.truth[0] == people == made.measured.released[0] == round(0.01 * 1_097_379)
    np.testing.assert_array_equal(made.tree.sums(made.truth), made.truth)
    assert np.bincount(made.tree.parent[1:], minlength=len(made.tree))[~made.tree.leaf].min() >= 1
    noise = (made.measured.released - made.truth)[made.tree.depth == 4]
    assert 14 < noise.std() < 26


def test_a_file_has_what_inference_finds_and_the_same_bytes_again(files, tmp_path):
    rows = pq.read_table(files[1]).to_pandas()
    made = nation.drawn("RI", scale=0.004, sigmas=SIGMAS, rng=stream(1, "studies", "nation", "RI"))
    found = infer(made.measured, level=0.9)
    np.testing.assert_array_equal(rows["truth"], made.truth)
    np.testing.assert_array_equal(rows["mean"], found.mean)
    np.testing.assert_array_equal(rows["upper"], found.upper)
    np.testing.assert_array_equal(rows["least_squares"], found.least_squares.estimate)
    assert rows["level"].tolist() == [made.tree.levels[d] for d in made.tree.depth]
    told = nation.facts(files[1])
    assert (told["state"], told["status"], told["level"]) == ("RI", "exact", "0.9")
    assert told["synthetic"]
    nation.part(1, "RI", tmp_path / "again.parquet", **OF_NATION)
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (files[1], tmp_path / "again.parquet")}
    assert len(digests) == 1
    nation.part(2, "RI", tmp_path / "again.parquet", **OF_NATION)
    assert hashlib.sha256((tmp_path / "again.parquet").read_bytes()).hexdigest() not in digests


def test_what_is_not_written_is_still_measured(files, tmp_path):
    """Check results down to block groups: the same numbers, without blocks."""
    nation.part(1, "RI", tmp_path / "RI.parquet", **(OF_NATION | {"deepest": "block group"}))
    short, whole = (pq.read_table(path).to_pandas() for path in (tmp_path / "RI.parquet", files[1]))
    pd.testing.assert_frame_equal(
        short.astype({"level": str}), whole[whole["level"] != "block"].astype({"level": str}), check_exact=True
    )


def test_the_table_is_that_of_all_rows_together(files, monkeypatch):
    """Compare row groups of 7 rows with the whole table in memory."""
    found = nation.table(1, parts=files, **OF_NATION).set_index(["level", "method"])
    rows = pd.concat([pq.read_table(path).to_pandas().astype({"level": str}) for path in files])
    for level, own in rows.groupby("level"):
        answer = found.loc[(level, "posterior")]
        assert answer["nodes"] == len(own)
        assert answer["rmse"] == pytest.approx(np.sqrt(((own["mean"] - own["truth"]) ** 2).mean()))
        assert answer["coverage"] == own["truth"].between(own["lower"], own["upper"]).mean()
        assert answer["width"] == pytest.approx((own["upper"] - own["lower"]).mean())
        least = found.loc[(level, "least squares")]
        assert least["rmse"] == pytest.approx(np.sqrt(((own["least_squares"] - own["truth"]) ** 2).mean()))
        assert least["width"] == pytest.approx(2 * 1.6448536269514722 * own["least_squares_sd"].mean())
    assert set(found["status"]) == {"exact", "comparison"}
    top = nation.largest(files, "tract", 3)
    tracts = pd.concat([rows[rows["level"] == "tract"]])
    np.testing.assert_array_equal(top["mean"], tracts["mean"].nlargest(3))
    with style.applied():
        figure = nation.figure(found.reset_index())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(nation.METHODS)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == list(nation.LEVELS[1:])


def test_bins_with_few_places_are_not_drawn():
    """Check the curves over the bins and the separate marks for all counts, with offsets of 0.12 (i - 1). A bin needs
    20 places, and the error bars of the coverage end at 1.
    """
    keys = {"level": ["county"], "method": study.METHODS, "start": [0, 1, 10]}
    table = artists.crossed("rmse", "width", "coverage", "coverage_se", **keys).assign(interval=0.9)
    table["from"], table["to"] = [0, 1, 0] * 3, [1, 5, np.inf] * 3
    table["counts"] = 20
    lost = table[table["start"] == 1].assign(counts=19, **{"from": 5, "to": 9})
    rows = pd.concat([table, lost], ignore_index=True)
    figure = study.figure(rows)
    for axis, measure in zip(figure.axes, study.MEASURES, strict=True):
        expected = [artists.across("level", 0.9, style.GREY)] if measure == "coverage" else []
        for i, method in enumerate(study.METHODS):
            own = table[table["method"] == method]
            x, y = np.arange(3) + 0.12 * (i - 1), own[measure].to_numpy()
            colour = style.CYCLE[i]
            expected.append(artists.line(x[:2], y[:2], colour, kind="curve"))
            expected.append(artists.line(x[2:], y[2:], colour, kind="curve"))
            if measure == "coverage":
                reach = 2 * own["coverage_se"]
                expected.append(artists.bars(x, y - reach, np.minimum(y + reach, 1), colour=colour))
        assert not artists.wrong(axis, *expected)
        assert axis.get_yscale() == ("linear" if measure == "coverage" else "log")
        assert axis.get_xlim() == (-0.5, 2.5)
    assert [label.get_text() for label in figure.axes[-1].get_xticklabels()] == ["0", "1 to 4", "all"]


def test_curves_of_the_nation():
    """Check the offsets of 0.06 (i - 1), the scales, and the omission of the first level."""
    table = artists.crossed("rmse", "coverage", level=nation.LEVELS, method=nation.METHODS).assign(interval=0.9)
    figure = nation.figure(table)
    for axis, measure in zip(figure.axes, ("rmse", "coverage"), strict=True):
        expected = [artists.across("level", 0.9, style.GREY)] if measure == "coverage" else []
        for i, method in enumerate(nation.METHODS):
            own = table[(table["method"] == method) & (table["level"] != "state")]
            expected.append(artists.line(np.arange(4) + 0.06 * (i - 1), own[measure], style.CYCLE[i], kind="curve"))
        assert not artists.wrong(axis, *expected)
        assert axis.get_xticks().tolist() == [0, 1, 2, 3]
    assert [axis.get_yscale() for axis in figure.axes] == ["log", "linear"]
    assert [axis.get_ylabel() for axis in figure.axes] == ["root mean square error", "coverage"]


def test_parents_have_a_child_each():
    """Check that every parent has a child, that children are sorted by parent, and that one more child is possible."""
    rng = stream(2, "above")
    for size in (4, 5, 40):
        found = nation._above(size, 4, 2.0, rng)
        assert len(found) == size
        assert set(found) == {0, 1, 2, 3}
        assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("top", [1, 4])
def test_the_largest_counts_of_equal_means_are_in_order_of_the_states(files, top):
    found = nation.largest(files, "block", top)
    assert len(found) == top
    assert (np.diff(found["mean"]) <= 0).all()
    assert set(found.columns) == {"state", "node", "mean", "sd", "lower", "upper"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_error_of_the_nation_is_the_largest_of_its_states(monkeypatch, order):
    """Check two states with one county each, with the errors 0.001 and 0.02, of which one is approximate."""
    stated = [("exact", 0.001), ("approximate", 0.02)]
    facts = [{"level": "0.9", "status": stated[i][0], "error": repr(stated[i][1])} for i in order]
    numbers = {"truth": 5, "least_squares": 6.0, "least_squares_sd": 1.0, "mean": 7.0, "lower": 4, "upper": 9}
    monkeypatch.setattr(nation, "facts", lambda path: facts[path])
    monkeypatch.setattr(nation, "groups", lambda *_: iter([pd.DataFrame([{"level": "county"} | numbers])]))
    found = nation.accuracy([0, 1]).set_index("method")
    assert (found.loc["posterior", "status"], found.loc["posterior", "error"]) == ("approximate", 0.02)
    assert found.loc["posterior", ["nodes", "rmse", "coverage", "width"]].tolist() == [2, 2.0, 1.0, 5.0]
    assert found.loc["least squares", "rmse"] == 1.0
