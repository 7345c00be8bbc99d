"""Tests of `make` after a killed run, during another run, and with configurations that Snakemake cannot read."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from .running import ROOT, Folder, environment

pytestmark = pytest.mark.thorough

TARGET = "results/balmat2018/simulated/calibration_1_of_1.csv"


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


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_the_same_command_goes_on_after_a_run_that_was_killed(tmp_path, how):
    folder = Folder(tmp_path)
    process = subprocess.Popen(
        command(TARGET),
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
    code, output = run(folder, TARGET)  # the first one is alive
    assert code != 0
    assert f"Process {process.pid} is running this workflow in this folder" in output
    os.killpg(process.pid, how)
    os.killpg(process.pid, signal.SIGCONT)
    process.wait()
    code, output = run(folder, TARGET)
    assert code == 0, output
    assert (tmp_path / TARGET).is_file()


def test_a_lock_of_another_machine_is_left_alone(tmp_path):
    folder = Folder(tmp_path)
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("x\n")
    mark = {"host": "another", "process": 1, "started": 0.0}
    (tmp_path / ".snakemake/run.json").write_text(json.dumps(mark))
    run(folder, "--dry-run", TARGET)
    assert (locks / "0.input.lock").exists()


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("none.yaml", None, "cannot be read"),
        ("latin.yaml", b"caf\xe9: 1\n", "is not text in UTF-8"),
        ("wide.yaml", "root_seed: 1\n".encode("utf-16"), "is not text in UTF-8"),
        ("template.yaml", b"__use_yte__: true\nroot_seed: ?open('ran', 'w').write('x')\n", "templates can run code"),
        ("twice.yaml", b"root_seed: 1\nroot_seed: 2\n", "duplicate key"),
        ("octal.yaml", b"root_seed: 010\n", "YAML reads this number as 8"),
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
