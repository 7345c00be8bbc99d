"""A user's own microdata through the workflow: swapped file, report, and what happens when the data are wrong."""

import json

import pandas as pd

TARGETS = ("results/pan2023/swapped_mine.csv", "results/pan2023/scenario_mine.csv", "figures/pan2023/scenario_mine.png")


def overlay(folder, **changes):
    mine = {"data": "people.csv", "swap": ["name", "sex"], "match": ["block"], "rate": 0.5} | changes
    path = folder.path / "mine.yaml"
    path.write_text(json.dumps({"pan2023": {"scenarios": {"mine": mine}}}))
    return "--configfile", str(path)


def people(folder, blocks=("1", "2", "3")):
    frame = pd.DataFrame({"name": [f"{i:03d}" for i in range(90)], "sex": ["f", "m"] * 45})
    frame["block"] = [blocks[i % len(blocks)] for i in range(90)]
    frame["role"] = ["a"] * 30 + ["b"] * 60
    frame.to_csv(folder.path / "people.csv", index=False)
    return (folder.path / "people.csv").read_bytes()


def test_microdata_are_swapped_within_strata_and_left_as_they_were(folder):
    run = folder()
    before = people(run)
    options = overlay(run)
    run.snakemake(*TARGETS, *options)
    assert (run.path / "people.csv").read_bytes() == before
    original, swapped = (pd.read_csv(run.path / p, dtype=str) for p in ("people.csv", TARGETS[0]))
    assert original[["block", "role"]].equals(swapped[["block", "role"]])
    counts = [t.groupby(["block", "name", "sex"]).size() for t in (original, swapped)]
    pd.testing.assert_series_equal(*counts)
    report = pd.read_csv(run.path / TARGETS[1]).set_index("statistic")["value"]
    assert report["changed values of name, share"] > 0.2
    assert run.planned(*TARGETS, *options) == {}
    people(run, blocks=("1", "2"))
    assert run.planned(*TARGETS, *options) == {
        "pan2023_scenario_mine": 1,
        "pan2023_swap_mine": 1,
        "pan2023_draw_scenario_mine": 1,
    }


def test_wrong_columns_stop_before_any_job(folder):
    run = folder()
    people(run)
    output = run.snakemake(*TARGETS, *overlay(run, swap=["nmae"], rate=1.5), good=False)
    assert "pan2023.scenarios.mine.rate: 1.5" in output
    output = run.snakemake(*TARGETS, *overlay(run, swap=["nmae"]), good=False)
    assert "'nmae' is no column of people.csv" in output
    assert not (run.path / "results").exists()


def test_missing_values_in_the_key_leave_nothing_half_written(folder):
    run = folder()
    before = people(run, blocks=("1", "", "3"))
    output = run.snakemake(*TARGETS, *overlay(run), good=False)
    assert "missing values, got 30 record(s), first at index 1" in output
    assert (run.path / "people.csv").read_bytes() == before
    assert not any((run.path / target).exists() for target in TARGETS)
    assert not list((run.path / "results").rglob("*.part"))
