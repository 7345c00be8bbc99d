"""Tests of a study in parts, one job per part: killed jobs give the same bytes, and a changed part is rejected."""

import os
import shutil
import signal
import subprocess
import time

import pytest
import yaml

from .running import Folder, environment

STATES = "state\tcounties\tpopulation\nDC\t1\t689545\nRI\t5\t1097379\nDE\t3\t989948\n"
TARGET = "results/studies/nation.csv"
KINDS = ("results/studies/nation.csv", "results/studies/nation/*.parquet")


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


def made(folder):
    return {name: raw for kind in KINDS for name, raw in folder.files(kind).items()}


@pytest.mark.slow
def test_a_killed_nation_goes_on_to_the_same_bytes(source, tmp_path):
    variables = environment(PYTHONPATH=str(source / "src"))

    def run(folder, *arguments):
        command = folder.command("--rerun-incomplete", TARGET, *arguments, cores=1)
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
    assert sorted(made(whole)) == [TARGET, *(f"results/studies/nation/{name}.parquet" for name in ("DC", "DE", "RI"))]
    process = run(killed)
    deadline = time.monotonic() + 300
    while not killed.files(KINDS[1]) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert 0 < len(killed.files(KINDS[1])) <= 3
    assert not (killed.path / TARGET).is_file()
    unlock = subprocess.run(
        killed.command("--unlock"), cwd=killed.path, env=variables, capture_output=True, text=True, check=False
    )
    assert unlock.returncode == 0, unlock.stdout + unlock.stderr
    process = run(killed)
    output = process.communicate()[0].decode()
    assert process.returncode == 0, output
    assert made(killed) == made(whole)
    part = killed.path / "results/studies/nation/DE.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    (killed.path / TARGET).unlink()
    process = run(killed, "--rerun-triggers", "params")
    output = process.communicate()[0].decode()
    assert process.returncode != 0
    assert "DE.parquet" in output
