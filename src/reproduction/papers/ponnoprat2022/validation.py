"""What a configuration of ponnoprat2022 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

from collections.abc import Iterator, Mapping
from os.path import isfile
from pathlib import Path
from typing import Any

from dpmultinomial._files import places

WAY_OUT = (
    "is refused: true data would leave with noise that anyone can repeat; make a release (section releases) and name "
    "it here (release: <name>), or put made-up data under rehearsal"
)
_CALIBRATION = ("epsilon", "order", "r", "alpha")
_ROUNDING = 1e-3  # of each printed probability


def work(scenario: dict[str, Any]) -> tuple[float, float]:
    """CPU seconds and MB of a scenario: every release of a rehearsal scores its test records."""
    rehearsal = scenario.get("rehearsal") or {}
    counts = rehearsal.get("counts") or scenario.get("released") or []
    path = Path(str(rehearsal.get("csv", "")))
    size = path.stat().st_size if isfile(path) else 0
    of_mechanism = len(rehearsal.get("epsilons", (1,) * 4)) * rehearsal.get("repeats", 10)
    releases = of_mechanism * len(rehearsal.get("mechanisms", (1,) * 3))
    return 1.0 + 0.05 * len(counts) + releases * (1e-4 + 1e-8 * size), 0.1 * len(counts) + 3e-5 * size


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section.get("scenarios", {}).items():
        for key, text in _scenario(scenario):
            yield f"scenarios.{name}{key}", text
    for part in ("figure_1", "figure_2", "figure_3_top", "figure_3_bottom", "figure_8", "exact_calibration"):
        if section[part]["least"] >= section[part]["most"]:
            yield f"{part}.least", f"{section[part]['least']} must be below most, {section[part]['most']}"


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("counts", "csv", "data"):
        if key in scenario:
            yield f".{key}", WAY_OUT
    if sum(key in scenario for key in ("release", "released", "rehearsal")) != 1:
        yield "", "must have exactly one of release, released and rehearsal"
        return
    rehearsal = scenario.get("rehearsal", {})
    histogram = "released" in scenario or "counts" in rehearsal
    allowed = {"release": {"prior"}, "released": {*_CALIBRATION, "total", "names", "prior"}}
    allowed["rehearsal"] = {*_CALIBRATION, "names", "prior"} if histogram else {"prior"}
    kind = next(key for key in allowed if key in scenario)
    for key in sorted(set(scenario) - allowed[kind] - {kind, "level", "counts", "csv", "data"}):
        yield f".{key}", f"says nothing about {kind}{'' if histogram or kind == 'release' else ' with records'}"
    if histogram:
        yield from _histogram(scenario, scenario.get("released", rehearsal.get("counts", [])))
    if "rehearsal" in scenario:
        for key, text in _rehearsal(rehearsal):
            yield f".rehearsal{key}", text


def _histogram(scenario: dict[str, Any], cells: list[float]) -> Iterator[tuple[str, str]]:
    if "released" in scenario:
        if "total" not in scenario:
            yield ".total", "is missing: the public number of records that released was made from"
        if abs(sum(cells) - 1) > _ROUNDING * len(cells):
            yield ".released", f"must add up to 1, got {sum(cells):.6g}"
    elif not sum(cells):
        yield ".rehearsal.counts", "must hold at least one record"
    given = {key for key in _CALIBRATION if key in scenario}
    if given not in ({"epsilon", "order"}, {"r", "alpha"}):
        yield "", f"needs epsilon and order (Algorithm 1), or r and alpha; got {', '.join(sorted(given)) or 'none'}"
    if "names" in scenario and len(scenario["names"]) != len(cells):
        yield ".names", f"has {len(scenario['names'])} names for {len(cells)} cells"


def _rehearsal(rehearsal: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if ("counts" in rehearsal) == ("csv" in rehearsal):
        yield "", "must have exactly one of counts and csv"
    if "csv" not in rehearsal:
        if "target" in rehearsal:
            yield ".target", "belongs to csv"
        return
    if "target" not in rehearsal:
        yield ".target", "is missing: the column to predict"
        return
    path = Path(rehearsal["csv"])
    if places.is_confidential(path):
        yield ".csv", f"{str(path)!r} is confidential; a rehearsal is of made-up data"
        return
    if not isfile(path):
        yield ".csv", f"no file {str(path)!r} (looked in {Path.cwd()})"
        return
    try:
        from dpmultinomial._files import public  # needs a compiled kernel

        found = public.read(path)
    except ImportError:  # not compiled yet: the table's own job reads the file
        return
    except (ValueError, OSError) as error:
        yield ".csv", str(error)
        return
    columns = list(found.columns)
    cells = [list(row) for row in zip(*(found.texts(column) for column in columns), strict=True)]
    if len(cells) < 10:
        yield ".csv", f"has {len(cells)} records; at least 10 are needed for training and test"
    yield from _columns(rehearsal, columns, cells)
    yield from _network(rehearsal.get("network", {}), columns)


def _columns(scenario: dict[str, Any], columns: list[str], cells: list[list[str]]) -> Iterator[tuple[str, str]]:
    target = scenario["target"]
    known = ", ".join(columns)
    if target not in columns:
        yield ".target", f"no column {target!r}; the columns are {known}"
    else:
        found = {row[columns.index(target)] for row in cells if len(row) == len(columns)}
        if len(found) < 2:
            yield ".target", f"{target!r} has one class ({', '.join(found) or 'no record'}); at least two are needed"
    for name in scenario.get("numeric", ()):
        if name not in columns:
            yield ".numeric", f"no column {name!r}; the columns are {known}"
            continue
        if name == target:
            yield ".numeric", f"{name!r} is the target, which is not binned"
        yield from _numbers(name, [row[columns.index(name)] for row in cells if len(row) == len(columns)])


def _numbers(name: str, values: list[str]) -> Iterator[tuple[str, str]]:
    if not any(value.strip() for value in values):
        yield ".numeric", f"{name!r} is all missing"
        return
    for number, value in enumerate(values, start=2):
        try:
            good = not value.strip() or abs(float(value)) < float("inf")
        except ValueError:
            good = False
        if not good:
            yield (
                ".numeric",
                f"{name!r} holds {value!r} in line {number}, no number; leave it out of numeric or mend it",
            )
            return


def _network(network: Mapping[str, list[str]], columns: list[str]) -> Iterator[tuple[str, str]]:
    for node, parents in network.items():
        if node not in columns:
            yield f".network.{node}", f"unknown node; the columns are {', '.join(columns)}"
        for parent in parents:
            if parent not in network:
                yield f".network.{node}", f"parent {parent!r} is no node of the network"
    left = {node: {p for p in parents if p in network} for node, parents in network.items()}
    while roots := [node for node, parents in left.items() if not parents]:
        left = {node: parents - set(roots) for node, parents in left.items() if node not in roots}
    if left:
        yield ".network", f"has a cycle among {', '.join(left)}"
