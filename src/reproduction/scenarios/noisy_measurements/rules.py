"""Check a noisy-measurements scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python and opens no file.
"""

from collections.abc import Iterator, Mapping
from itertools import product as pairs
from pathlib import Path
from typing import Any

from dpmultinomial._files import places
from dpmultinomial._measurement_files import products

from ...config import question_rules
from ..sentences import LEAST_SQUARES, prior_of_counts

_PRIORS = ("flat", "1/(1+n)", "fitted")
_PER_MB = 0.02  # seconds per MB of files, for reading and analysis


def mistakes(settings: Mapping[str, Any], columns: Any, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario. The arguments are the same for
    every kind of scenario.
    """
    if "state" not in settings:
        yield ".state", "is missing: state the two letters of the state, such as VT"
        return
    if isinstance(settings.get("prior"), str) and settings["prior"] not in _PRIORS:
        yield ".prior", f"must be a number or one of {', '.join(_PRIORS)}, got {settings['prior']!r}"
    yield from question_rules.mistakes(settings.get("questions") or {}, ())
    try:
        product = products.product_of(settings["product"], settings["table"])
    except ValueError as error:
        yield ".table", str(error)
        return
    for key, check in (
        (".cell", lambda: products.masks(product, settings["cell"])),
        (".query", lambda: product.specs(settings.get("query", "total"))),
        (".state", lambda: products.state_number(settings["state"])),
    ):
        try:
            check()
        except ValueError as error:
            yield key, str(error)
    known = [*product.spine, *(name for name in products.GEOID_DIGITS if name not in product.spine)]
    if strangers := [name for name in settings["levels"] if name not in known]:
        yield ".levels", f"unknown level {', '.join(strangers)}; the levels of {product.product} are {', '.join(known)}"
    yield from _there(settings, product)


def _there(settings: Mapping[str, Any], product: products.Product) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the folder of measurement files."""
    try:
        state = products.state_number(settings["state"])
    except ValueError:
        return
    try:
        data = products.data_folder(places.public(settings["folder"]), product, state)
    except ValueError as error:
        yield ".folder", str(error)
        return
    try:
        by_level = products.levels_there(data, product, state)
    except ValueError as error:
        yield ".state", str(error)
        return
    try:
        for folders, kind in pairs(by_level.values(), (products.DPQUERY, products.CONSTRAINT)):
            products.parts(folders, kind)
    except ValueError as error:
        yield ".folder", str(error)
        return
    known = {*by_level, *(products.GEOID_DIGITS if "Block" in by_level else ())}
    levels = (*product.spine, *products.GEOID_DIGITS)
    if lost := [name for name in settings["levels"] if name in levels and name not in known]:
        yield (
            ".levels",
            f"{str(data)!r} contains no data of {settings['state']} for {', '.join(lost)}, but only for "
            f"{', '.join(by_level)}; tracts and block groups can also be computed from the Block files",
        )


def files(settings: Mapping[str, Any]) -> list[str]:
    """Return the paths of the measurement files that a case reads. The list is empty if the folder is invalid."""
    try:
        product = products.product_of(settings["product"], settings["table"])
        state = products.state_number(settings["state"])
        data = products.data_folder(Path(settings["folder"]), product, state)
        by_level = products.levels_there(data, product, state)
    except ValueError:
        return []
    return [str(path) for folders in by_level.values() for one in folders for path in sorted(one.rglob("*.parquet"))]


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB for one case of a noisy-measurements scenario. Both grow
    linearly with the size of the files.
    """
    size = sum(Path(path).stat().st_size for path in files(settings)) / 1e6
    return 1.0 + _PER_MB * size, 300.0 + 0.5 * size


def _source(point: Mapping[str, Any]) -> str:
    """Return the name of the values from which the counts of a cell were computed without draws of the totals. Combined
    values can contain measurements of other sums, such as the total.
    """
    return "the combined values of the cell" if point["combined"] else "the measurements of the cell"


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about the noisy measurements, as sentences."""
    sentences = (
        ["SYNTHETIC: these files were generated from a seed; they contain no data of any agency."]
        if point["synthetic"]
        else []
    )
    sentences.append(
        "Every query of every node was published with independent discrete Gaussian noise of the variance given in the "
        "file; counts are non-negative and add up along the geographic hierarchy."
    )
    sentences.append(LEAST_SQUARES)
    if point.get("total") is not None:
        sentences.append(f"The count of {point['cell']} in the whole state, {point['total']:,}, is public and exact.")
    if point["combined"]:
        sentences.append(
            "Several measured values of the same node were combined by least squares, and the combined error was "
            "treated as Gaussian. Only sums over the rest of the histogram were used."
        )
    if draws := point.get("draws_of_totals"):
        sentences.append(
            f"The cell is a part of the total. Its counts were computed given {draws} draw{'s' * (draws > 1)} of the "
            "totals, so no interval ends above the interval of the total of the same place. The splits of the cell and "
            "of the rest have independent priors, which ignore that the cell and the rest are both 0 in an empty place."
        )
    elif point.get("truncated_at_total"):
        sentences.append(
            f"The counts of the cell were computed only from {_source(point)}, without draws of the totals. "
            "The distributions of the counts are truncated at the upper ends of the intervals of the totals."
        )
    elif point.get("part_of_total"):
        sentences.append(
            f"The counts of the cell were computed only from {_source(point)}. The model ignores that a cell is at "
            "most the total of the same place, so an interval can end above the interval of the total."
        )
    if point["parts_outside_aian"]:
        sentences.append(
            "Counts of counties exclude their parts in American Indian and Alaska Native areas, which are listed by "
            "geocode, because dividing these areas among counties requires the Block files."
        )
    if point["without_geoid"]:
        sentences.append(
            f"The GEOIDs of {', '.join(point['without_geoid'])} are unknown without the block-level files."
        )
    return sentences


def prior_text(words: Mapping[str, Any]) -> str:
    """Return a description of the prior of the counts of a tree."""
    if words.get("law") == "splits":
        return (
            "flat on the total; each count is split among its parts by a Dirichlet-multinomial distribution per level"
        )
    return prior_of_counts(words)
