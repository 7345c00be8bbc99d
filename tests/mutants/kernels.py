"""python tests/mutants/kernels.py [--count N] [--seed N]: mutants of the kernels, each compiled and tested.

A seeded sample of small wrong changes of .pyx and .pxd files, and all that ``kernels.yaml`` lists by hand. Each is
made in a copy of the tree, where only what it changes is built anew (-O1); one that does not compile is drawn again.
What survives meets the unit tests once more in a build that checks every index, as the kernels themselves do.
Rows, rates and exit code as of `run.py`.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kernels_operators as operators
import kernels_tests as chosen
import packages
import trials
import yaml

import results

PACKAGE, SEED = "kernels", 20180531
MEMORY = 6 * 2**30  # bytes a test may take: an array of a wrong size must not stop the machine
LONGEST = 600.0  # CPU seconds of a test file without any mutant


class Tree:
    """A copy of the project in which mutants are built and tested.

    Parameters
    ----------
    path : the copy. build : folder of what is kept between runs.
    """

    def __init__(self, path: Path, build: Path) -> None:
        self.path, self.log, self.times = path, build / "kernel.log", build / "kernels.seconds.json"
        setup = (path / "setup.py").read_text(encoding="utf-8")
        assert '"-O3"' in setup
        (path / "setup.py").write_text(setup.replace('"-O3"', '"-O1"'), encoding="utf-8")
        self.seconds: dict[str, float] = json.loads(self.times.read_text()) if self.times.exists() else {}

    def builds(self, kernels: list[str], *, checked: bool = False) -> bool:
        """Whether the kernels compile, which are then in place; `checked`: with checks of every index."""
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        settings = {**os.environ, "DPMULTINOMIAL_KERNELS": " ".join(kernels), "DPMULTINOMIAL_DEBUG": str(int(checked))}
        return subprocess.run(command, cwd=self.path, env=settings, capture_output=True).returncode == 0

    def test(self, file: str, limit: float) -> tuple[str, str, float]:
        """``passed``, ``killed`` or ``timeout``, the first test that failed, and CPU seconds."""
        answer, seconds = trials.in_child(self.path, lambda: _first_failure(file), limit, self.log)
        if answer is None:
            return ("timeout", file, seconds) if seconds > 0.9 * limit else ("killed", f"{file} crashed", seconds)
        return ("passed" if answer["code"] == 0 else "killed"), answer["by"], seconds

    def first_failure(self, files: list[str], slower: int) -> tuple[str, str, float]:
        """`test` of several files, each in `slower` times its own seconds and 10 more."""
        spent = 0.0
        for file in files:
            outcome, by, seconds = self.test(file, 10 + slower * self.seconds[file])
            spent += seconds
            if outcome != "passed":
                return outcome, by, spent
        return "passed", "", spent

    def time(self, file: str) -> None:
        """Measure a test file without any mutant, once; it must pass."""
        if file in self.seconds:
            return
        outcome, by, seconds = self.test(file, LONGEST)
        if outcome != "passed":
            raise RuntimeError(f"{file} fails without a mutant: {by}; {self.log.read_text()[-2000:]}")
        self.seconds[file] = seconds
        self.times.write_text(json.dumps(self.seconds, indent=1))

    def compiled(self, kernels: list[str]) -> dict[Path, bytes]:
        """The kernels' files as they are now."""
        found = [so for name in kernels for so in (self.path / "src").glob(f"{name}.*.so")]
        return {so: so.read_bytes() for so in found}

    def put(self, compiled: dict[Path, bytes]) -> None:
        """Files that `compiled` kept; anew, since a process may still have the old ones mapped."""
        for so, content in compiled.items():
            so.unlink(missing_ok=True)
            so.write_bytes(content)


class _Failure:
    """Plugin: the first test that failed."""

    def __init__(self) -> None:
        self.node = ""

    def pytest_sessionstart(self) -> None:
        """Hypothesis must not keep failing examples for the next mutant."""
        from hypothesis import settings

        settings.register_profile("mutants", database=None, derandomize=True)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.node:
            self.node = report.nodeid


