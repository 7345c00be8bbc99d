"""Tests of the files for hosted continuous integration, as far as linters can check them without running them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.workflow.running import environment, snakemake

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
DIGEST = "032c52613401895aa3d418a4c563d2d05f993bc3ecc065c8f4e2280978acd249"  # of python:3.12.7-slim-bookworm
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflows_obey_their_schema():
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "wheels.yml"]
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)


def test_no_weakness_is_known_in_the_workflows():
    run(TOOLS / "zizmor", "--offline", "--no-progress", ".github")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_job_may_only_read_and_every_action_is_a_commit(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"x@{'0' * 40}")), step
    pins = re.findall(r"uses: (\S+)@\w{40}  # v\d+\.\d+\.\d+$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(pins) == sum("uses" in step for job in workflow["jobs"].values() for step in job["steps"])


def test_the_tool_that_makes_the_source_distribution_is_the_locked_one():
    wheels = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    (version,) = re.findall(r"pip install \"build==([\d.]+)\"", wheels)
    assert f"build=={version} " in (ROOT / "envs/develop.lock").read_text(encoding="utf-8")


def test_every_supported_python_runs_lint_and_tests():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == PYTHONS
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    assert all(f"make {target}" in commands for target in ("lint", "test-all", "docs"))


def test_the_catalogue_file_says_how_the_workflow_is_used():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["software-stack-deployment"]["conda"] is True


def test_the_catalogue_accepts_the_repository():
    """Check the requirements of the catalogue's generator: Snakefile, .smk rules, config/README.md, words in README."""
    assert (ROOT / "workflow/Snakefile").is_file()
    assert {path.suffix for path in (ROOT / "workflow/rules").iterdir() if path.is_file()} == {".smk"}
    assert (ROOT / "config/README.md").read_text(encoding="utf-8").strip()
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert {"snakemake", "workflow"} <= set(re.findall(r"[a-z]+", readme))


@pytest.mark.thorough
def test_the_workflow_found_in_its_folder_is_the_whole(tmp_path):
    planned = {}
    shutil.copyfile(ROOT / "config.yaml", tmp_path / "config.yaml")
    for name in ("Snakefile", "workflow/Snakefile"):
        said = snakemake(["--dry-run", "--snakefile", str(ROOT / name), "--directory", str(tmp_path), "--cores", "2"])
        table = said.partition("Job stats:")[2].partition("\n\n")[0]
        planned[name] = set(re.findall(r"^(\w+) +\d+$", table, re.MULTILINE)) - {"all", "everything", "total", "job"}
    assert len(planned["Snakefile"]) > 40
    assert planned["workflow/Snakefile"] == planned["Snakefile"]


IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_has_a_pinned_base_and_installs_from_the_lock_alone():
    assert re.findall(r"^FROM (.*)$", IMAGE, re.MULTILINE) == [f"python:3.12.7-slim-bookworm@sha256:{DIGEST}"]
    assert "pip" not in IMAGE
    assert "make .venv/.installed" in IMAGE
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(VENV)/.run: envs/run.lock" in rules
    assert "--require-hashes" in rules


def in_image(folder):
    """Check the files from which the image is built, as selected by .dockerignore."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "*"
    for name in (line[1:] for line in lines if line.startswith("!")):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
        else:
            shutil.copyfile(source, target)
    return folder


def test_nothing_private_and_no_result_gets_into_the_image(tmp_path):
    made = in_image(tmp_path / "image")
    tops = {path.name for path in made.iterdir()}
    assert not tops & {"confidential", "releases", "results", "figures", ".git", "data", ".snakemake"}


@pytest.mark.thorough
def test_what_is_in_the_image_is_enough_for_a_run(tmp_path):
    """Compute one table from scratch with the same files and the kernels that the image compiles."""
    image, run = in_image(tmp_path / "image"), tmp_path / "run"
    run.mkdir()
    shutil.copyfile(ROOT / "config.yaml", run / "config.yaml")
    for path in (ROOT / "src").rglob("*.so"):
        shutil.copyfile(path, image / path.relative_to(ROOT))
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", IMAGE, re.MULTILINE)[1])
    command = [word.replace("/opt/dpmultinomial", str(image)) for word in entry[1:]]
    target = "results/pan2023/errata.csv"  # of the quickest job
    variables = environment(PYTHONPATH=str(image / "src"))
    done = subprocess.run(
        [sys.executable, *command, "--cores", "2", target], cwd=run, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (run / target).stat().st_size > 50


@pytest.mark.thorough
def test_every_file_of_tests_is_collected():
    """Check that folders are listed one by one, long ones first, and that `make test-all` runs all of them."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = [ROOT / folder for folder in about["tool"]["pytest"]["ini_options"]["testpaths"]]
    command = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ntest-all:")[2].partition("\n\n")[0]
    assert " tests src/reproduction " in command
    folders.append(ROOT / "tests/attacks")
    files = [path for top in ("tests", "src") for path in (ROOT / top).rglob("test_*.py")]
    assert len(files) > 100
    assert [path for path in files if sum(path.is_relative_to(folder) for folder in folders) != 1] == []


@pytest.mark.parametrize(
    ("command", "targets"),
    [(["report"], {"report"}), (["release", "ARGS=release_county"], {"release_county"}), (["reproduce"], set())],
)
def test_make_hands_its_targets_to_snakemake(command, targets):
    """Check that no target follows `--quiet`, which takes all following words as its values."""
    from snakemake.cli import get_argument_parser

    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    asked_of_make = set(re.findall(r"\$\((\w+)\)", rules)) - {"PATH"}  # ARGS: make hands on what it was given
    outer = ("MAKE", "MFLAGS")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(outer) and k not in asked_of_make}
    done = subprocess.run(["make", "-n", *command], capture_output=True, text=True, check=True, cwd=ROOT, env=plain)
    calls = [line.split()[4:] for line in done.stdout.splitlines() if "-m reproduction.run --cores" in line]
    asked = [get_argument_parser().parse_args(call) for call in calls]
    assert targets == {target for one in asked for target in one.targets}
    assert {"reason"} == {str(word).lower().rpartition(".")[2] for one in asked for word in one.quiet}
