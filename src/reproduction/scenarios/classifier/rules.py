"""Check a released-model scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python, because it runs before any kernel is compiled.
"""

from collections.abc import Iterator, Mapping
from os.path import isfile
from pathlib import Path
from typing import Any

from dpmultinomial._files import places

from ...config import question_rules


def mistakes(settings: Mapping[str, Any], columns: Any, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario. The arguments are the same for
    every kind of scenario.
    """
    asked = settings.get("questions") or {}
    yield from question_rules.mistakes(asked, [])
    for label, question in asked.items():
        if question.get("about", "rates") != "rates":
            yield (
                f".questions.{label}.about",
                "must be rates or must be omitted, because the records of a model are not in a table",
            )
    if asked and "rehearsal" in settings:
        yield (
            ".questions",
            "must be omitted, because a rehearsal has scores of methods but no posterior of a probability",
        )
    if "rehearsal" in settings:
        for key, text in _rehearsal(settings["rehearsal"]):
            yield f".rehearsal{key}", text


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB that one case of a released-model scenario requires. If
    releases of synthetic records are simulated, all test records are scored for every release.
    """
    rehearsal = settings.get("rehearsal") or {}
    path = Path(str(rehearsal.get("csv", "")))
    size = path.stat().st_size if isfile(path) else 0
    releases = len(rehearsal.get("epsilons", ())) * rehearsal.get("repeats", 10) * len(rehearsal.get("mechanisms", ()))
    return 1.0 + releases * (1e-4 + 1e-8 * size), 3e-5 * size


def _rehearsal(rehearsal: dict[str, Any]) -> Iterator[tuple[str, str]]:
    path = Path(rehearsal["csv"])
    if places.is_confidential(path):
        yield ".csv", f"{str(path)!r} is confidential: use synthetic data for a rehearsal"
        return
    if not isfile(path):
        yield ".csv", f"the file {str(path)!r} was not found (relative to {Path.cwd()})"
        return
    try:
        from dpmultinomial._files import csv_table  # this import requires a compiled kernel

        records = csv_table.read(path)
    except ImportError:  # the kernels are not compiled yet; the job will read the file
        return
    except (ValueError, OSError) as error:
        yield ".csv", str(error)
        return
    columns = list(records.columns)
    cells = [list(row) for row in zip(*(records.texts(column) for column in columns), strict=True)]
    if len(cells) < 10:
        yield ".csv", f"must have at least 10 records for training and test, got {len(cells)} records"
    yield from _columns(rehearsal, columns, cells)
    yield from _network(rehearsal.get("network", {}), columns)


def _columns(scenario: dict[str, Any], columns: list[str], cells: list[list[str]]) -> Iterator[tuple[str, str]]:
    target = scenario["target"]
    known = ", ".join(columns)
    if target not in columns:
        yield ".target", f"the file has no column {target!r}. The columns are {known}"
    else:
        classes = {row[columns.index(target)] for row in cells if len(row) == len(columns)}
        if len(classes) < 2:
            yield ".target", f"{target!r} must have at least two classes, got {', '.join(classes) or 'no record'}"
    for name in scenario.get("numeric", ()):
        if name not in columns:
            yield ".numeric", f"the file has no column {name!r}. The columns are {known}"
            continue
        if name == target:
            yield ".numeric", f"must not contain the target {name!r}, because the target is not binned"
        yield from _numbers(name, [row[columns.index(name)] for row in cells if len(row) == len(columns)])


def _numbers(name: str, values: list[str]) -> Iterator[tuple[str, str]]:
    if not any(value.strip() for value in values):
        yield ".numeric", f"the column {name!r} contains no values"
        return
    for number, value in enumerate(values, start=2):
        try:
            good = not value.strip() or abs(float(value)) < float("inf")
        except ValueError:
            good = False
        if not good:
            yield (
                ".numeric",
                f"the column {name!r} contains {value!r} in line {number}, which is not a number: remove the column "
                "from numeric, or correct the value",
            )
            return


def _network(network: Mapping[str, list[str]], columns: list[str]) -> Iterator[tuple[str, str]]:
    for node, parents in network.items():
        if node not in columns:
            yield f".network.{node}", f"the node is not a column. The columns are {', '.join(columns)}"
        for parent in parents:
            if parent not in network:
                yield f".network.{node}", f"the parent {parent!r} is not a node of the network"
    left = {node: {p for p in parents if p in network} for node, parents in network.items()}
    while roots := [node for node, parents in left.items() if not parents]:
        left = {node: parents - set(roots) for node, parents in left.items() if node not in roots}
    if left:
        yield ".network", f"must not contain a cycle, got a cycle through {', '.join(left)}"


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return sentences that state how the model was released or, for synthetic records, how the release was
    simulated.
    """
    if "how" in point:
        sampled = "The probabilities are those of a population of which the records are an independent random sample."
        return [f"The model was released with {point['how']}.", sampled]
    noisy = any(name != "dirichlet" for name in point["mechanisms"])
    floor = "the standard deviation of the noise" if point["floor"] == "sigma" else point["floor"]
    raised = f", and noisy counts below {floor} are raised to it" if noisy else ""
    sentences = [
        f"Of {point['records']:,} invented records, 70 % are used to fit the models and 30 % for the scores; epsilon "
        f"is an upper bound on the Rényi cost of order {point['order']:g}{raised}."
    ]
    return [*sentences, *(f"{text[0].upper()}{text[1:]}." for text in point["unusual"])]
