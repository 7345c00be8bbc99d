"""Attacks from outside of a release: foreign repositories, the order of rows, and files planted in an archive.

The entries have the form of `doors.Door`. Each weakened version is the code of version 0.3.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from dpmultinomial import _git
from dpmultinomial._files import csv_table
from dpmultinomial._releases import _counts, _places, _tree_counts, room
from reproduction.archive import checksums

from .doors import Attack, Door, git, made, project


def _program(root: Path) -> Path:
    path = root / "program"
    path.write_text(f"#!/bin/sh\ntouch '{root}/ran'\nexit 1\n")
    path.chmod(0o755)
    return path


def _in_repository(plant: Callable[[Path, Path], object]) -> Attack:
    """The data lie in a repository that was prepared; a release is made, or at least checked."""

    def attack(root):
        git(root, "init", "-q")
        project(root)
        (root / "config.yaml").write_text("run: []\n")
        git(root, "add", "config.yaml")
        git(root, "commit", "-q", "-m", "x")
        plant(root, _program(root))
        (root / "ran").unlink(missing_ok=True)
        made(root)
        return (root / "ran").exists()

    return attack


def _partial(root: Path, program: Path) -> None:
    """A partial clone without the tree of its commit, whose remote is a program."""
    tree = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=root, capture_output=True, text=True, check=True)
    digest = tree.stdout.strip()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", f"ext::sh -c {program}"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
    ):
        git(root, "config", key, value)
    (root / ".git/objects" / digest[:2] / digest[2:]).unlink()


def _included(root: Path, program: Path) -> None:
    (root / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    git(root, "config", "include.path", str(root / "more"))


def _worktree(root: Path, program: Path) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "core.fsmonitor", str(program))


def _of_somebody_else(root: Path, program: Path) -> None:
    git(root, "config", "core.fsmonitor", str(program))
    for path in (root / ".git").rglob("*"):
        os.chown(path, 54321, 54321) if os.geteuid() == 0 else None
    os.chown(root / ".git", 54321, 54321) if os.geteuid() == 0 else None


def _trusting(patch):
    """As version 0.3 called git: every repository is safe, with its own configuration."""

    def output(folder, *words):
        safe = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        run = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, env=os.environ | safe, check=False
        )
        if run.returncode:
            raise _git.GitError("git failed")
        return os.fsdecode(run.stdout)

    patch.setattr(_git, "output", output)
    patch.setattr(_places._git, "output", output)


REPOSITORIES = Door(
    "a repository that runs a program",
    {
        name: _in_repository(plant)
        for name, plant in {
            "a file system monitor": lambda root, program: git(root, "config", "core.fsmonitor", str(program)),
            "a monitor in an included file": _included,
            "a monitor of a worktree": _worktree,
            "a monitor in a repository of somebody else": _of_somebody_else,
            "a partial clone whose remote is a program": _partial,
        }.items()
    },
    _trusting,
)


def _by_count(table: list[tuple[str, int]], header: str, row: Callable[[str, int], str], **settings) -> Attack:
    """A confidential file sorted by count; harm is done if the release has the names in the same order."""

    def attack(root):
        rows = sorted(table, key=lambda pair: -pair[1])
        project(root, "\n".join([header, *(row(*pair) for pair in rows)]) + "\n")
        folder = room.make("a", settings | {"data": "confidential/c.csv"}, root=root)
        wanted = [name for name, _ in rows]
        found = csv_table.read(folder / "release.csv").texts("category")
        return [name for name in found if name in wanted] == wanted

    return attack


_TOWNS = [(f"t{k:02}", (k * 37) % 101 + 3 * k) for k in range(20)]
_TOTAL = sum(count for _, count in _TOWNS)


def _people(root):
    """People of one stratum sorted by income: rank by rank, the release has the confidential incomes."""
    lines = [f"a,p{(k * 7) % 40:02},{1000 + k}" for k in range(40)]
    project(root, "\n".join(["area,id,income", *lines]) + "\n")
    settings = {"mechanism": "swap", "swap": ["income"], "match": ["area"], "rate": 0.5, "accept_weak_privacy": True}
    folder = room.make("a", settings | {"data": "confidential/c.csv"}, root=root)
    return csv_table.read(folder / "release.csv").texts("id") == [line.split(",")[1] for line in lines]


def _in_file_order(patch):
    for module in (_counts, _tree_counts):
        patch.setattr(module, "sorted", lambda items, key=None: list(items), raising=False)
    patch.setattr(csv_table.CsvTable, "sorted", lambda table: table)


def _flat(**settings) -> Attack:
    return _by_count(_TOWNS, "category,count", lambda name, count: f"{name},{count}", **settings)


def _tree(**settings) -> Attack:
    root = f"category,parent,count\nall,,{_TOTAL}"
    return _by_count(_TOWNS, root, lambda name, count: f"{name},all,{count}", **settings)


ORDER = Door(
    "the order of the rows of a confidential file",
    {
        "counts sorted by count": _flat(mechanism="discrete_laplace", epsilon=1.0),
        "counts with Gaussian noise": _flat(mechanism="discrete_gaussian", rho=0.5),
        "additive counts": _flat(mechanism="additive_counts", epsilon=1.0),
        "a tree sorted by count": _tree(mechanism="discrete_laplace", epsilon=1.0),
        "people sorted by a swapped column": _people,
    },
    _in_file_order,
)


def _planted(plant: Callable[[Path], object]) -> Attack:
    def attack(root):
        for name in ("Makefile", "src/a/b.py", "results/t.csv"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(name)
        names = ("Makefile", "results/t.csv", "src/a/b.py")
        sums = "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in names)
        (root / checksums.SUMS).write_text(sums)
        checksums.check(root)
        plant(root)
        try:
            checksums.check(root)
        except checksums.Differs:
            return False
        return True

    return attack


def _write(name: str) -> Callable[[Path], object]:
    return lambda root: ((root / name).parent.mkdir(parents=True, exist_ok=True), (root / name).write_text("x"))


def _replaced(root: Path) -> None:
    shutil.move(root / "results/t.csv", root.with_name(f"{root.name}_t.csv"))
    (root / "results/t.csv").symlink_to(root.with_name(f"{root.name}_t.csv"))


def _passing_over(patch):
    """As version 0.3 looked: built things at any depth, links and pipes were passed over."""
    built = {".venv", ".snakemake", "build", "__pycache__", ".git"}

    def added(folder, listed):
        found = []
        for path in sorted(folder.rglob("*")):
            place = path.relative_to(folder)
            ends = path.suffix in (".so", ".pyd", ".pyc") or any(part.endswith(".egg-info") for part in place.parts)
            if path.is_file() and not (built & {*place.parts} or ends) and place.as_posix() not in listed:
                found.append(f"{place} was added")
        return found, []

    patch.setattr(checksums, "_added", added)
    patch.setattr(checksums, "_is_regular", lambda path: path.is_file())


ARCHIVES = Door(
    "a file planted in an archive",
    {
        **{name: _planted(_write(name)) for name in (
            "src/a/b.pyc", "src/a/__pycache__/b.cpython-311.pyc", "src/a/b.cpython-311-x86_64-linux-gnu.so",
            "src/x.egg-info/x.py", "results/build/evil.csv", "src/.venv/x.py", "src/a/.git/config")},
        "a link to a folder": _planted(lambda root: (root / "src/more").symlink_to(root.parent)),
        "a dangling link": _planted(lambda root: (root / "src/more").symlink_to("nowhere")),
        "a pipe": _planted(lambda root: os.mkfifo(root / "src/more")),
        "an empty folder": _planted(lambda root: (root / "src/json").mkdir()),
        "a listed file replaced by a link": _planted(_replaced),
    },
    _passing_over,
)  # fmt: skip

DOORS = (REPOSITORIES, ORDER, ARCHIVES)
