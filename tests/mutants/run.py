"""make mutants [ARGS="--package NAME --count N --seed N"]: errors in the code that the tests detect.

For every package, a seeded random sample of mutants and all mutants that are listed by hand are tested. Each mutant is
applied in a copy of the tree and tested by the test files that import the module, directly or through other modules,
the nearest first. ``build/mutants/<package>.<seed>.tsv`` has one row per mutant, ``rates.tsv`` in this folder one line
per package and sample. The exit code is 1 if a listed mutant survives, or more than a tenth of the sampled mutants
that are not equivalent.
"""

import argparse
import contextlib
import importlib.util
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mutants
from mutants import LISTED, ROOT, Mutant, Row

sys.path.insert(0, str(ROOT / "tests"))
from scheduling import weighed

SEED = 20180531
BUILD = ROOT / "build/mutants"
SPENT = {True: 300.0, False: 90.0}  # CPU seconds of tests per mutant, for listed and for sampled mutants
LONGEST = 600.0  # CPU seconds of a test file without any mutant
FAR = 3  # distance assigned to modules of a package that a test does not import: jobs name them in settings
MEMORY = 6 * 2**30  # bytes of memory for a test of a kernel
_LARGE = (
    *("numpy", "scipy.stats", "scipy.optimize", "scipy.integrate", "pandas", "matplotlib.figure", "mpmath"),
    *("yaml", "jsonschema", "sklearn.naive_bayes", "sklearn.model_selection", "networkx"),
)
_LEFT_OUT = (".git", ".venv", ".snakemake", ".hypothesis", "build", "results", "figures", "_build", "__pycache__")
Change = Callable[[bool], None]
Fate = tuple[str, str, float]
_OURS = ("dpmultinomial", "reproduction", "tests")


@cache
def _graph() -> dict[Path, set[Path]]:
    """Return a mapping from each file to the files that import it, including tests; a .pyx file imports its headers."""
    # by path: the installed package may be a copy elsewhere, as in continuous integration
    found = importlib.util.spec_from_file_location("_dependencies", ROOT / "src/reproduction/dependencies.py")
    d = importlib.util.module_from_spec(found)
    found.loader.exec_module(d)
    public = dict(re.findall(r'"(\w+)": "([\w.]+)"', (d.SRC / "dpmultinomial/__init__.py").read_text(encoding="utf-8")))
    users = defaultdict(set)
    for path in [*d.SRC.rglob("*.py"), *d.SRC.rglob("*.pyx"), *(ROOT / "tests").rglob("test_*.py")]:
        own = path.relative_to(d.SRC if path.is_relative_to(d.SRC) else ROOT).with_suffix("").parts
        names = d._imported(path, ".".join(own[:-1] if own[-1] == "__init__" else own))
        asked = re.findall(r"\b(?:dpm|dp|dpmultinomial)\.(\w+)", path.read_text(encoding="utf-8"))
        asked += [name.partition(".")[2] for name in names]
        names += [f"dpmultinomial.{public[name]}" for name in asked if name in public]
        sources = d.kernel_sources("/".join(own)) if path.suffix == ".pyx" else []
        for file in {*filter(None, map(d._file, names)), *sources} - {path}:
            users[file].add(path)
    return users


