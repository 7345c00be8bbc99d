"""Compute the posterior of the counts of geographic units from noisy measurement files, together with least-squares
estimates.
"""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._files import places
from dpmultinomial._measurement_files import products, reading
from dpmultinomial._measurement_files.cells import CellPlaces
from dpmultinomial._measurement_files.levels import restricted
from dpmultinomial._measurement_files.places import Places
from dpmultinomial._measurement_files.products import GEOID_DIGITS
from dpmultinomial._posteriors.trees import conflict

from .. import standard
from ..case import Answer, Case


def answer(case: Case) -> Answer:
    """Return the results of one case of a noisy-measurements scenario.

    Parameters
    ----------
    case : case with the keys of settings.yaml.

    Raises
    ------
    ValueError, KeyError
        If the files have an invalid layout, lack the requested data or contradict each other, or a question names an
        unknown place.
    """
    settings = case.settings
    geography = _places(case)
    rows = geography.table(named(settings), rng=case.rng)
    histogram = products.product_of(settings["product"], settings["table"])
    part = bool(restricted(products.masks(histogram, settings["cell"])))  # all levels of an axis are the total
    facts = _facts(geography, named(settings), part) | {"state": settings["state"]}
    facts |= {"total": settings.get("total"), "conflict": _conflict(geography, rows, named(settings))}
    if asked := settings.get("questions"):
        answers = geography.ask(asked, rng=case.rng)
        rows = pd.concat([rows, answers], ignore_index=True)
        facts["accuracy"] = standard.tally(standard.states_of(answers), facts["accuracy"])
        facts["certain"] = standard.certain(answers)
    return Answer(rows=rows, facts=facts)


def _places(case: Case) -> Places:
    """Return the posterior of the counts of geographic units, computed from the measurement files. By default, it is
    conditional on draws of the totals.
    """
    settings = case.settings
    folder = places.public(settings["folder"])
    named = {key: settings[key] for key in ("product", "table", "state", "cell")}
    rest = {"level": settings["level"], "prior": settings.get("prior")}
    alone = settings.get("query") or isinstance(rest["prior"], str) or not settings["draws"]
    if alone:
        measured = reading.read(folder, **named, query=settings.get("query"), total=settings.get("total"))
        return Places(measured, settings["levels"], **rest)
    related = reading.read_with_total(folder, **named, total=settings.get("total"))
    if isinstance(related, reading.MeasuredCell):
        return Places(related, settings["levels"], **rest)
    return CellPlaces(related, settings["levels"], rng=case.rng, draws=settings["draws"], **rest)


def named(settings: Any) -> str:
    """Return the name of the table cell that is specified by the settings."""
    if "name" in settings:
        return str(settings["name"])
    parts = [value if isinstance(value, list) else [value] for value in settings["cell"].values()]
    return ", ".join(" or ".join(map(str, part)) for part in parts) or "total"


def _conflict(found: Places, rows: pd.DataFrame, cell: str) -> dict[str, Any]:
    """Return the results of the test for conflicts. A node has the name of its row of results; a node without a row is
    named by its geocode.
    """
    check = conflict.facts(found.law)
    columns = (rows[key] for key in ("geocode", "quantity", "level", "geoid"))
    of_row = {code: (quantity, level, geoid or code) for code, quantity, level, geoid in zip(*columns, strict=True)}

    def name(code: str) -> str:
        quantity, level, place = of_row.get(code, (cell, "node", code))
        return f"{quantity} in {str(level).lower().replace('_', ' ')} {place}"

    named_nodes = {"name": name(check["name"])} if "name" in check else {}
    return check | named_nodes | ({"names": [name(code) for code in check["names"]]} if "names" in check else {})


def _facts(found: Places, cell: str, part: bool) -> dict[str, Any]:
    law, measured, whole = found.law, found.measured, found.measured.whole
    draws = found.draws if isinstance(found, CellPlaces) else 0
    return {
        **{
            key: law.facts[key]
            for key in ("prior", "concentrations", "fitted_on", "log_evidence", "bound")
            if key in law.facts
        },
        "origin": "published",
        "synthetic": measured.synthetic,
        "cell": cell,
        "nodes": {name: len(measured.spine.rows(name)) for name in measured.spine.levels},
        "measured": {name: int(level.variance.__lt__(float("inf")).sum()) for name, level in measured.levels.items()},
        "queries": {name: level.used for name, level in measured.levels.items()},
        "not_used": sorted({name for level in measured.levels.values() for name in level.unused}),
        "combined": bool((~whole.alone & (whole.variance > 0) & np.isfinite(whole.variance)).any()),
        "error_of_combination": found.combination_error if isinstance(found, CellPlaces) else measured.error,
        "part_of_total": part,
        "draws_of_totals": draws,
        "truncated_at_total": isinstance(found, CellPlaces) and not draws,
        "without_geoid": [n for n in found.levels if n in GEOID_DIGITS and not measured.spine.knows_geoids(n)],
        "parts_outside_aian": any(measured.spine.lacks_aian_parts(name) for name in found.levels),
        "method": "mixture over draws of the totals" if draws else "sum-product on a tree",
        "groups": ["counts"],
        "among": [],
        "accuracy": standard.tally(found.states),
    }
