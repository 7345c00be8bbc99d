"""Tests of the times of a run: CPU seconds of its jobs and of Snakemake, and its expected end."""

import ast
import csv
import io
import logging
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from reproduction.jobs import costs, internals, progress

ROOT = Path(__file__).parents[3]
RULES = [*ROOT.glob("workflow/rules/*.smk"), *ROOT.glob("src/reproduction/papers/*/*.smk")]
_NAMED = re.compile(r'script:\s+"(?:\.\./scripts/)?(\w+\.py)"')
SCRIPTS = sorted(
    {
        next(path for path in (ROOT / "workflow/scripts" / name, rules.parent / name) if path.is_file())
        for rules in RULES
        for name in set(_NAMED.findall(rules.read_text(encoding="utf-8")))
    }
)
UNMEASURED = {"release.py"}  # how long a release takes may depend on confidential data


def row(path, **values):
    path.write_text("\t".join(values) + "\n" + "\t".join(map(str, values.values())) + "\n")


def job(tmp_path, rule="toy", wildcards=(), output="results/toy/t.csv"):
    return SimpleNamespace(rule=rule, wildcards=wildcards, log=[f"{tmp_path}/results/logs/toy.log"], output=[output])


@pytest.fixture
def run(tmp_path):
    """Write a run that began at second 1000: two pieces of a loop and a figure; one row is of an earlier run."""
    row(tmp_path / "snakemake.tsv", started=1000, s=60, snakemake=3, jobs=20)
    common = {"s": 1, "h:m:s": "0:00:01", "max_rss": 100}
    for name, used, start_up in (("a_x_loop.1", 4.0, 0.5), ("a_x_loop.2", 3.0, 0.5), ("a_y_figure", 5.0, 1.0)):
        row(tmp_path / f"{name}.tsv", **common, cpu_time=used, start_up=start_up)
        os.utime(tmp_path / f"{name}.tsv", (1010, 1010))
    row(tmp_path / "a_old.tsv", **common, cpu_time=99.0, start_up=1.0)
    os.utime(tmp_path / "a_old.tsv", (990, 990))
    return tmp_path


def test_jobs_of_a_rule_add_up_and_the_remainder_is_elsewhere(run):
    rules, total = costs.of_run(run)
    assert rules == {
        "a_x_loop": {"jobs": 2, "work": 6.0, "start-up": 1.0},
        "a_y_figure": {"jobs": 1, "work": 4.0, "start-up": 1.0},
    }
    assert (total["jobs"], total["work"], total["start-up"]) == (3, 10.0, 2.0)
    assert total["elsewhere"] == 20 - 12  # of the jobs' 20 seconds 12 are in rows
    assert (total["snakemake"], total["s"]) == (3, 60)


def test_the_table_begins_with_the_most_expensive_rule_and_adds_up(run):
    lines = costs.text(run).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["a_x_loop", "a_y_figure"]
    assert next(line for line in lines if line.startswith("total")).split()[-1] == "23.00"  # 20 + 3


def test_seconds_of_one_rule(run):
    assert costs.cpu_seconds(run, "a_y_figure") == 5.0
    assert costs.cpu_seconds(run, "a_old") == 99.0
    assert costs.cpu_seconds(run, "a_z_figure") != costs.cpu_seconds(run, "a_z_figure")  # NaN


def test_without_a_run_it_says_so(tmp_path):
    done = subprocess.run([sys.executable, "-m", "reproduction.jobs.costs", str(tmp_path)], capture_output=True)
    assert done.returncode == 1
    assert b"no run has finished in this folder" in done.stderr


def test_snakemake_writes_what_its_jobs_used_by_their_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    costs.write_run(1000.0, 12.5)
    found = costs._row(tmp_path / "results/benchmarks/snakemake.tsv")
    assert (found["started"], found["s"]) == (1000.0, 12.5)
    assert found["jobs"] > 0.02
    assert found["snakemake"] > 0.02


