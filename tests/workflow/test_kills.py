"""Tests of runs that are killed, and of what `make` does then: no kill leaves a result that is trusted, the next run
continues to the same bytes, also for a study with one job per part, and no running Snakemake is disturbed.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
import yaml

from reproduction import run as make
from reproduction.jobs import mending

from .running import ROOT, Folder, environment

SEED, KILLS = 20261123, 20
# Pieces of a long loop, what they become, a table with a short loop inside, one beside it: six jobs that write in turn.
TARGETS = tuple(f"results/pan2023/{name}.csv" for name in ("coverage", "phi_density", "epsilon_table"))
KINDS = ("results/pan2023/**/*.csv",)
SETTINGS = {"run": ["pan2023"], "shards": 3}


def started(path, *arguments):
    """Start a run in a separate session, as a terminal does."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command(*arguments), cwd=path, env=variables(), start_new_session=True, **quiet)


def made(folder):
    """Return results and figures, without the seconds in provenance and benchmarks."""
    return {name: raw for kind in KINDS for name, raw in folder.files(kind).items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return an uninterrupted run and its duration in seconds."""
    folder = Folder(tmp_path_factory.mktemp("whole"), **SETTINGS)
    begin = time.monotonic()
    code, output = run(folder, *TARGETS)
    assert code == 0, output
    return made(folder), time.monotonic() - begin


@pytest.mark.slow
def test_twenty_kills_at_random_moments_leave_the_same_bytes(whole, tmp_path):
    """Kill the whole session in two of three cases, like a closed terminal, otherwise only Snakemake."""
    expected, seconds = whole
    folder, chance = Folder(tmp_path, **SETTINGS), random.Random(SEED)
    for number in range(KILLS):
        process = started(tmp_path, *TARGETS)
        time.sleep(chance.uniform(0.3, 0.7 * seconds))
        how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
        (os.kill if number % 3 == 2 else os.killpg)(process.pid, how)
        if how == signal.SIGTERM:  # Snakemake waits for its jobs; the test does not
            time.sleep(chance.uniform(0, 2))
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    code, output = run(folder, *TARGETS)
    assert code == 0, output
    assert made(folder) == expected
    assert "Nothing to be done" in run(folder, *TARGETS)[1]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small file system")
def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(whole, tmp_path):
    expected, _ = whole
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(tmp_path)], check=True)
    try:
        folder = Folder(tmp_path, **SETTINGS)
        code, output = run(folder, *TARGETS)
        assert code != 0
        assert "No space left" in output
        subprocess.run(["mount", "-o", "remount,size=200m", str(tmp_path)], check=True)
        code, output = run(folder, *TARGETS)
        assert code == 0, output
        assert made(folder) == expected
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def orphan(path, name=".snakemake/scripts/tmp1.make.py"):
    """Start a job whose Snakemake has ended: it sleeps under the name of a job."""
    script = path / name
    script.parent.mkdir(parents=True)
    script.write_text("import time\ntime.sleep(60)\n")
    return subprocess.Popen(["python3", str(script)], cwd=path)


def test_jobs_of_a_killed_run_are_ended_before_the_next(tmp_path, monkeypatch):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    own, other = orphan(here), orphan(elsewhere)
    plain = orphan(here / "sub", name="my_own.py")
    monkeypatch.chdir(here)
    try:
        time.sleep(0.2)
        assert mending.ended() == [own.pid]
        assert own.wait(10) is not None
        assert other.poll() is None
        assert plain.poll() is None
    finally:
        for process in (own, other, plain):
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (["-m", "snakemake", "--cores", "2"], True),
        (["/opt/lib/snakemake/__main__.py", "--cores", "2"], True),
        (["-m", "snakemake", "--mode", "remote"], False),  # what a cluster runs on this machine
        (["-m", "pytest", "tests/snakemake"], False),
    ],
)
def test_a_snakemake_that_runs_here_is_found_however_it_was_started(tmp_path, monkeypatch, words, counts):
    (tmp_path / "waits.py").write_text("import time\ntime.sleep(60)\n")
    there = subprocess.Popen(["python3", "waits.py"], cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    try:
        time.sleep(0.5)
        monkeypatch.setattr(psutil.Process, "cmdline", lambda self: ["python", *words] if self.pid == there.pid else [])
        assert mending.controller() == (there.pid if counts else None)
    finally:
        there.kill()
        there.wait()


SQUEUE = """#!/bin/sh
[ -f cancelled ] || cat queue
"""


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (("--workflow-profile", "workflow/profiles/slurm"), ["11", "12"]),
        (("--executor=slurm",), ["11", "12"]),
        (("--executor", "slurm", "-n"), []),
        (("--cores", "2"), []),
    ],
)
def test_only_own_jobs_of_this_folder_are_cancelled(tmp_path, monkeypatch, arguments, ids):
    """Return the queue as printed by squeue: id, name, comment, folder."""
    run_id = "a0782086-6918-4b52-ae2c-96c900c2498f"
    lines = [
        f"11|{run_id}|rule_pan2023_simulate_coverage_wildcards_1|{tmp_path}",
        f"12|mine_{run_id}|rule_tables|{tmp_path}",
        f"13|{run_id}|rule_tables|{tmp_path}/other",  # a run in another folder
        f"14|my_job|rule_tables|{tmp_path}",  # not submitted by the executor
        f"15|{run_id}|(null)|{tmp_path}",
    ]
    (tmp_path / "queue").write_text("\n".join(lines) + "\n")
    for name, text in (("squeue", SQUEUE), ("scancel", '#!/bin/sh\necho "$@" > cancelled\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    assert mending.cancelled(arguments) == ids
    assert (tmp_path / "cancelled").is_file() == bool(ids)
    if ids:
        assert (tmp_path / "cancelled").read_text().split() == ids


def test_without_slurm_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert mending.cancelled(["--executor", "slurm"]) == []


def test_a_run_ends_what_a_killed_one_left_and_disturbs_none_that_lives(tmp_path, monkeypatch):
    done = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mending, "controller", lambda: 77)
    monkeypatch.setattr(mending, "ended", lambda: done.append("processes"))
    monkeypatch.setattr(mending, "cancelled", lambda arguments: done.append(f"jobs of {arguments[-1]}"))
    monkeypatch.setattr(os, "execv", lambda *command: done.append("snakemake"))
    with pytest.raises(SystemExit, match="Process 77 is running this workflow in this folder"):
        make.main(["--cores", "2"])
    assert done == []
    monkeypatch.setattr(mending, "controller", lambda: None)
    make.main(["--executor", "slurm"])
    assert done == ["processes", "jobs of slurm", "snakemake"]


@pytest.mark.parametrize(
    ("mark", "freed"),
    [
        ('{"host": "HERE", "process": 1000000000, "started": 0.0}', True),
        ('{"host": "another", "process": 1, "started": 0.0}', False),  # jobs and lock of another host are unchanged
        ("", True),  # truncated by a full disk
        ('"text"', True),
        (None, False),  # a lock that `make` does not know
    ],
)
def test_whose_lock_is_taken_away(tmp_path, monkeypatch, mark, freed):
    done = []
    monkeypatch.chdir(tmp_path)
    lock = tmp_path / ".snakemake/locks/0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x\n")
    if mark is not None:
        (tmp_path / ".snakemake/run.json").write_text(mark.replace("HERE", socket.gethostname()))
    monkeypatch.setattr(mending, "cancelled", lambda arguments: done.append("jobs"))
    monkeypatch.setattr(os, "execv", lambda *command: done.append("snakemake"))
    make.main(["--executor", "slurm"])
    assert lock.exists() != freed
    assert done == (["jobs", "snakemake"] if freed else ["snakemake"])


def test_a_folder_that_cannot_be_written_ends_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").write_text("no folder\n")
    with pytest.raises(SystemExit, match=r"cannot be written \(.*\)\. Nothing was run\."):
        make.main(["--cores", "1"])


STATES = "state\tcounties\tpopulation\nDC\t1\t689545\nRI\t5\t1097379\nDE\t3\t989948\n"
NATION = "results/studies/nation.csv"
NATION_FILES = ("results/studies/nation.csv", "results/studies/nation/*.parquet")


@pytest.fixture(scope="module")
def source(copied_source, tmp_path_factory):
    """Return a source tree whose nation has three small states."""
    made = shutil.copytree(copied_source, tmp_path_factory.mktemp("nation") / "source")
    folder = made / "src/reproduction/studies"
    (folder / "nation.tsv").write_text(STATES)
    text = yaml.safe_load((folder / "nation.yaml").read_text())
    text["settings"] |= {"scale": 0.02, "sigmas": dict.fromkeys(text["settings"]["sigmas"], 5.0)}
    (folder / "nation.yaml").write_text(yaml.safe_dump(text))
    return made


def nation_files(folder):
    return {name: raw for kind in NATION_FILES for name, raw in folder.files(kind).items()}


@pytest.mark.slow
def test_a_killed_nation_goes_on_to_the_same_bytes(source, tmp_path):
    variables = environment(PYTHONPATH=str(source / "src"))

    def run(folder, *arguments):
        command = folder.command("--rerun-incomplete", NATION, *arguments, cores=1)
        return subprocess.Popen(
            command,
            cwd=folder.path,
            env=variables,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    whole, killed = Folder(tmp_path / "whole", source=source), Folder(tmp_path / "killed", source=source)
    process = run(whole)
    output = process.communicate()[0].decode()
    assert process.returncode == 0, output
    assert sorted(nation_files(whole)) == [
        NATION,
        *(f"results/studies/nation/{name}.parquet" for name in ("DC", "DE", "RI")),
    ]
    process = run(killed)
    deadline = time.monotonic() + 300
    while not killed.files(NATION_FILES[1]) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert 0 < len(killed.files(NATION_FILES[1])) <= 3
    assert not (killed.path / NATION).is_file()
    unlock = subprocess.run(
        killed.command("--unlock"), cwd=killed.path, env=variables, capture_output=True, text=True, check=False
    )
    assert unlock.returncode == 0, unlock.stdout + unlock.stderr
    process = run(killed)
    output = process.communicate()[0].decode()
    assert process.returncode == 0, output
    assert nation_files(killed) == nation_files(whole)
    part = killed.path / "results/studies/nation/DE.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    (killed.path / NATION).unlink()
    process = run(killed, "--rerun-triggers", "params")
    output = process.communicate()[0].decode()
    assert process.returncode != 0
    assert "DE.parquet" in output


CALIBRATION = "results/balmat2018/simulated/calibration_1_of_1.csv"


def command(*arguments):
    """Run the command of the Makefile, for the workflow of this tree."""
    snakefile = ["--snakefile", str(ROOT / "Snakefile"), "--cores", "1", "--rerun-incomplete"]
    return [sys.executable, "-m", "reproduction.run", *snakefile, *arguments]


def variables():
    return environment(PYTHONPATH=str(ROOT / "src"))


def run(folder, *arguments):
    made = subprocess.run(
        command(*arguments), cwd=folder.path, env=variables(), capture_output=True, text=True, check=False
    )
    return made.returncode, made.stdout + made.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_the_same_command_goes_on_after_a_run_that_was_killed(tmp_path, how):
    folder = Folder(tmp_path)
    process = subprocess.Popen(
        command(CALIBRATION),
        cwd=tmp_path,
        env=variables(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 90
    while not list(tmp_path.glob(".snakemake/scripts/*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGSTOP)  # its jobs may be shorter than the start of the next run
    code, output = run(folder, CALIBRATION)  # the first one is alive
    assert code != 0
    assert f"Process {process.pid} is running this workflow in this folder" in output
    os.killpg(process.pid, how)
    os.killpg(process.pid, signal.SIGCONT)
    process.wait()
    code, output = run(folder, CALIBRATION)
    assert code == 0, output
    assert (tmp_path / CALIBRATION).is_file()


@pytest.mark.thorough
def test_a_lock_of_another_machine_is_left_alone(tmp_path):
    folder = Folder(tmp_path)
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("x\n")
    mark = {"host": "another", "process": 1, "started": 0.0}
    (tmp_path / ".snakemake/run.json").write_text(json.dumps(mark))
    run(folder, "--dry-run", CALIBRATION)
    assert (locks / "0.input.lock").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("none.yaml", None, "cannot be read"),
        ("latin.yaml", b"caf\xe9: 1\n", "is not valid UTF-8"),
        ("wide.yaml", "root_seed: 1\n".encode("utf-16"), "is not valid UTF-8"),
        ("template.yaml", b"__use_yte__: true\nroot_seed: ?open('ran', 'w').write('x')\n", "templates are not allowed"),
        ("twice.yaml", b"root_seed: 1\nroot_seed: 2\n", "duplicate key"),
        ("octal.yaml", b"root_seed: 010\n", "YAML reads the number 010 as 8"),
    ],
)
def test_configurations_are_read_before_snakemake_reads_them(tmp_path, name, raw, message):
    folder = Folder(tmp_path)
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    code, output = run(folder, "--dry-run", "--configfile", name)
    assert code == 1
    assert message in output
    assert "Traceback" not in output
    assert "Nothing was run." in output
    assert not (tmp_path / "ran").exists()
