"""Tests of a nation, one state at a time: published sizes, equal bytes, questions without the nation in memory."""

import hashlib

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream
from reproduction import studies, style
from reproduction.studies import nation as study

SIGMAS = {"county": 2.17, "tract": 2.47, "block group": 1.75, "block": 20.0}
SETTINGS = {"scale": 0.004, "sigmas": SIGMAS, "level": 0.9, "deepest": "block"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nation")
    made = [folder / f"{name}.parquet" for name in ("DC", "RI")]
    for path in made:
        study.part(1, path.stem, path, **SETTINGS)
    return made


def test_sizes_are_those_published():
    """Check that sums of the table are the nation's: 3,143 counties, 331,449,281 people; shares sum up to rounding."""
    every = pd.read_csv(study.STATES, sep="\t")
    assert (len(every), every["counties"].sum(), every["population"].sum()) == (51, 3143, 331_449_281)
    found = np.array([study.sizes(name, 1.0) for name in every["state"]]).sum(axis=0)
    assert found[[0, 4]].tolist() == [3143, 331_449_281]
    assert np.abs(found[1:4] - [84_414, 239_780, 5_769_942]).max() <= 26
    assert found[:4].sum() + 51 == pytest.approx(6_097_330, abs=80)
    assert studies.discover()["nation"].parts == tuple(every["state"])
    assert study.sizes("DC", 1e-6) == (1, 1, 1, 1, 1)


def test_a_state_adds_up_to_its_population_and_is_measured_everywhere_else():
    made = study.drawn("RI", scale=0.01, sigmas=SIGMAS, rng=stream(3, "state"))
    counties, tracts, groups, blocks, people = study.sizes("RI", 0.01)
    assert np.bincount(made.tree.depth).tolist() == [1, counties, tracts, groups, blocks]
    assert made.truth[0] == people == made.measured.released[0] == round(0.01 * 1_097_379)
    np.testing.assert_array_equal(made.tree.sums(made.truth), made.truth)
    assert np.bincount(made.tree.parent[1:], minlength=len(made.tree))[~made.tree.leaf].min() >= 1
    noise = (made.measured.released - made.truth)[made.tree.depth == 4]
    assert 14 < noise.std() < 26


def test_a_file_has_what_inference_finds_and_the_same_bytes_again(files, tmp_path):
    rows = pq.read_table(files[1]).to_pandas()
    made = study.drawn("RI", scale=0.004, sigmas=SIGMAS, rng=stream(1, "studies", "nation", "RI"))
    found = infer(made.measured, level=0.9)
    np.testing.assert_array_equal(rows["truth"], made.truth)
    np.testing.assert_array_equal(rows["mean"], found.mean)
    np.testing.assert_array_equal(rows["upper"], found.upper)
    np.testing.assert_array_equal(rows["least_squares"], found.least_squares.estimate)
    assert rows["level"].tolist() == [made.tree.levels[d] for d in made.tree.depth]
    told = study.facts(files[1])
    assert (told["state"], told["status"], told["level"]) == ("RI", "exact", "0.9")
    assert told["synthetic"]
    study.part(1, "RI", tmp_path / "again.parquet", **SETTINGS)
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (files[1], tmp_path / "again.parquet")}
    assert len(digests) == 1
    study.part(2, "RI", tmp_path / "again.parquet", **SETTINGS)
    assert hashlib.sha256((tmp_path / "again.parquet").read_bytes()).hexdigest() not in digests


def test_what_is_not_written_is_still_measured(files, tmp_path):
    """Check results down to block groups: the same numbers, without blocks."""
    study.part(1, "RI", tmp_path / "RI.parquet", **(SETTINGS | {"deepest": "block group"}))
    short, whole = (pq.read_table(path).to_pandas() for path in (tmp_path / "RI.parquet", files[1]))
    pd.testing.assert_frame_equal(
        short.astype({"level": str}), whole[whole["level"] != "block"].astype({"level": str}), check_exact=True
    )


def test_the_table_is_that_of_all_rows_together(files, monkeypatch):
    """Compare row groups of 7 rows with the whole table in memory."""
    found = study.table(1, parts=files, **SETTINGS).set_index(["level", "method"])
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
    top = study.largest(files, "tract", 3)
    tracts = pd.concat([rows[rows["level"] == "tract"]])
    np.testing.assert_array_equal(top["mean"], tracts["mean"].nlargest(3))
    with style.applied():
        figure = study.figure(found.reset_index())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(study.METHODS)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == list(study.LEVELS[1:])
