"""Batches: a row of a batch is the single table's posterior, a bad table stops nothing, shards change no byte."""

import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._posteriors.counts import laplace_multinomial
from dpmultinomial._posteriors.swapping import swapped_batches, unswapped
from dpmultinomial._seeding import stream
from reproduction import paper, style
from reproduction.cases import batch_figure, batch_tables, batches
from reproduction.config import batch_settings
from reproduction.jobs import adapters
from reproduction.scenarios import table_stream as batch_files

PAPERS = paper.discover()
BALMAT = {"scale": 2.0, "sensitivity": 2.0, "alpha": 1.0, "level": 0.9}
WANG = {"level": 0.95, "ties": "random", "prior": "flat"}
PAN = {"rate": 0.2, "alpha": 0.5, "level": 0.95}
KINDS = {"category": "text", "noisy_count": "number", "total": "number"}


def answered(slug, path, settings, shard=1, shards=1, **more):
    function = adapters.find(f"{slug}.batch.table")
    further = adapters.seeds(function, root_seed=5, names=(slug, "batch", "mine"))
    settings = {"data": str(path), **settings}
    about = PAPERS[slug].settings["batch"]
    parts = batches.answers(function, settings, about, further=further, shard=shard, shards=shards, **more)
    return pd.concat(parts, ignore_index=True)


def written(folder, text, name="tables.csv"):
    path = folder / name
    path.write_text(text)
    return path


def noisy_text(tables, total=30):
    rng = np.random.default_rng(4)
    rows = [f"t{t},c{c},{rng.laplace(10, 2):.3f},{total}" for t in range(tables) for c in range(3)]
    return "table,category,noisy_count,total\n" + "\n".join(rows) + "\n"


def test_a_row_is_the_posterior_of_its_own_table_whatever_stands_beside_it(tmp_path):
    """`laplace_multinomial.exact` sums over the counts themselves: another road to the same law."""
    path = written(
        tmp_path,
        "total,note,noisy_count,category,table\n"  # any order of columns, and others beside them
        "12,x,3.5,left,one\n40,x,-2.0,a,two\n12,x,9.1,right,one\n40,x,+17.25,b,two\n40,x, 2e1 ,c,two\n",
    )
    found = answered("balmat2018", path, BALMAT).set_index(["table", "category"])
    assert list(found.index) == [("one", "left"), ("one", "right"), ("two", "a"), ("two", "b"), ("two", "c")]
    for name, noisy, total in (("one", [3.5, 9.1], 12), ("two", [-2.0, 17.25, 20.0], 40)):
        law = laplace_multinomial.exact(noisy, total=total, scale=2.0, alpha=1.0)
        wanted = law.summary(0.9)[["mean", "sd", "lower", "upper"]].to_numpy()
        assert found.loc[name, ["mean", "sd", "lower", "upper"]].to_numpy(float) == pytest.approx(wanted, rel=1e-9)
        assert set(found.loc[name, "total"]) == {total}
    assert set(found["status"]) == {"exact"}


def test_two_categories_by_brute_force(tmp_path):
    """p ~ Beta(1, 1), S ~ Binomial(4, p): every S has prior 1/5, and given S the mean is (1 + S)/6."""
    path = written(tmp_path, "table,category,noisy_count,total,epsilon\nt,a,1.5,4,2\nt,b,2.0,4,2\n")
    weights = np.array([np.exp(-abs(1.5 - s) - abs(2.0 - (4 - s))) for s in range(5)])
    settings = {"sensitivity": 2.0, "alpha": 1.0, "level": 0.95}
    found = answered("balmat2018", path, settings)
    assert found["mean"][0] == pytest.approx(np.sum(weights * (1 + np.arange(5)) / 6) / weights.sum(), rel=1e-12)
    assert found["mean"].sum() == pytest.approx(1, abs=1e-14)