def test_a_job_writes_its_row_at_its_end_wherever_it_has_gone(tmp_path):
    """Check that work of at least a third of a second is separated from start-up, although the folder changes."""
    program = """if True:
        import os, sys, time
        from types import SimpleNamespace
        from reproduction.jobs import costs
        while time.process_time() < 0.1:  # the clock of all processes ticks a hundred times a second
            pass
        job = SimpleNamespace(rule="toy", wildcards=["Adult", "a/b"], log=["results/logs/toy.log"], output=["t.csv"])
        with costs.of_job(job, "toy.t"):
            os.chdir("/")
            end = time.process_time() + 0.35
            while time.process_time() < end:
                pass
        raise SystemExit(1)
    """
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.DEVNULL).returncode == 1
    with (tmp_path / "results/benchmarks/toy.Adult.a-b.tsv").open() as stream:
        found = next(csv.DictReader(stream, delimiter="\t"))
    assert list(found) == ["s", "h:m:s", "max_rss", "cpu_time", "start_up"]
    assert 0.05 < float(found["start_up"]) <= float(found["cpu_time"]) - 0.3
    assert float(found["max_rss"]) > 5


def test_the_log_names_rule_function_file_and_artefact(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(costs.atexit, "register", lambda call: None)
    with costs.of_job(job(tmp_path, "toy_t_table"), "toy.tables.t", "Table 1"):
        pass
    first, last = capsys.readouterr().err.splitlines()
    assert first == "rule toy_t_table: toy.tables.t -> results/toy/t.csv (Table 1)"
    assert last.startswith("toy_t_table: 0.0")


def test_an_error_names_its_rule_on_the_screen_and_in_its_notes(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(sys, "__stderr__", SimpleNamespace(write=written.append))
    monkeypatch.setattr(costs.atexit, "register", lambda call: None)
    with pytest.raises(ValueError, match="no such thing") as caught, costs.of_job(job(tmp_path), "toy.broken"):
        raise ValueError("no such thing")
    assert caught.value.__notes__ == ["while rule toy called toy.broken"]
    assert "toy: ValueError: no such thing" in "".join(written)


def measured(text):
    """Return whether a script does all its work within ``with costs.of_job(snakemake, ..)``, after its imports."""
    body = ast.parse(text).body
    blocks = [
        n for n, one in enumerate(body) if isinstance(one, ast.With) and "costs.of_job(snakemake" in ast.unparse(one)
    ]
    last = max(n for n, one in enumerate(body) if isinstance(one, ast.Import | ast.ImportFrom))
    between = body[last + 1 : len(body) - 1]
    return blocks == [len(body) - 1] and all(isinstance(one, ast.Assign) for one in between)


def test_every_script_of_the_workflow_is_held():
    assert set(ROOT.glob("workflow/scripts/*.py")) < {*SCRIPTS}
    assert {path.name for path in SCRIPTS} >= {"table.py", "figure.py", "loop.py", "sets_script.py", *UNMEASURED}
    for path in RULES:
        text = path.read_text(encoding="utf-8")
        assert text.count("script:\n") == len(_NAMED.findall(text)), f"{path.name}: a script named in another way"


@pytest.mark.parametrize("path", [path for path in SCRIPTS if path.name not in UNMEASURED], ids=lambda path: path.name)
def test_every_script_measures_its_work(path):
    assert measured(path.read_text(encoding="utf-8")), (
        f"{path.name}: put its work into `with costs.of_job(snakemake, ..)`"
    )


def test_a_script_that_works_outside_of_the_block_is_noticed():
    good = "import os\nfrom a import costs\np = 1\nwith costs.of_job(snakemake, 'f'):\n    os.getcwd()\n"
    assert measured(good)
    assert not measured(good.replace("p = 1", "os.getcwd()"))
    assert not measured(good + "os.getcwd()\n")
    assert not measured(good.replace("with costs.of_job(snakemake, 'f')", "if os"))


def simulated(declared, real, cores):
    """Return (elapsed, predicted total) in seconds after each job of a run whose jobs start in order."""
    expectation = progress.Expectation(declared, cores)
    free, running, told, now = cores, [], [], 0.0
    waiting = list(declared)
    while waiting or running:
        while waiting and free:
            job = waiting.pop(0)
            expectation.started(job, now)
            running.append((now + real[job], job))
            free -= 1
        now, job = min(running)
        running.remove((now, job))
        free += 1
        expectation.finished(job, now)
        told.append((now, now + expectation.remaining(now)))
    return told


@pytest.mark.parametrize("slower", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("cores", [1, 2])
def test_the_end_is_told_whatever_the_speed_of_the_machine(slower, cores):
    declared = dict.fromkeys(range(20), 1.0)
    told = simulated(declared, dict.fromkeys(declared, 60 * slower), cores)
    end = 60 * slower * 20 / cores
    assert told[-1] == (end, end)
    # After half of the jobs the prior weighs 0.5 of 10.5 minutes: at four times the speed or a quarter of it the error
    # of the rest is at most 0.5/10.5 * 3 = 14 %.
    assert told[9][1] - told[9][0] == pytest.approx(end / 2, rel=0.15)


def test_the_longest_job_alone_may_set_the_end():
    expectation = progress.Expectation({1: 10.0, 2: 0.5, 3: 0.5}, cores=4)
    assert expectation.remaining(0.0) == 600.0
    expectation.started(1, 0.0)
    assert expectation.remaining(120.0) == 480.0


def test_a_job_that_takes_longer_than_declared_leaves_nothing_below_zero():
    expectation = progress.Expectation({1: 1.0}, cores=1)
    expectation.started(1, 0.0)
    assert expectation.remaining(3600.0) == 0.0


def record(event, **more):
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, None, None, None)
    made.__dict__.update(event=SimpleNamespace(value=event), **more)
    return made


def test_lines_come_at_most_every_ten_seconds_and_not_at_the_end():
    stream, time = io.StringIO(), [1000.0]
    lines = progress.Lines(progress.Expectation(dict.fromkeys(range(4), 1.0), 1), stream=stream, clock=lambda: time[0])
    for job, now in enumerate((1060.0, 1065.0, 1180.0, 1240.0)):
        lines.emit(record("job_info", jobid=job))
        time[0] = now
        lines.emit(record("job_finished", job_id=job))
        lines.emit(record("progress", done=job + 1, total=4))
    first, third = stream.getvalue().splitlines()  # the second came after five seconds, the fourth is the end
    assert first.startswith("elapsed 60 s, about 3 min left (done ")
    assert third.startswith("elapsed 3 min, about ")


def test_lines_survive_records_of_other_kinds():
    stream = io.StringIO()
    lines = progress.Lines(progress.Expectation({}, 1), stream=stream)
    lines.emit(logging.LogRecord("snakemake", logging.INFO, "", 0, "text", None, None))
    lines.emit(record("job_finished", job_id=17))
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (99, "99 s"), (100, "2 min"), (7800, "2 h 10 min")])
def test_time_spans_in_words(seconds, text):
    assert progress.words(seconds) == text