def tests_of(file: str) -> list[str]:
    """Return the test files that import a file, directly or indirectly, the nearest and the fastest first."""
    seconds, source = weighed(), ROOT / file
    distance, reached = {source: 0}, [source]
    for path in reached:
        for user in sorted(_graph()[path] - set(distance)):
            distance[user] = distance[path] + 1
            reached.append(user)
    near = [*source.parents, ROOT / "tests/unit" / Path(file).parts[2].lstrip("_")]
    for test in (t for f in near if f != ROOT for t in [*f.glob("tests/test_*.py"), *f.glob("test_*.py")]):
        distance[test] = min(distance.get(test, FAR), FAR)
    apart = {"browser", "docs", "peers", "bench", "mutants", "cluster"}
    found = [p for p in distance if p.name.startswith("test_") and not apart & set(p.relative_to(ROOT).parts[:2])]
    names = {str(path.relative_to(ROOT)): (distance[path], source.stem not in path.stem) for path in found}
    return sorted(names, key=lambda name: (names[name][0], names[name][1], seconds[name], name))


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Return the names that are not copied: outputs at the top level, but not folders of tests with the same names."""
    return set(names) & set(_LEFT_OUT if Path(folder) == ROOT else ("__pycache__",))


class Copy:
    """A copy of the tree with its compiled kernels, in which mutants are tested.

    Test files are run in a fork of this process, which has loaded the large libraries but not the code under test.
    """

    def __init__(self, folder: Path) -> None:
        BUILD.mkdir(parents=True, exist_ok=True)
        os.environ |= {"MPLBACKEND": "Agg"} | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        for name in _LARGE:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        self.path, self.log, self.known = folder / "tree", BUILD / f"{os.getpid()}.log", BUILD / "tests.json"
        shutil.copytree(ROOT, self.path, ignore=_ignored)
        self.times = itertools.count(int(time.time()) - 10**7)
        self.tests: dict[str, Any] = json.loads(self.known.read_text()) if self.known.exists() else {}

    def put(self, file: str, text: str) -> None:
        """Write a source file with a new time stamp, so that compiled bytecode of another text is not used."""
        if (self.path / file).read_text(encoding="utf-8") == text:
            return
        (self.path / file).write_text(text, encoding="utf-8")
        stamp = next(self.times)
        os.utime(self.path / file, (stamp, stamp))

    def timed(self, test: str) -> bool:
        """Return whether the time of the test file is known and the file has not changed since."""
        return test in self.tests and bool(self.tests[test]["size"] == (ROOT / test).stat().st_size)

    def seconds(self, test: str) -> float:
        """Return CPU seconds of a test file without any mutant; tests that fail are excluded from then on."""
        if not self.timed(test):
            answer, seconds = self.run(test, LONGEST)
            if answer is None or answer["code"] not in (0, 1, 5):  # of pytest: passed, failed, or no test selected
                raise RuntimeError(f"{test} does not run, or not within {LONGEST} s, without a mutant: {self.log}")
            self.tests[test] = {"seconds": seconds, "failed": answer["failed"], "size": (ROOT / test).stat().st_size}
            self.known.write_text(json.dumps(self.tests, indent=1))
        return float(self.tests[test]["seconds"])

    def fate(self, tests: list[str], most: float, change: Change, *, slower: float = 3.0, memory: int = 0) -> Fate:
        """Return ``killed`` or ``timeout`` with the test, or ``survived``, and the CPU seconds.

        Parameters
        ----------
        tests : test files, the nearest first.
        most : CPU seconds of all test files; a file that would exceed the limit is skipped.
        change : function that applies the mutant to the copy (True), or restores the original (False).
        slower : factor by which a file may exceed its time without the mutant, plus 10 seconds.
        memory : bytes that a file may use, 0 for no limit.
        """
        left, spent, by = most, 0.0, "no test imports it"
        change(True)
        for test in tests:
            if not self.timed(test) and weighed()[test] <= left:
                change(False)
                self.seconds(test)
                change(True)
            if self.timed(test) and (needed := self.seconds(test)) <= left:
                left, limit, by = left - needed, 10 + slower * needed, ""
                answer, seconds = self.run(test, limit, left_out=self.tests[test]["failed"], memory=memory)
                spent += seconds
                if answer is None:
                    late = seconds > 0.9 * limit
                    return "timeout" if late else "killed", test if late else f"{test} crashed", spent
                if answer["code"] not in (0, 5):
                    return "killed", (answer["failed"] or [f"{test}: cannot be imported"])[0], spent
        return "survived", by, spent

    def run(
        self, test: str, limit: float, *, left_out: Iterable[str] | None = None, memory: int = 0
    ) -> tuple[Any, float]:
        """Run a test file in a fork, up to the first failure if `left_out` is given.

        Returns the exit code of pytest, the tests that failed (None if the fork was stopped or crashed), and CPU
        seconds.
        """
        answer = self.log.with_suffix(".json")
        answer.unlink(missing_ok=True)
        before = _spent()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            self._be_child(lambda: _tested(test, left_out), limit, memory, answer)
        deadline = time.monotonic() + 30 * limit
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # processes that the test started and did not end
        return (json.loads(answer.read_text()) if answer.exists() else None), _spent() - before

    def _be_child(self, work: Callable[[], Any], limit: float, memory: int, answer: Path) -> None:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 3))
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            with self.log.open("w") as stream:
                os.dup2(stream.fileno(), 1)
                os.dup2(stream.fileno(), 2)
            os.chdir(self.path)
            for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
                del sys.modules[name]
            sys.path[:] = [str(self.path / "src"), str(self.path), *(p for p in sys.path if str(ROOT / "src") != p)]
            os.environ["PYTHONPATH"] = str(self.path / "src")
            part = answer.with_suffix(".part")
            part.write_text(json.dumps(work()))
            part.rename(answer)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Failures:
    """Plugin of pytest that records the tests that failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Prevent Hypothesis from storing failing examples, because the next run has another mutant."""
        from hypothesis import settings

        settings.register_profile("mutants", database=None, derandomize=True)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def _tested(test: str, left_out: Iterable[str] | None) -> dict[str, Any]:
    import pytest

    plugin = _Failures()
    options = ["-q", "-m", "not slow and not attack and not site", "--tb=line", "-p", "no:cacheprovider", test]
    options += [f"--deselect={name}" for name in left_out or ()] + (["-x"] if left_out is not None else [])
    return {"code": int(pytest.main(options, plugins=[plugin])), "failed": plugin.failed}


def tried(copy: Copy, mutant: Mutant) -> Row:
    """Return the row of a mutant of a Python module."""
    reason = mutants.equivalents().get(mutant.key, "")
    if reason:
        return row(mutant, "equivalent", reason, 0.0)
    texts = {True: mutant.text, False: (ROOT / mutant.file).read_text(encoding="utf-8")}

    def change(mutated: bool) -> None:
        copy.put(mutant.file, texts[mutated])

    try:
        return row(mutant, *copy.fate(tests_of(mutant.file), SPENT[mutant.operator == LISTED], change))
    finally:
        change(False)


def row(mutant: Mutant, outcome: str, by: str, seconds: float) -> Row:
    """Return the row of a mutant."""
    m = mutant
    return Row(m.file, m.line, m.operator, m.before, m.after, outcome, by, round(seconds, 1))


def arguments(description: str | None, **count: Any) -> argparse.ArgumentParser:
    """Return the parser of the arguments that both programs accept."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, help="mutants sampled", **count)
    parser.add_argument("--by-hand", type=int, help="mutants of the list, drawn at random; all by default")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the sample; {SEED} by default")
    parser.add_argument("--matching", default="", help="only mutants whose file or changed line contains this text")
    parser.add_argument("--again", action="store_true", help="only those that survived in this sample's last run")
    return parser


