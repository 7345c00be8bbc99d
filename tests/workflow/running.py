"""Runs of the real workflow, each in a separate folder."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

from reproduction import smoke as smoke_sizes

from . import forked

ROOT = Path(__file__).parents[2]
_STATISTICS = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)


def environment(**variables):
    """Return this process's environment variables, with its Python first on the path."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | variables


def snakemake(arguments, *, good=True, folder=".", **variables):
    """Return the output of ``python -m snakemake`` in `folder`; it must succeed, or fail with code 1 unless `good`."""
    with tempfile.NamedTemporaryFile(mode="r") as output:
        shell = "" if variables or str(ROOT / "Snakefile") not in arguments else forked.shell_of_loaded()
        code = forked.snakemake(arguments, output.name, environment(**variables), folder, shell)
        said = output.read()
    assert code == (0 if good else 1), said
    return said


def make(folder, *words, **variables):
    """Return exit code and output of the command in the Makefile, for the workflow of this tree."""
    arguments = ["--snakefile", str(ROOT / "Snakefile"), *words]
    with tempfile.NamedTemporaryFile(mode="r") as output:
        shell = "" if variables else forked.shell_of_loaded()
        used = environment(PYTHONPATH=str(ROOT / "src"), **variables)
        return forked.make(arguments, output.name, used, folder, shell), output.read()


class Folder:
    """A working directory with a configuration, in which `snakemake` runs the workflow of `source`."""

    def __init__(self, path, source=ROOT, **changes):
        self.path, self.source = path, source
        settings = smoke_sizes.configuration()
        (path / "config.yaml").write_text(yaml.safe_dump(settings | changes))

    def command(self, *arguments, cores=2):
        snakefile = ["--snakefile", str(self.source / "Snakefile"), "--directory", str(self.path)]
        return [sys.executable, "-m", "snakemake", *snakefile, "--cores", str(cores), "--show-failed-logs", *arguments]

    def snakemake(self, *arguments, cores=2, good=True, **variables):
        return snakemake(self.command(*arguments, cores=cores)[3:], good=good, **variables)

    def planned(self, *arguments):
        """Return a mapping from each rule to the number of jobs that a run would start."""
        output = self.snakemake("--dry-run", *arguments)
        table = output.partition("Job stats:")[2].partition("\n\n")[0]
        return {rule: int(count) for rule, count in _STATISTICS.findall(table) if rule not in ("total", "all", "job")}

    def files(self, pattern):
        return {str(p.relative_to(self.path)): p.read_bytes() for p in sorted(self.path.glob(pattern)) if p.is_file()}


@pytest.fixture(scope="session")
def smoke(request, tmp_path_factory):
    """Run the workflow at toy size, once: the scenarios and one paper, or all papers if a thorough test is selected."""
    whole = any(item.get_closest_marker("thorough") for item in request.session.items)
    papers = smoke_sizes.configuration()["run"] if whole else ["balmat2018"]
    folder = Folder(tmp_path_factory.mktemp("smoke"), run=papers)
    folder.papers, folder.output = papers, folder.snakemake()
    return folder


@pytest.fixture
def folder(tmp_path):
    return lambda name="run", **changes: Folder(_made(tmp_path / name), **changes)


@pytest.fixture(scope="session")
def copied_source(tmp_path_factory):
    """Return an editable copy of the source tree with its compiled kernels; new kernels are not optimised."""
    target = tmp_path_factory.mktemp("source")
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    built = [str(path.relative_to(ROOT)) for kind in ("*.so", "*.pyc") for path in (ROOT / "src").rglob(kind)]
    for name in tracked + built:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    setup = (target / "setup.py").read_text()
    assert '"-O3"' in setup
    (target / "setup.py").write_text(setup.replace('"-O3"', '"-O0"'))
    shutil.copystat(ROOT / "setup.py", target / "setup.py")  # so that no kernel is older than it
    return target


def _made(path):
    path.mkdir(parents=True)
    return path