@pytest.mark.parametrize("quiet", ["PROGRESS", "ALL"])
def test_nothing_is_said_where_quiet_was_asked_for(quiet):
    workflow = SimpleNamespace(output_settings=SimpleNamespace(quiet=[SimpleNamespace(name=quiet)]))
    before = list(logging.getLogger("snakemake.logging").handlers)
    progress.follow(workflow, {})
    assert logging.getLogger("snakemake.logging").handlers == before


def test_the_whole_table_of_costs_by_hand(run):
    """The figure used 5 s and a piece of the loop 3 s; rows are named, and the remaining 8 s of the jobs are not."""
    words = [line.rsplit(maxsplit=3) for line in costs.text(run).splitlines()[:4]]
    assert words == [
        ["CPU seconds", "jobs", "work", "start-up"],
        ["a_x_loop", "2", "6.00", "1.00"],
        ["a_y_figure", "1", "4.00", "1.00"],
        ["all rules", "3", "10.00", "2.00"],
    ]
    assert [line.rsplit(maxsplit=1) for line in costs.text(run).splitlines()[4:]] == [
        [], ["other jobs, ends of processes", "8.00"], ["Snakemake: planning, scheduling", "3.00"], ["total", "23.00"],
        ["wall clock", "60.00"],
    ]  # fmt: skip
    assert {len(line) for line in costs.text(run).splitlines()} == {0, 60, 70}


