"""Tests of 300 mutated configurations with expected results: no traceback, and no invalid configuration is accepted.

Mutations are generated from the schema with a fixed seed, and written by hand. The expected result of a generated
mutation follows from the rule that it breaks, not from the output of the project.
"""

import copy
import random

import pytest

from reproduction import paper, smoke
from reproduction.config import checks, config

from .running import ROOT

pytestmark = pytest.mark.thorough

PAPERS = paper.discover()
SCHEMA = checks.schema_of(PAPERS)
SHIPPED = config.read(ROOT / "config.yaml")
SEED = 20261122


def check(settings):
    """Return the result of the workflow for a configuration that has been read."""
    return checks.checked(settings, PAPERS)


def put(settings, path, value):
    """Return a copy with one value changed."""
    changed = copy.deepcopy(settings)
    place = changed
    for key in path[:-1]:
        place = place.setdefault(key, {})
    place[path[-1]] = value
    return changed


def resolved(part):
    return SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[1]] | part if "$ref" in part else part


def leaves():
    """Return (path, rule) of every setting with a default, in all sections of all papers."""
    for slug in PAPERS:
        for name, section in SCHEMA["properties"][slug]["properties"].items():
            if name != "scenarios":
                for key, part in section.get("properties", {}).items():
                    yield (slug, name, key), resolved(part)


def kinds(rule):
    found = rule.get("type", "")
    return {found} if isinstance(found, str) else set(found)


def wrong_values(rule):
    """Return values that break a rule, for any setting."""
    types = kinds(rule)
    if types & {"integer", "number"}:
        yield from ("many", True, None, {"a": 1}, float("nan"), float("inf"), 1e300, -1e300, 5e-324)
        if not rule.get("items"):
            yield [rule["default"]]
        if "minimum" in rule:
            yield rule["minimum"] - 1
        if "exclusiveMinimum" in rule:
            yield rule["exclusiveMinimum"]
        if "maximum" in rule:
            yield rule["maximum"] + 1
        if types == {"integer"}:
            yield from (2.5, 10**30, f"{rule['default']}")
    elif types == {"array"}:
        yield from ("text", 3, None, {"a": 1}, [{}], [None], [float("nan")], [1e300])
        if rule.get("minItems"):
            yield []
    elif types == {"object"}:
        yield from ([], 1, "text", None)


def made():
    """Return (configuration, path that the error must state) of generated mutations."""
    chance = random.Random(SEED)
    cases = [(path, value) for path, rule in leaves() for value in wrong_values(rule)]
    for path, value in chance.sample(cases, 170):
        yield put(SHIPPED, path, value), ".".join(path)
    for path, _ in chance.sample(list(leaves()), 20):  # a misspelled key
        key = path[-1]
        at = chance.randrange(len(key))
        misspelt = key[:at] + "q" + key[at:]
        yield put(SHIPPED, (*path[:-1], misspelt), 1), ".".join((*path[:-1], misspelt))
    endless = [(path, rule) for path, rule in leaves() if rule.get("time") and kinds(rule) == {"integer"}]
    for path, _ in chance.sample([case for case in endless if "maximum" not in case[1]], 20):  # too much work
        yield put(SHIPPED, path, 10**12), ".".join(path)


