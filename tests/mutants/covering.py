"""Which tests run a line, and how long they take: one run of each test file under coverage, kept in ``build/mutants``.

A test covers what it runs itself and what the fixtures it shares with others ran, whoever came first.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import trials

_LONGEST = 600.0  # CPU seconds that a file of tests may take under coverage
_IMPORT = ""  # coverage's name for what runs outside any test


class Covered:
    """What every test of a package costs and the tests that run each line of its modules."""

    def __init__(self) -> None:
        self.own: dict[str, float] = {}
        self.shared: dict[str, list[str]] = {}
        self.costs: dict[str, float] = {}
        self.lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))

    def add(self, kept: dict[str, Any]) -> None:
        """Take in what a file's run left; tests that fail without any mutant, or alone, are excluded."""
        self.own.update(kept["own"])
        self.shared.update(kept["shared"])
        self.costs.update(kept["costs"])
        for module, lines in kept["lines"].items():
            for line, tests in lines.items():
                self.lines[module][int(line)].update(t for t in tests if t in kept["own"] or t == _IMPORT)

    def near(self, module: str, lines: tuple[int, ...]) -> list[str]:
        """Tests that run any of the lines, all of the module's if they run at import; likely and fast ones first."""
        covering = set().union(*(self.lines[module].get(line, set()) for line in lines))
        if _IMPORT in covering or not covering:
            return self.far(module)
        return self._in_order(module, covering)

    def far(self, module: str) -> list[str]:
        """Tests that run anything of the module."""
        return self._in_order(module, set().union(*self.lines[module].values()) - {_IMPORT})

    def all(self, module: str) -> list[str]:
        """Every test of the package: constants that others import are run by whoever came first."""
        return self._in_order(module, set(self.own))

    def affordable(self, tests: list[str], enough: float) -> tuple[list[str], float]:
        """The first tests, at least one, that together cost no more than enough CPU seconds, and what they cost."""
        kept: list[str] = []
        total, made = 0.0, set[str]()
        for test in tests:
            price = self.own[test] + sum(self.costs[name] for name in set(self.shared[test]) - made)
            if not kept or total + price <= enough:
                kept.append(test)
                total += price
                made.update(self.shared[test])
        return kept, total

    def _in_order(self, module: str, tests: set[str]) -> list[str]:
        stem = Path(module).stem
        price = {test: self.own[test] + sum(self.costs[name] for name in self.shared[test]) for test in tests}
        return sorted(tests, key=lambda test: (price[test] * (0.1 if stem in test else 1), test))


def covered(copy: Path, tests: tuple[str, ...], modules: tuple[str, ...], keep: Path) -> Covered:
    """What runs of `tests` covered; made anew where a file, or one of `modules` that it covers, has changed."""
    together = Covered()
    for path in tests:
        file = keep / (path.replace("/", "-") + ".json")
        kept = json.loads(file.read_text()) if file.exists() else None
        looked_at = {path, *modules} & set(kept["digests"] if kept else ())
        if kept is None or any(_digest(copy, part) != kept["digests"][part] for part in looked_at):
            log = file.with_suffix(".log")
            kept, _ = trials.in_child(copy, lambda path=path: _measured(copy, path), _LONGEST, log)
            if kept is None:
                raise RuntimeError(f"{path} did not end in {_LONGEST} s of CPU time under coverage")
            backwards = partial(trials.run_tests, list(kept["own"])[::-1], to_the_end=True)
            alone, _ = trials.in_child(copy, backwards, _LONGEST, log)
            kept["own"] = {name: seconds for name, seconds in kept["own"].items() if name not in alone["failed"]}
            kept["failed"] += alone["failed"]
            file.write_text(json.dumps(kept))
        together.add(kept)
    return together


def _digest(copy: Path, part: str) -> str:
    path = copy / part
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


class _Contexts:
    """Plugin: coverage's context is the test, or the fixture that several tests share."""

    def __init__(self, measuring: Any) -> None:
        self.measuring, self.now = measuring, _IMPORT
        self.own: dict[str, float] = {}
        self.shared: dict[str, list[str]] = {}
        self.failed: set[str] = set()
        self.users: dict[str, set[str]] = defaultdict(set)
        self.costs: dict[str, float] = {}

    def _switch(self, name: str) -> None:
        self.now = name
        self.measuring.switch_context(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        self._switch(item.nodeid)
        known, start = sum(self.costs.values()), process_time()
        result = yield
        self.own[item.nodeid] = max(process_time() - start - sum(self.costs.values()) + known, 0.0)
        self.shared[item.nodeid] = sorted(set(_shared(item)) & set(self.costs))
        for name in self.shared[item.nodeid]:
            self.users[name].add(item.nodeid)
        self._switch(_IMPORT)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        before, name, start = self.now, _name(fixturedef), process_time()
        known = sum(self.costs.values())
        self._switch(name)
        try:
            return (yield)
        finally:
            within = sum(self.costs.values()) - known
            self.costs[name] = process_time() - start - within
            self._switch(before)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed or (report.skipped and report.when == "setup"):
            self.failed.add(report.nodeid)


def _name(fixturedef: Any) -> str:
    return f"fixture {fixturedef.baseid}::{fixturedef.argname}"


def _shared(item: Any) -> Iterator[str]:
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        yield from (_name(d) for d in definitions if d.scope != "function")


def _measured(copy: Path, path: str) -> dict[str, Any]:
    from coverage import Coverage

    measuring = Coverage(data_file=None, source=[str(copy / "src")], config_file=False, messages=False)
    contexts = _Contexts(measuring)
    measuring.start()
    pytest.main(
        ["-q", "-m", "not slow and not attack and not site", "--tb=short", "-p", "no:cacheprovider", path],
        plugins=[contexts],
    )
    measuring.stop()
    data = measuring.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for file in data.measured_files():
        module = str(Path(file).relative_to(copy))
        if "/tests/" not in module:
            found = data.contexts_by_lineno(file)
            lines[module] = {line: sorted(_tests(names, contexts.users)) for line, names in found.items()}
    digests = {part: _digest(copy, part) for part in [path, *lines]}
    own = {name: round(seconds, 4) for name, seconds in contexts.own.items() if name not in contexts.failed}
    costs = {name: round(seconds, 4) for name, seconds in contexts.costs.items()}
    measured = {"own": own, "shared": contexts.shared, "costs": costs, "failed": sorted(contexts.failed)}
    return {"digests": digests, "lines": lines, **measured}


def _tests(names: list[str], users: dict[str, set[str]]) -> set[str]:
    return set().union(*(users[name] if name.startswith("fixture ") else {name} for name in names))
