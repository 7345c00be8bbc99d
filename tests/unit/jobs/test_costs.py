"""Tests of the times of a run: CPU seconds of its jobs and of Snakemake, and its expected end."""

import ast
import csv
import io
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reproduction.jobs import costs, progress

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
