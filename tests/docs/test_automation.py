"""The files for hosted continuous integration, as far as linters can judge them: they cannot be run here."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
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
def test_every_job_may_only_read_and_every_action_has_a_version(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert step.get("uses", "x@v1").partition("@")[2][:1] == "v"


def test_every_supported_python_runs_lint_and_tests():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == PYTHONS
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    assert all(f"make {target}" in commands for target in ("lint", "test", "docs"))


def test_the_catalogue_file_says_how_the_workflow_is_used():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["software-stack-deployment"]["conda"] is True


def test_every_file_of_tests_is_collected():
    """The folders are named one by one, long ones first, which is how two processes end together."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = [ROOT / folder for folder in about["tool"]["pytest"]["ini_options"]["testpaths"]]
    files = [path for top in ("tests", "src") for path in (ROOT / top).rglob("test_*.py")]
    assert len(files) > 100
    assert [path for path in files if sum(path.is_relative_to(folder) for folder in folders) != 1] == []
