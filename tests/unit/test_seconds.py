"""Where a run's CPU seconds went: rows of jobs, those of Snakemake itself, and what is left between them."""

import ast
import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reproduction.jobs import job_log, seconds

ROOT = Path(__file__).parents[2]
RULES = [*ROOT.glob("workflow/rules/*.smk"), *ROOT.glob("src/reproduction/papers/*/*.smk")]
_NAMED = re.compile(r'script:\s+(?:str\(SCRIPTS / )?"(?:\.\./scripts/)?(\w+\.py)"')
SCRIPTS = sorted(
    next(path for path in (ROOT / "workflow/scripts" / name, rules.parent / name) if path.is_file())
    for rules in RULES
    for name in set(_NAMED.findall(rules.read_text(encoding="utf-8")))
)
APART = {"release.py"}  # of confidential data: how long it takes may depend on them


def row(path, **values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\t".join(values) + "\n" + "\t".join(map(str, values.values())) + "\n")


@pytest.fixture
def run(tmp_path):
    """A run begun at 1000: two pieces of a loop, a job of figures; one row is of the run before."""
    row(tmp_path / "snakemake.tsv", started=1000, s=60, snakemake=3, jobs=20)
    common = {"s": 1, "h:m:s": "0:00:01", "max_rss": 100}
    for name, used, start_up, tables, figures in (
        ("a_simulate_x.1", 4.0, 0.5, 3.0, 0.0),
        ("a_simulate_x.2", 3.0, 0.5, 2.25, 0.0),
        ("a_draw_quick", 5.0, 1.0, 0.0, 3.5),
        ("a_old", 99.0, 1.0, 90.0, 0.0),
    ):
        path = tmp_path / "jobs" / f"{name}.tsv"
        row(path, **common, cpu_time=used, start_up=start_up, tables=tables, figures=figures)
        os.utime(path, (1010, 1010) if name != "a_old" else (990, 990))
    return tmp_path


def test_jobs_of_a_rule_add_up_and_what_no_row_has_is_elsewhere(run):
    rules, whole = seconds.of_run(run)
    assert rules["a_simulate_x"] == {"jobs": 2, "tables": 5.25, "figures": 0, "other": 0.75, "start-up": 1.0}
    assert rules["a_draw_quick"] == {"jobs": 1, "tables": 0, "figures": 3.5, "other": 0.5, "start-up": 1.0}
    assert set(rules) == {"a_simulate_x", "a_draw_quick"}
    assert (whole["jobs"], whole["start-up"]) == (3, 2.0)
    assert whole["elsewhere"] == 20 - 12  # of the jobs' 20 seconds 12 are in rows
    assert (whole["snakemake"], whole["s"]) == (3, 60)


def test_the_table_says_the_dearest_first_and_all_of_it(run):
    lines = seconds.text(run).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["a_simulate_x", "a_draw_quick"]
    assert next(line for line in lines if line.startswith("in all")).split()[-1] == "23.00"  # 20 + 3


def test_without_a_run_it_says_so(tmp_path):
    done = subprocess.run([sys.executable, "-m", "reproduction.jobs.seconds", str(tmp_path)], capture_output=True)
    assert done.returncode == 1
    assert b"no run has ended here" in done.stderr


def test_snakemake_writes_what_its_jobs_used_by_their_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    seconds.written(1000.0, 12.5)
    found = seconds._row(tmp_path / "results/benchmarks/snakemake.tsv")
    assert (found["started"], found["s"]) == (1000.0, 12.5)
    assert found["jobs"] > 0.02
    assert found["snakemake"] > 0.02


def test_a_job_writes_its_row_at_its_end_wherever_it_has_gone(tmp_path):
    """The work: a third of a second at least, in a table; the row tells it from the start."""
    program = """if True:
        import os, time
        from types import SimpleNamespace
        from reproduction.jobs import job_log
        while time.process_time() < 0.1:  # the clock of all processes ticks a hundred times a second
            pass
        job_log.followed(SimpleNamespace(rule="toy", wildcards=["Adult", "a/b"]))
        os.chdir("/")
        with job_log.named({"name": "t", "function": "toy.t"}):
            end = time.process_time() + 0.35
            while time.process_time() < end:
                pass
        raise SystemExit(1)
    """
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.DEVNULL).returncode == 1
    with (tmp_path / "results/benchmarks/jobs/toy.Adult.a-b.tsv").open() as stream:
        found = next(csv.DictReader(stream, delimiter="\t"))
    assert list(found) == ["s", "h:m:s", "max_rss", "cpu_time", "start_up", "tables", "figures"]
    assert 0.3 < float(found["tables"]) <= float(found["cpu_time"]) - float(found["start_up"]) + 0.02
    assert float(found["figures"]) == 0
    assert 0.05 < float(found["start_up"]) <= float(found["cpu_time"]) - 0.3
    assert float(found["max_rss"]) > 5


