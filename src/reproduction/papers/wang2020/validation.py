"""What a configuration of wang2020 must obey beyond its schema. It also runs before any kernel exists."""

from collections.abc import Iterator
from os.path import isfile
from typing import Any

from dpmultinomial._files import places

SOURCES = ("release", "rehearsal", "released", "released_file")
CONFIDENTIAL = ("counts", "counts_file")
_STATED = ("epsilon", "algorithm", "ties", "support", "names", "released_total")  # by the record of a release
_LARGEST = 10**8
_WAY_OUT = (
    "true counts are released under `releases:` (mechanism additive_counts), whose name goes to `release:` here; "
    "made-up counts go to `rehearsal: {counts: [..]}`"
)


def read_file(path: str) -> tuple[list[str], list[int]]:
    """Component names and counts of a CSV file with the columns component (or category) and count.

    Raises
    ------
    ValueError
        If the file is missing or breaks a rule of the strict reader; the message names file, line, column, rule.
    """
    from dpmultinomial._files import public  # needs a compiled kernel

    if not isfile(places.public(path)):
        raise ValueError(f"{path}: no such file (paths start where snakemake was started)")
    table = public.read(path)
    column = "category" if "category" in table.columns else "component"
    return table.texts(column), table.whole("count", least=0, most=_LARGEST).tolist()


def components(scenario: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Names and counts that a scenario states itself: made up, or released already.

    Raises
    ------
    ValueError
        As `read_file`.
    """
    if scenario.get("released_file") is not None:
        return read_file(scenario["released_file"])
    rehearsal = scenario.get("rehearsal")
    counts = rehearsal["counts"] if rehearsal is not None else scenario["released"]
    return scenario.get("names") or [f"c{i + 1}" for i in range(len(counts))], counts


def work(scenario: dict[str, Any]) -> tuple[float, float]:
    """CPU seconds and MB of a scenario: each component's law has as many points as its noise."""
    if scenario.get("release") is not None:
        return 60.0, 200.0  # its record states what decides; the release was judged itself
    try:
        size = len(components(scenario)[1])
    except (ImportError, ValueError):  # read by the table's own job
        return 60.0, 200.0
    points = scenario.get("window") or scenario.get("support") or max(50.0, 50 / scenario["epsilon"])
    return size * (0.1 + 2 * (points / 5000) ** 1.5), size * points * 2.5e-3


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section.get("scenarios", {}).items():
        for key, text in _scenario(scenario):
            yield f"scenarios.{name}{key}", text


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in CONFIDENTIAL:
        if key in scenario:
            yield f".{key}", _WAY_OUT
    given = [key for key in SOURCES if scenario.get(key) is not None]
    if len(given) != 1:
        if given or not any(key in scenario for key in CONFIDENTIAL):
            yield "", f"has {' and '.join(given) or 'no counts'}; give exactly one of {', '.join(SOURCES)}"
        return
    if scenario.get("window") is not None and scenario.get("prior", "flat") != "flat":
        yield ".window", "confines a flat prior only; leave out window or prior"
    if given == ["release"]:
        for key in _STATED:
            if scenario.get(key) is not None:
                yield f".{key}", "leave it out, the record of the release states it"
        return
    if scenario.get("epsilon") is None:
        yield ".epsilon", "is missing; it is that of the noise in the total and in every component"
    yield from _counts(scenario, given[0])


def _counts(scenario: dict[str, Any], source: str) -> Iterator[tuple[str, str]]:
    try:
        names, counts = components(scenario)
    except ImportError:  # the kernels are not compiled yet: the table's own job reads the file
        return
    except ValueError as error:
        yield f".{source}", str(error)
        return
    if scenario.get("names") and source == "released_file":
        yield ".names", "leave it out, the file names the components"
    elif len(names) != len(counts):
        yield ".names", f"{len(names)} names for {len(counts)} components"
    elif len(set(names)) != len(names):
        yield ".names", "names something twice"
    if not counts or sum(counts) > _LARGEST:
        yield f".{source}", f"adds up to {sum(counts)}; at least one component and at most 10^8 in all"
    total = scenario.get("released_total")
    if total is not None and source == "rehearsal":
        yield ".released_total", "belongs to a release you have; a rehearsal makes its own"
    elif total is not None and total != sum(counts):
        yield ".released_total", f"{total} is not the sum of the released components, {sum(counts)}"
    yield from _tractable(scenario, len(counts))


def _tractable(scenario: dict[str, Any], size: int) -> Iterator[tuple[str, str]]:
    """The two posteriors that are known for two components only."""
    pairs_only = {"algorithm": "1-summed", "ties": "ieee"}
    for key, value in pairs_only.items():
        if scenario.get(key) != value or (key == "ties" and scenario.get("algorithm", "3") != "3"):
            continue
        if size != 2:
            yield f".{key}", f"{value!r} has a tractable posterior for two components only, not {size}"
        if scenario.get("prior", "flat") != "flat":
            yield ".prior", f"must be flat with {key} {value!r}"
