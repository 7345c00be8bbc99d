"""Tests of the work of a job: a table with its stream and files, a piece of a loop, a figure.

Streams depend only on seed and names, and results do not depend on the shards.
"""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmultinomial._seeding import stream
from reproduction import dependencies, tables
from reproduction.jobs import making

SETTINGS = {"replications": 5, "block": 2}


def first(*, rng):
    return pd.DataFrame({"x": rng.random(3)})


def second(*, first, rscript, script):
    return first.assign(y=first["x"] * 2, rscript=rscript, script=script.name)


def simulate(size, *, rng):
    return pd.DataFrame({"u": rng.random(size)})


def mean(table):
    return pd.DataFrame({"n": [len(table)], "mean": [table["u"].mean()]})


def below(table):
    return table


def figure(table):
    from matplotlib.figure import Figure

    drawn = Figure()
    drawn.subplots().plot(table["x"])
    return drawn


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reproduction.jobs.making.find", lambda name: globals()[name.rpartition(".")[2]])
    monkeypatch.setattr(dependencies, "of_job", lambda *modules: [])
    for folder in ("results/toy", "figures/toy"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def make(name, by="compute", settings=None, reads=None, files=None, programs=None):
    csv = f"results/toy/{name}.csv"
    about = {
        "by": by,
        "settings": settings or {},
        "reads": reads or {},
        "files": files or {},
        "programs": programs or {},
    }
    making.table(f"toy.tables.{name}", csv, **about, names=["toy", name], root_seed=7)
    return tables.read(csv)


def piece(shard, shards):
    csv = f"results/toy/loop_{shard}_of_{shards}.csv"
    about = {"settings": SETTINGS, "names": ["toy", "loop"], "root_seed": 7, "shard": shard, "shards": shards}
    making.piece("toy.tables.simulate", csv, **about)
    return csv


def test_a_table_has_its_own_stream_and_reads_others(here):
    make("first")
    (here / "baseline.R").write_text("")
    reads, files = {"first": "results/toy/first.csv"}, {"script": "baseline.R"}
    made = make("second", reads=reads, files=files, programs={"Rscript": "/usr/bin/Rscript"})
    drawn = stream(7, "toy", "first").random(3)
    assert np.array_equal(made["x"], drawn)
    assert np.array_equal(made["y"], 2 * drawn)
    assert set(made["rscript"]) == {"/usr/bin/Rscript"}
    for name in ("first", "second"):
        record = json.loads((here / f"results/toy/{name}.provenance.json").read_text())
        assert (record["function"], record["root_seed"]) == (f"toy.tables.{name}", 7)
        assert list(record["files_sha256"]) == [f"{name}.csv"]
    assert set(record["inputs_sha256"]) == {"first.csv", "baseline.R"}


@pytest.mark.parametrize("shards", [1, 2])
def test_pieces_of_a_loop_are_the_loop(here, shards):
    files = [piece(shard, shards) for shard in range(1, shards + 1)]
    drawn = np.concatenate([stream(7, "toy", "loop", i).random(size) for i, size in enumerate((2, 2, 1))])
    found = pd.concat([tables.read(file) for file in files])
    assert found["u"].tolist() == drawn.tolist()
    assert found["block"].tolist() == [0, 0, 1, 1, 2]
    made = make("mean", "summarise", SETTINGS, {file: file for file in reversed(files)})
    assert made.loc[0, "n"] == 5
    assert made.loc[0, "mean"] == pytest.approx(drawn.mean(), rel=1e-15)


def test_gathered_tables_are_stacked_in_their_order(here):
    files = [piece(shard, 2) for shard in (1, 2)]
    made = make("below", "gather", reads={file: file for file in reversed(files)})
    assert made["block"].tolist() == [1, 1, 2, 0, 0]


def test_a_table_whose_function_fails_leaves_no_file(here):
    with pytest.raises(KeyError):
        make("no_such_function")
    assert not (here / "results/toy/no_such_function.csv").exists()


def test_a_figure_is_drawn_from_its_table(here):
    make("first")
    for name in ("a", "b"):
        making.figure(
            "toy.tables.figure", "results/toy/first.csv", f"figures/toy/{name}.png", f"figures/toy/{name}.pdf"
        )
    assert (here / "figures/toy/a.png").read_bytes() == (here / "figures/toy/b.png").read_bytes()
    assert (here / "figures/toy/b.pdf").read_bytes().startswith(b"%PDF")
    record = json.loads((here / "figures/toy/b.provenance.json").read_text())
    assert set(record["files_sha256"]) == {"b.png", "b.pdf"}


def drawn(*names, seed=1):
    return stream(seed, *names).random()


def test_a_stream_is_a_function_of_seed_and_names():
    assert drawn("a", "b") == drawn("a", "b")
    different = [("a", "b"), ("ab",), ("b", "a"), ("a", "b", 0), ("a", "b", "0"), ("a", "b", 1)]
    assert len({drawn(*names) for names in different}) == len(different)
    assert drawn("a", seed=1) != drawn("a", seed=2)


def test_a_stream_is_the_same_on_every_machine():
    assert stream(20180531, "balmat2018", "figure_2", 0).integers(2**63) == 667598270787715058


@pytest.mark.parametrize(
    ("seed", "names", "error"),
    [
        (-1, ("a",), ValueError),
        (1, (), ValueError),
        (None, ("a",), TypeError),
        (1.0, ("a",), TypeError),
        (1, (2.5,), TypeError),
    ],
)
def test_bad_seeds_and_names_are_refused(seed, names, error):
    with pytest.raises(error):
        stream(seed, *names)


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 30))
def test_shards_share_out_every_block_once(replications, block, shards):
    parts = [making.of_shard(replications, block, s, shards) for s in range(1, shards + 1)]
    together = [b for part in parts for b in part]
    assert [index for index, _ in together] == list(range(len(together)))
    assert sum(size for _, size in together) == replications
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def draw(size, *, rng):
    return pd.DataFrame({"x": rng.random(size)})