def test_start_up_counts_in_the_order_of_rules_and_rows_may_exceed_what_was_measured(run):
    """Work of 4 s and start-up of 9 s cost more than the loop; rows of 21 s leave nothing of 20 s for other jobs."""
    row(run / "a_y_figure.tsv", **{"h:m:s": "0:00:13"}, cpu_time=13.0, start_up=9.0)
    row(run / "a_z_table.tsv", **{"h:m:s": "0:00:01"}, cpu_time=1.0, start_up=0.5)
    os.utime(run / "a_z_table.tsv", (1000, 1000))  # at the start of the run itself
    rules, total = costs.of_run(run)
    assert list(rules) == ["a_x_loop", "a_y_figure", "a_z_table"]
    assert total["elsewhere"] == 0.0
    assert [line.split()[0] for line in costs.text(run).splitlines()[1:4]] == ["a_y_figure", "a_x_loop", "a_z_table"]
    assert costs.clock(run) == (1000.0, 60.0)


@pytest.mark.parametrize(
    ("wall", "clock"), [(0.4, "0:00:00"), (59.9, "0:00:59"), (60.0, "0:01:00"), (3725.9, "1:02:05"), (36e3, "10:00:00")]
)
def test_a_row_has_hours_minutes_and_seconds(tmp_path, wall, clock):
    (tmp_path / "there").write_text("kept")
    (tmp_path / "row.tsv").symlink_to(tmp_path / "there")
    costs._write_row(tmp_path / "row.tsv", wall, 1.234, 0.5)
    head, values = (tmp_path / "row.tsv").read_text().splitlines()
    assert head.split("\t") == ["s", "h:m:s", "max_rss", "cpu_time", "start_up"]
    assert values.split("\t")[:2] == [f"{wall:.4f}", clock]
    assert values.split("\t")[3:] == ["1.23", "0.50"]
    assert 20 < float(values.split("\t")[2]) < 20_000  # megabytes
    assert (tmp_path / "there").read_text() == "kept"


def test_the_row_of_a_run_replaces_a_link(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/benchmarks").mkdir(parents=True)
    (tmp_path / "there").write_text("kept")
    (tmp_path / "results/benchmarks/snakemake.tsv").symlink_to(tmp_path / "there")
    costs.write_run(1000.0, 12.25)
    head, values = (tmp_path / "results/benchmarks/snakemake.tsv").read_text().splitlines()
    assert head.split("\t") == ["started", "s", "snakemake", "jobs"]
    assert values.split("\t")[:2] == ["1000.00", "12.25"]
    assert (tmp_path / "there").read_text() == "kept"


def test_a_run_writes_user_and_system_seconds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    used = SimpleNamespace(user=1.0, system=0.25, children_user=4.0, children_system=0.5)
    monkeypatch.setattr(costs.os, "times", lambda: used)
    costs.write_run(0.0, 1.0)
    found = costs._row(tmp_path / "results/benchmarks/snakemake.tsv")
    assert (found["snakemake"], found["jobs"]) == (1.25, 4.5)


@pytest.mark.parametrize("words", [(), ("there",)])
def test_the_costs_of_a_folder_are_printed(run, words, monkeypatch, capsys):
    target = run / Path(*words) / "results/benchmarks"
    target.mkdir(parents=True)
    for path in run.glob("*.tsv"):
        path.rename(target / path.name)
    monkeypatch.chdir(run)
    monkeypatch.setattr(sys, "argv", ["costs", *words, *["ignored"] * len(words)])
    costs.main()
    assert capsys.readouterr().out == costs.text(target) + "\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"), (0.6, "1 s"), (99.4, "99 s"), (99.5, "2 min"), (180, "3 min"), (5940, "99 min"),
        (5969, "99 min"), (6000, "1 h 40 min"), (7200, "2 h 0 min"), (7259, "2 h 1 min"),
    ],
)  # fmt: skip
def test_limits_of_seconds_minutes_and_hours(seconds, text):
    assert progress.words(seconds) == text


