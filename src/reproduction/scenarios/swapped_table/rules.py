"""Check a swapped-tables scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python, because it runs before any kernel is compiled.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ...config import question_rules
from ..sentences import as_stated, chance, listed, sampled

Columns = Mapping[str, Sequence[str]] | None
MOST_CELLS, MOST_RECORDS = 200, 100_000
_OF_A_RELEASE = ("held", "swapped")


def tables(settings: Mapping[str, Any]) -> list[list[list[int]]]:
    """Return the tables of the scenario as written by the user, one per stratum."""
    holder = settings.get("rehearsal") or settings
    return [holder["table"]] if "table" in holder else list(holder.get("strata", ()))


def mistakes(settings: Mapping[str, Any], columns: Columns, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario. The arguments are the same for
    every kind of scenario.
    """
    if "release" in settings:
        if "held" not in settings:
            yield ".held", "is missing: name the unswapped columns that form the columns of the table"
        return
    for key in _OF_A_RELEASE:
        if key in settings:
            yield f".{key}", "is allowed only for a release of swapped records"
    if "rate" not in settings and not (batch and columns is not None and "rate" in columns):
        yield ".rate", "is missing: state the swap rate of the table"
    if batch and isinstance(settings["prior"], list):
        yield ".prior", f"must be one number for a batch, got {len(settings['prior'])} numbers"
    if batch or columns is not None:
        return
    all_tables = tables(settings)
    yield from _shapes(all_tables)
    cells = sum(len(row) for table in all_tables for row in table)
    if isinstance(settings["prior"], list) and len(settings["prior"]) != cells:
        yield (
            ".prior",
            f"must be one number or one number per cell ({cells} cells), got {len(settings['prior'])} numbers",
        )
    sides = {"rows": len(all_tables[0]), "columns": len(all_tables[0][0])}
    for side, names in (settings.get("names") or {}).items():
        if len(names) != sides[side]:
            yield f".names.{side}", f"{len(names)} names for {sides[side]} {side}"
    yield from question_rules.mistakes(settings.get("questions") or {}, [])


def _shapes(found: list[list[list[int]]]) -> Iterator[tuple[str, str]]:
    shapes = {(len(table), *{len(row) for row in table}) for table in found}
    if any(len(shape) > 2 for shape in shapes):
        widths = sorted({len(row) for table in found for row in table})
        yield "", f"must have rows of the same length, got rows with {', '.join(map(str, widths))} entries"
    elif len(shapes) > 1:
        yield ".strata", "all tables must have the same numbers of rows and columns"
    cells = sum(len(row) for table in found for row in table)
    if shapes != {(2, 2)} and cells > MOST_CELLS:
        yield "", f"must have at most {MOST_CELLS} cells (except for strata of 2 x 2 tables), got {cells} cells"
    records = max(sum(map(sum, table)) for table in found)
    if records > MOST_RECORDS:
        yield "", f"must have at most {MOST_RECORDS} records per stratum, got {records} records"
    if records == 0:
        yield "", "must contain at least one record"


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB for one case of a swapped-tables scenario. Cases that use
    Markov chains, because no sum is feasible, take longest.
    """
    return 30.0, 300.0


_MOST = 12  # maximum number of names that are listed for the rows or the columns
MEANINGS = {
    "log odds ratio": "the logarithm of the odds ratio underlying the table",
    "common log odds ratio": "the logarithm of the odds ratio common to all strata",
}


_POPULATION = {"rates": "rates", "parameters": "odds ratios"}  # groups that describe the population, and their names


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about the swapping and the published margins, as sentences."""
    records = f"{point['total']:,} records" if point["total"] != 1 else "record"
    one = point["strata"] == 1
    strata = "in one stratum" if one else f"within {point['strata']} strata"
    repeated = selection_repeated("" if one else "of a stratum ", "" if one else " in this stratum")
    sentences = [
        f"Each record was selected for swapping with probability {as_stated(point['rate'])}, {strata}; {repeated}. The "
        f"margins are those of the original {records}, and there is no other noise."
    ]
    rows, columns = (point["sides"][side] for side in ("rows", "columns"))
    sentences.append(f"The table has the rows {_few(rows)} and the columns {_few(columns)}, and no others.")
    common = ["parameters"] if "common_log_odds_ratio" in point else []
    sentences += about_population([*point.get("groups", ()), *common])
    if "probability_odds_ratio_above_1" in point:
        above = chance(point["probability_odds_ratio_above_1"], "exact", 0.0, False)
        sentences.append(f"The probability that the odds ratio underlying the table is above 1 is {above}.")
    if "common_log_odds_ratio" in point:
        sentences.append(
            "The common log odds ratio is computed under another model: all strata have the same odds ratio, and its "
            f"logarithm has a normal prior with mean 0 and standard deviation {point['common_log_odds_ratio']:g}."
        )
    if protects := point.get("protects"):
        from dpmultinomial._releases.spending import amount  # only such a cost needs this import

        margins = "the margins are published exactly and are not protected."
        epsilon = amount(protects["epsilon_of_an_exchange"])
        sentences.append(
            margins.capitalize()  # the record of a release states the cost, which is rounded up
            if point.get("cost")
            else f"An exchange of two records' swapped values is protected with epsilon = {epsilon}; {margins}"
        )
    return sentences


def about_population(groups: Collection[str]) -> list[str]:
    """Return the assumption about the rates and the odds ratios, as a list with at most one sentence.

    Parameters
    ----------
    groups : groups of the quantities in the results, such as ``counts`` and ``rates``.
    """
    nouns = [noun for group, noun in _POPULATION.items() if group in groups]
    return [sampled(*nouns)] if nouns else []


def selection_repeated(group: str = "", where: str = "") -> str:
    """Return the condition under which the selection of records was repeated. The probability that a record is selected
    therefore differs from the rate: for two records, it is rate^2/(1 - 2 rate (1 - rate)).

    Parameters
    ----------
    group, where : words that name a stratum or a table, if there are several.
    """
    return f"if only one record {group}was selected, the selection{where} was repeated"


def _few(names: list[str]) -> str:
    return listed(names) if len(names) <= _MOST else f"{', '.join(names[:_MOST])}, .. ({len(names)})"