def judge(
    package: str, chosen: Iterable[Mutant], asked: argparse.Namespace, judged: Callable[[Mutant], Row | None]
) -> bool:
    """Write a row per mutant, and the rates if the whole package was tested; return whether enough were killed."""
    path = BUILD / f"{package}.{asked.seed}.tsv"
    known = mutants.rows_of(path) if asked.again else {}
    rows: list[Row] = []
    for mutant in chosen:
        found = known.get(mutant.key)
        if found is None or found.outcome == "survived":
            if asked.matching not in f"{mutant.file} {mutant.before}" or (found := judged(mutant)) is None:
                continue
            print(f"{package}: {found}", flush=True)
        rows.append(found)
        mutants.write_rows(path, rows)
    rates = mutants.rates(package, f"seed {asked.seed}{', with new tests' * asked.again}", rows)
    print(*("  ".join(rate) for rate in rates), sep="\n", flush=True)
    if not asked.matching and asked.by_hand is None:
        mutants.keep_rates(rates)
    return mutants.enough(rows)


def some(listed: list[Mutant], asked: argparse.Namespace) -> list[Mutant]:
    """Return all listed mutants that match, or a random selection of the requested size."""
    matching = [m for m in listed if asked.matching in f"{m.file} {m.before}"]
    if asked.by_hand is None or asked.by_hand >= len(matching):
        return matching
    return random.Random(asked.seed).sample(matching, asked.by_hand)


def main() -> int:
    parser = arguments(__doc__, default=12)
    parser.add_argument("--package", action="append", default=[], help="a package; may be given again; all by default")
    parser.add_argument("--list", action="store_true", help="name the packages and stop")
    asked, packages = parser.parse_args(), mutants.modules()
    if unknown := sorted(set(asked.package) - set(packages)):
        raise SystemExit(f"unknown package: {', '.join(unknown)}; there are {', '.join(packages)}")
    if asked.list:
        print(*(f"{name:20} {len(files)} modules" for name, files in packages.items()), sep="\n")
        return 0
    listed, short = mutants.all_listed(), []
    with TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for name in asked.package or packages:
            chosen = some([m for m in listed if mutants.package(m.file) == name], asked)
            chosen += mutants.sampled(packages[name], asked.count, asked.seed)
            short += [] if judge(name, chosen, asked, lambda mutant: tried(copy, mutant)) else [name]
    print(f"not enough killed: {', '.join(short)}" if short else "enough killed in every package")
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