BY_HAND = {
    "epsilon 1e300": ("scenarios.what_if.epsilon", 1e300),
    "epsilon 5e-324": ("scenarios.what_if.epsilon", 5e-324),
    "epsilon 1e-9": ("scenarios.what_if.epsilon", 1e-9),
    "epsilon 1e-6 is too much work": ("scenarios.what_if.epsilon", 1e-6, "scenarios.what_if"),
    "epsilon nan": ("scenarios.what_if.epsilon", float("nan")),
    "no epsilon": ("scenarios.what_if.epsilon", None),
    "an empty grid": ("scenarios.what_if.epsilon", []),
    "a grid of one value twice": ("scenarios.what_if.epsilon", [1.0, 1.0]),
    "a grid with a wrong point": ("scenarios.what_if.epsilon", [1.0, -1.0]),
    "a grid of 500 points": ("scenarios.what_if.epsilon", [1 + i / 500 for i in range(500)], "scenarios.what_if"),
    "algorithm as a number": ("scenarios.what_if.algorithm", 3),
    "support 1e9": ("scenarios.what_if.support", 10**9),
    "counts beyond 64 bits": ("scenarios.what_if.rehearsal.counts", [2**70, 1], "scenarios.what_if"),
    "negative counts": ("scenarios.what_if.rehearsal.counts", [-1, 2]),
    "no counts": ("scenarios.what_if.rehearsal.counts", []),
    "100,000 components": (
        "scenarios.what_if",
        {"kind": "additive_counts", "released": [3] * 10**5, "epsilon": 0.001},
    ),
    "limits 1e300": ("scenarios.sample.upper", 1e300),
    "limits that are one": ("scenarios.sample.lower", 2.0),
    "records 1e300": ("scenarios.sample.records", 10**300),
    "statistics nan": ("scenarios.sample.statistics.mean", float("nan")),
    "a release of text": ("scenarios.sample", {"release": ["county"]}, "scenarios.sample.release"),
    "a release that is none": ("scenarios.sample", {"release": "county"}, "scenarios.sample.release"),
    "a table of one row": ("scenarios.swapped.table", [[1, 2]]),
    "ragged table": ("scenarios.swapped.table", [[1, 2], [3]]),
    "rate 1": ("scenarios.swapped.rate", 1),
    "cells of 1e300": ("scenarios.swapped.table", [[10**300, 1], [1, 1]]),
    "2,500 cells": ("scenarios.swapped.table", [[1] * 50] * 50, "scenarios.swapped"),
    "names twice": (
        "scenarios.survey",
        {"kind": "noisy_counts", "counts": [1, 2], "names": ["a", "a"], "epsilon": 1.0},
        "scenarios.survey.names",
    ),
    "a scenario above the limit of time": ("limits.hours", 1e-5, "scenarios.survey"),
    "a scenario above the limit of memory": ("limits.memory_gb", 1e-3, "scenarios.survey"),
    "scale 1e300": ("scenarios.survey.noise", {"law": "laplace", "scale": 1e300}, "scenarios.survey.noise.scale"),
    "a law that is none": ("scenarios.survey.noise.law", "laplase", "scenarios.survey.noise"),
    "prior 5e-324": ("scenarios.survey.prior", 5e-324, "scenarios.survey"),
    "a question about nobody": ("scenarios.survey.questions", {"q": {"sum": ["nobody"]}}),
    "a question that is none": ("scenarios.survey.questions", {"q": {"product": ["met"]}}),
    "true counts": ("scenarios.survey.true_counts", [1, 2]),
    "a kind that is none": ("scenarios.survey.kind", "noisy_count"),
    "a scenario that is a list": ("scenarios.survey", [1, 2]),
    "a scenario that is nothing": ("scenarios.survey", None),
    "a name with a blank": ("scenarios", {"A b": {}}),
    "a path as a name": ("scenarios", {"../x": {}}),
    "scenarios as a list": ("scenarios", []),
    "a name that is taken": ("scenarios", {"x_densities": {"kind": "noisy_counts"}}, "scenarios.x_densities"),
    "an old section": ("balmat2018.scenarios", {"mine": {}}),
    "an old batch": ("wang2020.batches", {"mine": {}}),
    "a section as a number": ("balmat2018", 3),
    "shares that are no law": (
        "scenarios.shares",
        {"kind": "noisy_shares", "shares": [0.5, 0.6], "total": 3},
        "scenarios.shares.shares",
    ),
    "repeats 1e9 of a rehearsal": (
        "scenarios.shares",
        {"kind": "classifier", "rehearsal": {"csv": "config.yaml", "target": "x", "repeats": 10**9}},
    ),
    "order 1e9": ("scenarios.shares.order", 1e9),
    "seed as a mapping": ("root_seed", {}),
    "seed as text": ("root_seed", "7"),
    "negative seed": ("root_seed", -1),
    "a paper twice": ("run", ["pan2023", "pan2023"]),
    "an unknown paper": ("run", ["pan2032"]),
    "shards 0": ("shards", 0),
    "shards 1e9": ("shards", 10**9),
    "limits as text": ("limits.hours", "24"),
    "no memory": ("limits.memory_gb", 0),
    "less time than it takes": ("limits.hours", 0.001, "wang2020.calibration"),
    "unknown mechanism": ("releases", {"a": {"mechanism": "laplac"}}),
    "a release of nothing": ("releases", {"a": None}),
    "a release with epsilon beyond floats": (
        "releases",
        {"a": {"source": "s", "data": "x.csv", "mechanism": "discrete_laplace", "epsilon": 10**400}},
    ),
    "a ceiling beyond floats": (
        "",
        {
            "releases": {"a": {"source": "s", "data": "x", "mechanism": "discrete_laplace", "epsilon": 1.0}},
            "budgets": {"s": {"epsilon": "much"}},
        },
        "releases",
    ),
}


def by_hand():
    for path, value, *named in BY_HAND.values():
        yield (put(SHIPPED, path.split("."), value) if path else SHIPPED | value), (named or [path])[0]


def refused(settings, path):
    """Return the lines of the error with which a configuration is rejected."""
    try:
        check(settings)
    except config.ConfigError as error:
        return str(error).splitlines()
    raise AssertionError(f"accepted: {path}")


def test_what_is_wrong_is_refused_and_its_path_is_named():
    cases = [*made(), *by_hand()]
    assert len(cases) >= 250
    for settings, path in cases:
        lines = refused(settings, path)
        assert "nothing was run" in lines[0]
        assert any(line.strip().startswith(path) for line in lines[1:]), (path, lines)
        assert max(map(len, lines)) < 1500, path


def test_what_is_right_is_accepted():
    chance = random.Random(SEED)
    good = [SHIPPED, smoke.configuration(), {}]
    for path, rule in chance.sample(list(leaves()), 60):
        if kinds(rule) == {"integer"}:
            larger = min(2 * rule["default"], rule.get("maximum", 10**9))
            good.append(put(SHIPPED, path, max(larger, rule.get("minimum", 0))))
    for settings in good:
        if not any(key in str(settings) for key in ("'figure_1': {'total'", "'total': 100")):
            check(settings)
