"""What one job does: tables one after the other, each with its stream, files and row; a mistake names its artefact."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._seeding import stream
from reproduction import tables
from reproduction.jobs import dependencies, drawing, making

SETTINGS = {"replications": 5, "block": 2}


def first(*, rng):
    return pd.DataFrame({"x": rng.random(3)})


def second(*, first):
    return first.assign(y=first["x"] * 2)


def simulate(size, *, rng):
    return pd.DataFrame({"u": rng.random(size)})


def mean(table):
    return pd.DataFrame({"n": [len(table)], "mean": [table["u"].mean()]})


def broken():
    raise ValueError("no such thing")


def figure(table):
    from matplotlib.figure import Figure

    drawn = Figure()
    drawn.subplots().plot(table["x"])
    return drawn


def part(name, by="compute", settings=None, reads=None):
    return {
        **{"name": name, "label": name, "caption": f"About {name}.", "by": by, "function": f"toy.tables.{name}"},
        **{"names": ["toy", name], "settings": settings or {}, "programs": {}, "files": {}, "reads": reads or {}},
    }


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reproduction.jobs.adapters.find", lambda name: globals()[name.rpartition(".")[2]])
    monkeypatch.setattr(dependencies, "of_job", lambda *modules: [])
    for folder in ("results/toy", "figures/toy"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def test_tables_of_a_job_have_streams_of_their_own_and_read_each_other(here):
    parts = [part("first"), part("second", reads={"first": "results/toy/first.csv"})]
    making.all_tables([], parts, root_seed=7)
    alone = stream(7, "toy", "first").random(3)
    made = tables.read("results/toy/second.csv")
    assert np.array_equal(made["x"], alone)
    assert np.array_equal(made["y"], 2 * alone)
    for name in ("first", "second"):
        assert "<table>" in (here / f"results/toy/{name}.html").read_text()
        record = json.loads((here / f"results/toy/{name}.provenance.json").read_text())
        assert (record["function"], record["root_seed"]) == (f"toy.tables.{name}", 7)
        row = pd.read_csv(here / f"results/benchmarks/toy_compute_{name}.tsv", sep="\t")
        assert list(row) == ["s", "h:m:s", "max_rss", "cpu_time"]
        assert len(row) == 1


def test_a_short_loop_is_run_before_its_table(here):
    loop = {"name": "loop", "function": "toy.tables.simulate", "names": ["toy", "loop"], "settings": SETTINGS}
    loop |= {"pieces": 1, "file": "results/toy/simulated/loop_{shard}_of_1.csv"}
    file = "results/toy/simulated/loop_1_of_1.csv"
    making.all_tables([loop], [part("mean", "summarise", SETTINGS, {file: file})], root_seed=7)
    drawn = np.concatenate([stream(7, "toy", "loop", i).random(size) for i, size in enumerate((2, 2, 1))])
    assert tables.read(file)["u"].tolist() == drawn.tolist()
    assert tables.read("results/toy/mean.csv").loc[0, "mean"] == pytest.approx(drawn.mean(), rel=1e-15)


def test_pieces_of_a_loop_are_the_loop(here):
    loop = {"function": "toy.tables.simulate", "names": ["toy", "loop"], "settings": SETTINGS, "pieces": 2}
    loop |= {"file": "results/toy/simulated/loop_{shard}_of_2.csv"}
    for shard in (1, 2):
        making.piece(loop, shard, root_seed=7)
    drawn = pd.concat([tables.read(loop["file"].format(shard=shard)) for shard in (1, 2)])
    assert drawn["block"].tolist() == [0, 0, 1, 1, 2]


def test_a_mistake_names_its_artefact_and_leaves_what_was_made(here, monkeypatch, capsys):
    told = []
    monkeypatch.setattr(sys, "__stderr__", type("Told", (), {"write": lambda self, text: told.append(text)})())
    with pytest.raises(ValueError, match="no such thing") as caught:
        making.all_tables([], [part("first"), part("broken"), part("second")], root_seed=7)
    assert caught.value.__notes__ == ["while making toy broken (toy.tables.broken)"]
    assert "toy broken: ValueError: no such thing" in "".join(told)
    assert (here / "results/toy/first.csv").is_file()
    assert not (here / "results/toy/second.csv").exists()
    assert capsys.readouterr().err.startswith("first: ")


def test_figures_of_a_job_are_drawn_one_after_the_other(here):
    making.all_tables([], [part("first")], root_seed=7)
    parts = [
        {
            "name": name,
            "function": "toy.tables.figure",
            "table": "results/toy/first.csv",
            "png": f"figures/toy/{name}.png",
        }
        for name in ("a", "b")
    ]
    drawing.all_figures(parts)
    assert (here / "figures/toy/a.png").read_bytes() == (here / "figures/toy/b.png").read_bytes()
    assert (here / "figures/toy/b.pdf").read_bytes().startswith(b"%PDF")