BAD = {
    "table,category,noisy_count,total\nt,a,1,9\nt,a,2,9\n": "category must not be given twice",
    "table,category,noisy_count,total\nt,a,1,9\nt,,2,9\n": "category must not be empty",
    "table,category,noisy_count,total\nt,a,1,9\nt,b,2,8\n": "total must be the same in all rows of a table",
    "table,category,noisy_count,total\nt,a,1,9\nt,b,many,9\n": "noisy counts must be finite",
    "table,category,noisy_count,total\nt,a,1,9\nt,b,inf,9\n": "noisy counts must be finite",
    "table,category,noisy_count,total\nt,a,1,9.5\nt,b,2,9.5\n": "total must be a whole number in [0, 1000000]",
    "table,category,noisy_count,total\nt,a,1,-1\nt,b,2,-1\n": "total must be a whole number in [0, 1000000]",
    "table,category,noisy_count,total\nt,a,1,\nt,b,2,\n": "total must be a whole number in [0, 1000000]",
    "table,category,noisy_count,total\nt,a,1,9\n": "needs at least 2 categories",
    'table,category,noisy_count,total\n"",a,1,9\n"",b,1,9\n': "table must have a name",
    "table,category,noisy_count,total\nt,a,1,9\nt,b\n": "a row has 2 fields, the header 4",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_table_says_why_in_its_own_row_and_stops_nothing(text, tmp_path):
    alone = written(tmp_path, "table,category,noisy_count,total\ngood,a,1,9\ngood,b,7,9\n", "good.csv")
    path = written(tmp_path, text + "good,a,1,9\ngood,b,7,9\n")
    found = answered("balmat2018", path, BALMAT)
    assert found["status"].tolist() == [f"refused: {BAD[text]}", "exact", "exact"]
    assert found.loc[0, "category"] == ""
    assert found.loc[0, ["mean", "sd", "lower", "upper"]].isna().all()
    pd.testing.assert_frame_equal(found[1:].reset_index(drop=True), answered("balmat2018", alone, BALMAT))


@pytest.mark.parametrize(("value", "word"), [("0", "epsilon"), ("-1", "epsilon"), ("x", "epsilon"), ("inf", "scale")])
def test_a_bad_epsilon_of_one_table_is_its_own_matter(value, word, tmp_path):
    text = f"table,category,noisy_count,total,epsilon\nt,a,1,9,{value}\nt,b,2,9,{value}\nu,a,1,9,1\nu,b,2,9,1\n"
    settings = {key: value for key, value in BALMAT.items() if key != "scale"}
    found = answered("balmat2018", written(tmp_path, text), settings)
    assert found["status"].str.contains("refused").tolist() == [True, False, False]
    assert f"{word} must be finite and > 0" in found["status"][0]


def test_additive_releases_are_answered_as_a_scenario_would(tmp_path):
    text = (
        "table,category,released,epsilon,algorithm\na,x,20,1,2\na,y,31,1,2\nb,x,2,0.5,3\nb,y,0,0.5,3\nb,z,7,0.5,3\n"
        "c,x,1.5,1,3\nd,total,3,1,3\ne,x,3,-1,3\nf,x,3,1,7\ng,x,3,1,3\ng,y,3,2,3\nh,x,100000001,1,3\n"
    )
    found = answered("wang2020", written(tmp_path, text), WANG)
    for name, counts, epsilon, algorithm in (("a", [20, 31], 1.0, "2"), ("b", [2, 0, 7], 0.5, "3")):
        law = additive_counts.posterior(counts, epsilon=epsilon, algorithm=algorithm).summary(0.95)
        mine = found[found["table"] == name]
        assert mine["category"].tolist() == [*"xyz"[: len(counts)], "total"]
        numbers = ["mean", "sd", "lower", "upper"]
        assert np.array_equal(mine[numbers].to_numpy(float), law[numbers].to_numpy(float))
        assert set(mine["total"]) == {sum(counts)}
    why = found.dropna(subset=["table"]).set_index("table")["status"]
    for name, words in {
        **{"c": "whole numbers >= 0", "d": "leave it out", "e": "epsilon", "f": "algorithm", "g": "same in all rows"},
        **{"h": "at most 100000000"},
    }.items():
        assert why[name].startswith("refused: ")
        assert words in why[name]


def test_swapped_tables_are_answered_one_by_one(tmp_path):
    text = "table,row,column,count\ns,a,p,10\ns,a,q,4\ns,b,q,12\ns,b,p,3\nu,a,p,1\nu,a,p,2\nv,a,p,x\n"
    found = answered("pan2023", written(tmp_path, text), PAN)
    law = unswapped.infer([[10, 4], [3, 12]], rate=0.2, rng=stream(1, "unused"), alpha=0.5, method="exact")
    wanted = law.summary(0.95)[["mean", "sd", "lower", "upper"]].to_numpy()
    assert found["category"].tolist()[:4] == ["a, p", "a, q", "b, p", "b, q"]
    assert found[["mean", "sd", "lower", "upper"]].to_numpy(float)[:4] == pytest.approx(wanted, rel=1e-9)
    assert found["status"].tolist()[4:] == [
        "refused: row and column must not be given twice",
        "refused: count must hold whole numbers >= 0",
    ]
    assert found["total"].tolist()[:4] == [29] * 4


def test_tables_of_chains_have_streams_of_their_own_names(tmp_path, monkeypatch):
    """What a chain would draw first, recorded in place of the chain; the place of a table in the file is no name."""
    drawn = {}

    def summaries(data, *, stream_of, **_):
        drawn.update({name: stream_of(str(place)).random() for place, name in enumerate(names)})
        return pd.DataFrame(columns=swapped_batches.RESULT).astype(
            {"table": int, "status": str, "row": str, "column": str}
        )

    monkeypatch.setattr(swapped_batches, "summaries", summaries)
    for names in (["s", "t"], ["t", "zz"]):
        text = "".join(f"{name},{r},{c},3\n" for name in names for r in "ab" for c in "pq")
        answered("pan2023", written(tmp_path, "table,row,column,count\n" + text), PAN)
        assert drawn["t"] == stream(5, "pan2023", "batch", "mine", "t").random()
    assert len(set(drawn.values())) == 3


@pytest.mark.parametrize("shards", [2, 3, 7, 40])
def test_shards_and_pieces_change_no_byte(shards, tmp_path, monkeypatch):
    """Rows of a table need not stand together; a row that is cut short spoils its own table."""
    header, *lines = noisy_text(31).splitlines()
    random.Random(7).shuffle(lines)
    path = written(tmp_path, "\n".join([header, *lines, "t7,c1", "late,c1,3", ""]))
    whole, joined = tmp_path / "whole.csv", tmp_path / "joined.csv"
    batch_tables.write([answered("balmat2018", path, BALMAT)], whole)
    monkeypatch.setattr(batches, "_PIECE", 4)
    monkeypatch.setattr(batch_files, "_BLOCK", 200)
    parts = [tmp_path / f"{shard}.csv" for shard in range(1, shards + 1)]
    for shard, part in enumerate(parts, start=1):
        function = adapters.find("balmat2018.batch.table")
        about = PAPERS["balmat2018"].settings["batch"]
        settings = {"data": str(path), **BALMAT}
        rows = batches.answers(function, settings, about, further={}, shard=shard, shards=shards)
        batch_tables.write(rows, part)
    batch_tables.together(parts, joined)
    assert joined.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("*.part"))
    counted = batches.counted(batch_tables.read(joined, ("table", "status"))).set_index("status")["tables"]
    assert counted["tables"] == 32
    assert counted["refused"] == 2
    assert counted["exact"] == 30


