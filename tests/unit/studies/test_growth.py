"""Tests of the study of growth: list scheduling by hand-made schedules, and the job graph by the jobs."""

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._seeding import stream
from reproduction import paper, studies, style
from reproduction.jobs import artefacts
from reproduction.studies import growth as study
from reproduction.studies.growth import Step, makespan
from reproduction.verdicts import artists

PAPERS = paper.discover()
SMALL = {
    "totals": [20, 40], "counts": [3, 4], "records": [200], "releases": [1, 2], "repeats": 1,
    "times": [1, 50], "cores": [1, 4], "start_up": 2.0, "piece": 30.0,
}  # fmt: skip


def named(*, times=1.0, piece=30.0, start_up=2.0):
    return study.of_papers(PAPERS.values(), times=times, piece=piece, start_up=start_up)


@pytest.mark.parametrize(("cores", "seconds"), [(1, 12.0), (2, 7.0), (3, 7.0), (9, 7.0)])
def test_a_diamond_by_hand(cores, seconds):
    """Check a (2), then b (4) and c (3), then d (1) after both; e (2) waits for no job.

    On two cores a and e until 2, b and c from 2, until 6 and 5, d from 6 to 7.
    """
    steps = {
        "a": Step(2),
        "b": Step(4, frozenset("a")),
        "c": Step(3, frozenset("a")),
        "d": Step(1, frozenset("bc")),
        "e": Step(2),
    }
    assert makespan(steps, cores) == seconds


def test_grahams_anomaly_is_kept():
    """Check nine jobs on three cores in list order: 12; if all are shorter by one, 13 (Graham 1969)."""
    seconds = dict(zip("123456789", (3, 2, 2, 2, 4, 4, 4, 4, 9), strict=True))
    needs = {"9": "1", "5": "4", "6": "4", "7": "4", "8": "4"}
    for less, expected in ((0, 12), (1, 13)):
        steps = {n: Step(s - less, frozenset(needs.get(n, "")), priority=-int(n)) for n, s in seconds.items()}
        assert makespan(steps, 3) == expected


def test_nothing_runs_beside_a_timing_and_nothing_overtakes_it():
    steps = {"timing": Step(5, alone=True, priority=9), "long": Step(4), "short": Step(1)}
    assert makespan(steps, 2) == 9  # 5 alone, then 4 beside 1
    assert makespan(steps | {"timing": Step(5, alone=True, priority=-9)}, 2) == 9  # 4 beside 1, then 5
    assert makespan(steps | {"timing": Step(5, priority=9)}, 2) == 5
    first = {"first": Step(2, priority=9), "timing": Step(5, alone=True, priority=5), "last": Step(1)}
    assert makespan(first, 2) == 8  # 2, then 5, then 1: the last would fit beside the first


def test_what_cannot_run_is_refused():
    with pytest.raises(ValueError, match="must depend only on jobs that end earlier, got later jobs as inputs of a, b"):
        makespan({"a": Step(1, frozenset("b")), "b": Step(1, frozenset("a"))}, 2)
    with pytest.raises(ValueError, match="cores must be >= 1, got 0"):
        makespan({}, 0)


def test_the_graph_has_the_jobs_of_the_papers():
    found = named()
    for one in PAPERS.values():
        rules = {artefacts.table_rule(one, a) for a in one.artefacts if a.table}
        rules |= {artefacts.figure_rule(one, a) for a in one.artefacts if a.figure}
        rules |= {f"{loop.rule}.1" for loop in artefacts.loops(one)}
        assert {name for name in found if name.startswith(one.slug)} == rules  # half an hour a piece: one each
    assert all(need in found for step in found.values() for need in step.needs)
    assert found["raim2021_coverage_table"].needs == {"raim2021_coverage_loop.1"}
    assert found["raim2021_coverage_figure"].needs == {"raim2021_coverage_table"}


def test_work_is_the_papers_minutes_and_loops_alone_grow():
    """Return the sum of all steps minus their starts: minutes of tables, figures and loops, which run `times` over."""
    loops = sum(loop.minutes for one in PAPERS.values() for loop in artefacts.loops(one))
    tables = sum(a.table.minutes for one in PAPERS.values() for a in one.artefacts if a.table)
    figures = sum(a.figure.minutes for one in PAPERS.values() for a in one.artefacts if a.figure)
    for times in (1.0, 300.0):
        found = named(times=times)
        work = sum(step.seconds - 2.0 for step in found.values()) / 60
        assert work == pytest.approx(tables + figures + times * loops)
    pieces = [name for name in found if name.startswith("raim2021_coverage_loop.")]
    (loop,) = (loop for loop in artefacts.loops(PAPERS["raim2021"]) if loop.module == "coverage")
    assert len(pieces) == int(np.ceil(300 * loop.minutes / 30)) > 1
    assert found["raim2021_coverage_table"].needs >= {*pieces}