def _first_failure(file: str) -> dict[str, Any]:
    """Run a file of tests until one fails, in a child."""
    import pytest

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    failure = _Failure()
    code = pytest.main(
        ["-x", "-q", "-m", "not slow and not attack and not site", "--tb=line", "-p", "no:cacheprovider", file],
        plugins=[failure],
    )
    return {"code": int(code), "by": failure.node or ("" if code == 0 else file)}


def judged(tree: Tree, mutant: operators.Mutant) -> results.Row | None:
    """A mutant's row; None where it does not compile."""
    module = mutant.path.relative_to(packages.TREE)

    def row(outcome: str, by: str, seconds: float) -> results.Row:
        shown = (mutant.line, mutant.operator, mutant.before, mutant.after)
        return results.Row(PACKAGE, str(module), *shown, outcome, by, round(seconds, 1))

    if reason := results.equivalent(str(module), mutant.before, mutant.after):
        return row("equivalent", reason, 0.0)
    kernels = chosen.kernels_of(mutant.path, packages.TREE)
    files = [str(file) for file in chosen.tests_of(kernels, packages.TREE)]
    built = tree.compiled(kernels)
    for file in files:
        tree.time(file)
    path = tree.path / module
    original = path.read_text(encoding="utf-8")
    path.write_text(mutant.apply(original), encoding="utf-8")
    try:
        if not tree.builds(kernels):
            return None
        outcome, by, spent = tree.first_failure(files, 3)
        if outcome == "passed" and tree.builds(kernels, checked=True):
            outcome, by, more = tree.first_failure([file for file in files if file.startswith("tests/unit")], 9)
            spent += more
        return row("survived" if outcome == "passed" else outcome, by, spent)
    finally:
        path.write_text(original, encoding="utf-8")
        tree.put(built)


def sampled(tree: Path, seed: int, only: list[str]) -> Iterator[operators.Mutant]:
    """Mutants without end: a line, uniformly from all that can change, a kind of change, a change."""
    rng, lines, seen = random.Random(seed), {}, set()
    for path in sorted((tree / "src").rglob("*.p[yx][xd]")):
        for mutant in operators.mutants(path) if not only or path.stem in only else []:
            lines.setdefault((path, mutant.line), {}).setdefault(mutant.operator, []).append(mutant)
    places = sorted(lines)
    while len(seen) < len(places):
        kinds = lines[rng.choice(places)]
        mutant = rng.choice(kinds[rng.choice(sorted(kinds))])
        if mutant not in seen:
            seen.add(mutant)
            yield mutant


def by_hand(tree: Path, only: list[str]) -> Iterator[operators.Mutant]:
    """Those that ``kernels.yaml`` lists: ``file``, ``old`` (stands once), ``new``."""
    for entry in yaml.safe_load((tree / packages.HERE / "kernels.yaml").read_text(encoding="utf-8")):
        path = tree / "src" / entry["file"]
        if not only or path.stem in only:
            yield operators.replaced(path, entry["old"], entry["new"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="mutants sampled")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--only", nargs="*", default=[], help="names of .pyx or .pxd files; all by default")
    parser.add_argument("--again", action="store_true", help="keep those that this sample's last run killed")
    asked = parser.parse_args()
    build = packages.TREE / "build/mutants"
    build.mkdir(parents=True, exist_ok=True)
    trials.load_large()
    path = build / f"{PACKAGE}.{asked.seed}.tsv"
    known = {row.key: row for row in results.read(path)} if asked.again else {}
    rows: list[results.Row] = []
    with TemporaryDirectory() as folder:
        tree = Tree(trials.copied(packages.TREE, Path(folder)), build)
        listed = list(by_hand(packages.TREE, asked.only))
        for mutant in chain(listed, sampled(packages.TREE, asked.seed, asked.only)):
            if len(rows) >= asked.count + len(listed):
                break
            row = known.get((str(mutant.path.relative_to(packages.TREE)), mutant.before, mutant.after))
            if row is None or row.outcome == "survived":
                row = judged(tree, mutant)
                print(f"{PACKAGE}: {row.told() if row else 'drawn again'}", flush=True)
            rows += [row] if row else []
            results.write(path, rows)
    print(results.kept_rate(PACKAGE, f"seed {asked.seed}{', with new tests' * asked.again}", rows), flush=True)
    return int(not results.enough(rows))


if __name__ == "__main__":
    sys.exit(main())