def test_drawing_counts_as_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job_log, "_spent", dict.fromkeys(job_log._spent, 0.0))
    clock = iter([1.0, 1.25, 2.0, 4.0])
    monkeypatch.setattr(job_log, "_cpu", lambda: next(clock))
    for by in ("draw", "compute"):
        with job_log.named({"name": "t", "function": "toy.t"}, by):
            pass
    assert job_log._spent == {"tables": 2.0, "figures": 0.25}
    assert sorted(p.name for p in (tmp_path / "results/benchmarks").iterdir()) == [
        "toy_compute_t.tsv",
        "toy_draw_t.tsv",
    ]


def test_names_of_rows_hold_no_folder(monkeypatch):
    kept = []
    monkeypatch.setattr(job_log.atexit, "register", lambda call, path, *more: kept.append(path.name))
    job_log.followed(SimpleNamespace(rule="r", wildcards=[]))
    assert kept == ["r.tsv"]


def test_drawing_of_a_script_counts_as_figures_also_when_it_fails(monkeypatch):
    monkeypatch.setattr(job_log, "_spent", dict.fromkeys(job_log._spent, 0.0))
    clock = iter([1.0, 1.25, 2.0, 4.0])
    monkeypatch.setattr(job_log, "_cpu", lambda: next(clock))
    with job_log.counted("figures"):
        pass
    with pytest.raises(ValueError, match="no"), job_log.counted("tables"):
        raise ValueError("no")
    assert job_log._spent == {"tables": 2.0, "figures": 0.25}


def is_followed(text):
    """Whether a script calls `followed(snakemake)`: once, at its top, after its last import, before its work."""
    body = ast.parse(text).body
    calls = [
        n for n, one in enumerate(body) if ast.unparse(one) in ("job_log.followed(snakemake)", "followed(snakemake)")
    ]
    last = max(n for n, one in enumerate(body) if isinstance(one, ast.Import | ast.ImportFrom))
    return calls == [last + 1]


def test_every_script_of_the_workflow_is_held():
    assert set(ROOT.glob("workflow/scripts/*.py")) < {*SCRIPTS}
    assert {path.name for path in SCRIPTS} >= {"make.py", "figures.py", "sets_script.py", *APART}
    for path in RULES:
        text = path.read_text(encoding="utf-8")
        assert text.count("script:\n") == len(_NAMED.findall(text)), f"{path.name}: a script named in another way"


@pytest.mark.parametrize(
    "path", [path for path in dict.fromkeys(SCRIPTS) if path.name not in APART], ids=lambda path: path.name
)
def test_every_script_says_what_it_used(path):
    assert is_followed(path.read_text(encoding="utf-8")), f"{path.name}: job_log.followed(snakemake) after its imports"


def test_a_script_that_says_nothing_late_or_under_a_condition_is_noticed():
    good = "import os\nfrom a import job_log\njob_log.followed(snakemake)\nos.getcwd()\n"
    assert is_followed(good)
    assert not is_followed(good.replace("job_log.followed(snakemake)\n", ""))
    assert not is_followed("import os\nos.getcwd()\njob_log.followed(snakemake)\n")
    assert not is_followed("import os\nif os:\n    job_log.followed(snakemake)\n")
    assert not is_followed("import os\njob_log.followed(snakemake)\nimport pandas\n")
