"""Tests of a run that is killed repeatedly, hung up or out of disk space: the same command ends with equal bytes."""

import os
import random
import shutil
import signal
import socket
import subprocess
import time

import psutil
import pytest

from reproduction import run as make
from reproduction.jobs import mending

from .running import Folder
from .test_resume import command, run, variables

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