@pytest.mark.parametrize("cores", [1, 3, 40])
def test_a_schedule_lies_between_its_bounds(cores):
    """Check the bounds: work over cores and the longest chain below, Graham's work over cores plus the chain above."""
    steps = named(times=20.0)
    chain: dict[str, float] = {}

    def until(name):
        if name not in chain:
            chain[name] = steps[name].seconds + max(map(until, steps[name].needs), default=0.0)
        return chain[name]

    longest, work = max(map(until, steps)), sum(step.seconds for step in steps.values())
    found = makespan(steps, cores)
    assert max(longest, work / cores) - 1e-6 <= found <= work / cores + (1 - 1 / cores) * longest + 1e-6


def test_the_study_measures_and_simulates_all_of_its_settings():
    table = study.table(3, **SMALL)
    assert list(table.columns) == list(study.COLUMNS)
    sizes = {what: rows["size"].tolist() for what, rows in table.groupby("what")}
    assert sizes == {"M": [20, 40], "S": [3, 4], "n": [200], "releases": [1, 2], "run": [1, 1, 50, 50]}
    assert (table["seconds"] > 0).all()
    simulated = table[table["what"] == study.RUN].set_index(["size", "cores"])["seconds"]
    assert simulated[50, 4] == makespan(named(times=50), 4)
    assert simulated[50, 1] == pytest.approx(sum(step.seconds for step in named(times=50).values()))
    with style.applied():
        figure = study.figure(table)
    left, right = figure.axes
    assert [line.get_label().split(",")[0] for line in left.lines] == ["M", "S", "n", "releases"]
    curves = [line for line in right.lines if line.get_linestyle() == "-"]
    assert curves[1].get_ydata() == pytest.approx(simulated[50].to_numpy() / 3600)


def test_the_folder_has_settings_for_every_argument():
    own = studies.discover()["growth"]
    assert own.settings.keys() == SMALL.keys()


def test_curves_are_relative_to_the_smallest_size():
    """Check sizes and times relative to the first row of a subject, hours, and lines of perfect speed-up."""
    rows = [("M", 20, 1, 2.0), ("M", 80, 1, 6.0), ("n", 5, 1, 0.5), ("n", 10, 1, 4.0), (study.RUN, 3, 2, 7200.0),
            (study.RUN, 3, 8, 3600.0)]  # fmt: skip
    figure = study.figure(pd.DataFrame(rows, columns=list(study.COLUMNS)))
    left, right = figure.axes
    first, second = style.CYCLE[:2]
    assert not artists.wrong(
        left, artists.line([1, 4], [1, 3], first, kind="curve"), artists.line([1, 2], [1, 8], second, kind="curve")
    )
    assert not artists.wrong(
        right, artists.line([2, 8], [2, 1], first, kind="curve"), artists.line([2, 8], [2, 0.5], style.GREY)
    )
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["M, from 20: 2 s", "n, from 5: 0.5 s"]
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["loops 3 times as long"]
    assert {axis.get_xscale() + axis.get_yscale() for axis in figure.axes} == {"loglog"}
    assert right.get_xticks().tolist() == [2, 8]
    assert [t for t in left.get_xticks() if t in (1, 2, 4, 8, 16)] == [1, 2, 4, 8, 16]


def test_jobs_with_equal_priority_start_with_the_longest():
    """Check jobs of 1, 1 and 3 s on two cores: if the longest job starts first, all have ended after 3 s."""
    assert makespan({"a": Step(1), "b": Step(1), "c": Step(3)}, 2) == 3
    assert makespan({"a": Step(1, priority=1), "b": Step(1, priority=1), "c": Step(3)}, 2) == 4
    assert makespan({}, 1) == 0
    assert makespan({"a": Step(2, alone=True)}, 3) == 2


def test_pieces_of_loops_and_their_start():
    """Check that a loop is divided into pieces of at most the given minutes, and that each job has a start."""
    (loop,) = (loop for loop in artefacts.loops(PAPERS["raim2021"]) if loop.module == "coverage")
    for piece, pieces in ((loop.minutes, 1), (loop.minutes / 2, 2), (loop.minutes / 2.01, 3)):
        found = {n: s for n, s in named(piece=piece).items() if n.startswith("raim2021_coverage_loop.")}
        assert len(found) == pieces
        for step in found.values():
            assert step.seconds == pytest.approx(60 * loop.minutes / pieces + 2)
    assert all(step.seconds >= 7 for step in named(start_up=7.0).values())


def test_work_of_the_posteriors_has_the_stated_sizes():
    summary = study._noisy(30, 4, stream(1, "noisy"))
    assert len(summary) > 0
    calls = []
    assert study._used(lambda rng: calls.append(rng.random()), 1, "M", 20, 0) >= 0
    assert calls == [stream(1, "studies", "growth", "M", 20, 0).random()]
