"""What a scenario of noisy measurement files must obey beyond its schema, and its assumptions in sentences.

Plain Python: no file is opened.
"""

from collections.abc import Iterator, Mapping
from itertools import product as pairs
from pathlib import Path
from typing import Any

from dpmultinomial._files import places
from dpmultinomial._measurement_files import products

from ...config import question_rules

_PRIORS = ("flat", "1/(1+n)", "fitted")
_PER_MB = 0.02  # seconds to read a MB of files, and what is made of them


def mistakes(settings: Mapping[str, Any], columns: Any, batch: bool) -> Iterator[tuple[str, str]]:
    """(key, message) of every broken rule; arguments as of every kind's rules."""
    if "state" not in settings:
        yield ".state", "is missing: the state whose places are answered, such as VT"
        return
    if isinstance(settings.get("prior"), str) and settings["prior"] not in _PRIORS:
        yield ".prior", f"{settings['prior']!r} is no prior; it is a number, or one of {', '.join(_PRIORS)}"
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
    if strangers := [name for name in settings["levels"] if name not in product.spine]:
        yield ".levels", f"{', '.join(strangers)}: no level of {product.product}; there are {', '.join(product.spine)}"
    yield from _there(settings, product)


def _there(settings: Mapping[str, Any], product: products.Product) -> Iterator[tuple[str, str]]:
    """What is wrong with the folder."""
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
        found = products.levels_there(data, product, state)
    except ValueError as error:
        yield ".state", str(error)
        return
    try:
        for folders, kind in pairs(found.values(), (products.DPQUERY, products.CONSTRAINT)):
            products.parts(folders, kind)
    except ValueError as error:
        yield ".folder", str(error)
        return
    if lost := [name for name in settings["levels"] if name in product.spine and name not in found]:
        yield (
            ".levels",
            f"{str(data)!r} has nothing of {settings['state']} at {', '.join(lost)}; it has {', '.join(found)}",
        )


def files(settings: Mapping[str, Any]) -> list[str]:
    """The files that a case reads; none where the folder is not as it must be."""
    try:
        product = products.product_of(settings["product"], settings["table"])
        state = products.state_number(settings["state"])
        data = products.data_folder(Path(settings["folder"]), product, state)
        found = products.levels_there(data, product, state)
    except ValueError:
        return []
    return [str(path) for folders in found.values() for one in folders for path in sorted(one.rglob("*.parquet"))]


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """CPU seconds and MB: they grow like the size of the files."""
    size = sum(Path(path).stat().st_size for path in files(settings)) / 1e6
    return 1.0 + _PER_MB * size, 300.0 + 0.5 * size


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the numbers were made, and what was taken for granted."""
    found = (
        ["SYNTHETIC: these files were made up from a seed; nothing in them is an agency's."]
        if point["synthetic"]
        else []
    )
    found.append(
        "Every query of every node was published with discrete Gaussian noise of the variance that stands beside it, "
        "independently; counts of places add up along the geographic spine and are not negative."
    )
    if point["combined"]:
        found.append(
            "What several queries say of a node was combined by least squares and taken for Gaussian, which uses "
            "nothing that is known of the rest of the histogram but its sums."
        )
    if point["without_geoid"]:
        found.append(f"GEOIDs of {', '.join(point['without_geoid'])} are not known without the blocks' files.")
    return found


def prior_in_words(words: Mapping[str, Any]) -> str:
    """A prior of a tree in words."""
    if words.get("law") == "splits":
        return (
            "every total is as likely as any other, and splits among its parts by a Dirichlet-multinomial law a level"
        )
    return f"independent counts of the deepest places, {words.get('priors')}"