def test_parquet_and_csv_say_the_same(tmp_path):
    path = written(tmp_path, noisy_text(4))
    frame = pd.read_csv(path).astype({"category": "category"})
    pa.parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "tables.parquet")
    pd.testing.assert_frame_equal(
        answered("balmat2018", path, BALMAT), answered("balmat2018", tmp_path / "tables.parquet", BALMAT)
    )


def test_numbers_are_read_to_the_last_bit_and_words_are_no_numbers(tmp_path):
    texts = ["0.1", "123456789.12345678", "1e-300", " 7 ", "+3", ".5", "5.", "0x10", "1_000", "", "NaN", "1,5"]
    rows = "".join(f't,"{i}","{text}",1\n' for i, text in enumerate(texts))
    path = written(tmp_path, "table,category,noisy_count,total\n" + rows)
    found = batch_files.of_shard(path, KINDS, 1, 1).columns["noisy_count"]
    assert found[:7].tolist() == [0.1, 123456789.12345678, 1e-300, 7.0, 3.0, 0.5, 5.0]
    assert np.isnan(found[7:]).all()


def test_the_file_written_reads_back_exactly(tmp_path):
    found = answered("balmat2018", written(tmp_path, noisy_text(3)), BALMAT).assign(note="NA", category='a "b", c')
    batch_tables.write([found], tmp_path / "out.csv")
    again = pd.concat(batch_tables.read(tmp_path / "out.csv"), ignore_index=True)
    pd.testing.assert_frame_equal(again, found, check_dtype=False)
    assert (tmp_path / "out.csv").read_text().partition("\n")[0] == ",".join(batches.COLUMNS)


def test_progress_counts_tables_and_states_the_end(tmp_path):
    lines = []
    answered("balmat2018", written(tmp_path, noisy_text(3)), BALMAT, tell=lines.append)
    assert lines
    assert lines[-1].startswith("3 of 3 tables (100%)")
    assert "expected end" in lines[-1]


def test_a_summary_counts_tables_not_rows_and_the_commonest_come_first():
    parts = [
        pd.DataFrame({"table": ["a", "a", "b"], "status": ["exact", "exact", "refused: y"]}),
        pd.DataFrame({"table": ["b", "c", "d", "d"], "status": ["refused: y", "refused: x", "exact", "exact"]}),
    ]
    assert batches.counted(iter(parts)).to_numpy().tolist() == [
        *(["tables", 4], ["refused", 2], ["exact", 2], ["refused: x", 1], ["refused: y", 1])
    ]