def test_the_estimate_by_hand():
    """Half a minute at the declared speed and a minute that took two: the rest is slower by 2.5/1.5."""
    expectation = progress.Expectation({1: 1.0, 2: 3.0, 3: 0.0}, cores=0)
    assert expectation.remaining(0.0) == pytest.approx(60 * 4.02, rel=1e-12)  # undeclared: 0.02 minutes; one core
    expectation.started(1, 10.0)
    expectation.finished(1, 130.0)
    expectation.finished(1, 900.0)  # counted once
    expectation.finished(99, 900.0)  # not planned
    assert expectation.remaining(130.0) == pytest.approx(60 * 3.02 * 2.5 / 1.5, rel=1e-12)
    expectation.started(2, 130.0)
    assert expectation.remaining(190.0) == pytest.approx(60 * (3.02 * 2.5 / 1.5 - 1), rel=1e-12)
    expectation.finished(2, 430.0)
    assert expectation.remaining(430.0) == pytest.approx(60 * 0.02 * 7.5 / 4.5, rel=1e-12)


@pytest.mark.parametrize(("second", "lines"), [(9.99, 1), (10.0, 2)])
def test_lines_come_after_ten_seconds_with_the_expected_time(second, lines, monkeypatch):
    monkeypatch.setattr(progress.time, "localtime", time.gmtime)
    stream, now = io.StringIO(), [86_400.0]
    shown = progress.Lines(progress.Expectation({1: 2.0, 2: 2.0}, 1), stream=stream, clock=lambda: now[0])
    shown.emit(record("progress", done=0, total=2))  # the first comes at once
    now[0] += second
    shown.emit(record("progress", done=1, total=2))
    shown.emit(record("progress", done=2, total=2))
    assert stream.getvalue().splitlines() == [
        "elapsed 0 s, about 4 min left (done 00:04)", "elapsed 10 s, about 4 min left (done 00:04)"
    ][:lines]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "cores", "slots"), [(None, 4, 4), (7, 4, 7), (7, None, 7), (None, None, 1), (0, 0, 1)]
)
def test_jobs_at_the_same_time(nodes, cores, slots):
    workflow = SimpleNamespace(resource_settings=SimpleNamespace(nodes=nodes, cores=cores))
    assert internals.slots(workflow) == slots


def test_lines_follow_a_run_with_its_declared_minutes(monkeypatch):
    """Two jobs of a rule with 3 minutes and one without a declaration, on two cores: 6.02/2 minutes."""
    jobs = [SimpleNamespace(rule=SimpleNamespace(name=name)) for name in ("a", "a", "b")]
    workflow = SimpleNamespace(
        output_settings=SimpleNamespace(quiet=None),
        resource_settings=SimpleNamespace(nodes=None, cores=2),
        dag=SimpleNamespace(needrun_jobs=lambda: jobs, jobid=id),
    )
    handlers = []
    monkeypatch.setattr(logging.getLogger("snakemake.logging"), "addHandler", handlers.append)
    progress.follow(workflow, {"a": 3.0})
    (lines,) = handlers
    assert lines._stream is sys.stderr
    assert lines._expectation.remaining(0.0) == pytest.approx(60 * 3.01, rel=1e-12)


def test_the_limit_of_jobs_per_second_is_removed():
    workflow = SimpleNamespace(scheduler=SimpleNamespace(job_rate_limiter="limit"))
    internals.without_rate_limit(workflow)
    assert workflow.scheduler.job_rate_limiter is None