@pytest.mark.parametrize("shards", [1, 2, 5, 40])
def test_stacked_shards_equal_one_run(shards):
    settings = {"replications": 101, "block": 10}
    known = {"root_seed": 3, "names": ("test",)}
    whole = making.simulate(draw, settings, **known)
    parts = [making.simulate(draw, settings, **known, shard=s, shards=shards) for s in range(1, shards + 1)]
    pd.testing.assert_frame_equal(making.stack(parts), whole)
    assert np.array_equal(whole["x"][:10], stream(3, "test", 0).random(10))


@pytest.mark.parametrize(
    ("replications", "block", "shard", "shards", "expected"),
    [
        (5, 2, 1, 1, [(0, 2), (1, 2), (2, 1)]),
        (5, 2, 1, 2, [(0, 2)]),
        (5, 2, 2, 2, [(1, 2), (2, 1)]),
        (4, 2, 2, 2, [(1, 2)]),
        (1, 9, 1, 1, [(0, 1)]),
        (1, 1, 1, 3, []),
        (1, 1, 3, 3, [(0, 1)]),
    ],
)
def test_blocks_of_a_shard_by_hand(replications, block, shard, shards, expected):
    assert making.of_shard(replications, block, shard, shards) == expected


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("replications", (0, 1, 1, 1)),
        ("block", (1, 0, 1, 1)),
        ("shard", (1, 1, 0, 1)),
        ("shard", (1, 1, 3, 2)),
        ("shards", (1, 1, 1, 0)),
    ],
)
def test_a_shard_outside_of_the_shards_is_refused(name, arguments):
    with pytest.raises(ValueError, match=f"^{name} must"):
        making.of_shard(*arguments)


def test_a_shard_without_blocks_is_an_empty_table():
    settings = {"replications": 1, "block": 1}
    found = making.simulate(draw, settings, root_seed=1, names=("test",), shard=1, shards=3)
    assert list(found) == ["block"]
    assert found.empty
    whole = making.simulate(draw, settings, root_seed=1, names=("test",), shard=3, shards=3)
    assert list(whole) == ["block", "x"]
    pd.testing.assert_frame_equal(making.stack([found, whole]), whole)


def test_rows_of_a_block_keep_their_order_when_parts_are_stacked():
    late, early = pd.DataFrame({"block": [1, 1], "x": [3, 1]}), pd.DataFrame({"block": [0, 0], "x": [2, 0]})
    found = making.stack([late, early])
    assert found["x"].tolist() == [2, 0, 3, 1]
    assert found.index.tolist() == [0, 1, 2, 3]