def test_the_figure_shows_ranked_intervals_and_a_funnel(tmp_path):
    found = answered("balmat2018", written(tmp_path, noisy_text(9)), BALMAT)
    with style.applied():
        figure = batch_figure.batch([found])
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["c0", "c1", "c2", "funnel, all categories"]
    assert figure._suptitle.get_text() == "9 tables, 0 refused; central 90% intervals"
    ends = [[line.tolist() for line in figure.axes[0].collections[0].get_segments()]]
    own = found[found["category"] == "c0"].sort_values("mean")
    assert np.array(ends)[0, :, :, 1] == pytest.approx(own[["lower", "upper"]].to_numpy())


def broken(text, slug="balmat2018", name="mine", **batch):
    return dict(batch_settings.mistakes(PAPERS[slug].settings["batch"], {name: {"data": str(text), **batch}}))


@pytest.mark.parametrize(
    ("content", "batch", "key", "words"),
    [
        (None, {"scale": 1.0}, ".data", "is no file"),
        (b"", {"scale": 1.0}, ".data", "has no rows"),
        (b"table,category,noisy_count,total\n", {"scale": 1.0}, ".data", "has no rows"),
        (b"table,category,count,total\nt,a,1,2\n", {"scale": 1.0}, ".data", "lacks noisy_count"),
        (b"table,category,noisy_count,total\nt,\xe9,1,2\n", {"scale": 1.0}, ".data", "UTF-8 (byte 35)"),
        ("table,category,noisy_count,total\nt,a,1,2\n".encode("utf-16"), {"scale": 1.0}, ".data", "NUL"),
        (b"table,table,category,noisy_count,total\nt,t,a,1,2\n", {"scale": 1.0}, ".data", "twice"),
        (b"table,category,noisy_count,total\nt,a,1,2\n", {}, "", "no epsilon or scale"),
        (b"table,category,noisy_count,total\nt,a,1,2\n", {"scale": 1.0, "epsilon": 1.0}, "", "epsilon and scale"),
        (b"table,category,noisy_count,total,scale\nt,a,1,2,1\n", {"scale": 1.0}, ".scale", "is a column"),
        (b"table,category,noisy_count,total,scale\nt,a,1,2,1\n", {"epsilon": 1.0}, "", "epsilon and scale"),
    ],
)
def test_a_wrong_file_is_refused_before_any_job(content, batch, key, words, tmp_path):
    path = tmp_path / "tables.csv"
    if content is not None:
        path.write_bytes(content)
    found = broken(path, **batch)
    assert list(found) == [f"batches.mine{key}"]
    assert words in found[f"batches.mine{key}"]
    assert not key or key == ".scale" or str(path) in found[f"batches.mine{key}"]


def test_no_parquet_and_a_parquet_without_rows_are_refused(tmp_path):
    path = written(tmp_path, "table,category\n", "tables.parquet")
    assert "is no Parquet file" in broken(path, scale=1.0)["batches.mine.data"]
    empty = pd.DataFrame({"table": [], "category": [], "noisy_count": [], "total": []})
    pa.parquet.write_table(pa.Table.from_pandas(empty), path)
    assert "has no rows" in broken(path, scale=1.0)["batches.mine.data"]


def test_a_good_file_with_a_mark_in_front_and_a_folder_in_its_place(tmp_path):
    path = tmp_path / "tables.csv"
    path.write_bytes(b"\xef\xbb\xbf" + noisy_text(2).encode())
    assert broken(path, scale=1.0) == {}
    assert len(answered("balmat2018", path, BALMAT)) == 6
    assert "is no file" in broken(tmp_path, scale=1.0)["batches.mine.data"]
    assert "taken by the summary" in broken(path, name="x_summary", scale=1.0)["batches.x_summary"]


def test_text_that_is_broken_far_into_the_file_is_refused_by_the_job_with_its_path(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_settings, "_READ", 100)
    path = tmp_path / "tables.csv"
    path.write_bytes(noisy_text(2).encode() + b"t\xe9,c1,1,30\n")
    with pytest.raises(ValueError, match=r"tables\.csv: cannot be read as a file of tables"):
        answered("balmat2018", path, BALMAT)


def test_every_paper_with_batches_has_what_they_need():
    for slug, found in PAPERS.items():
        about = found.settings.get("batch")
        assert (about is not None) == (found.folder / "batch.py").is_file(), slug
        if about:
            assert set(about) == {"description", "data", "columns", "by_table", "one_of", "properties"}
            assert set(about["by_table"]) <= set(about["properties"])
            assert "level" in about["properties"]
            assert json.dumps(about)
            assert Path(found.folder / "batch.py").is_file()
