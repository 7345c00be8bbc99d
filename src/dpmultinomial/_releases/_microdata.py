"""Release of a file of records after the values of some columns were swapped between records. All bytes of the other
fields are unchanged.

The order of the records is confidential: if a file is sorted by a swapped column, its order would undo the swap. The
records are sorted by their bytes before the swap, so that the noise does not depend on their order, and again before
they are written.

The permutation algorithm of Bailie, Gong and Meng (2023) (`_mechanisms.swapping.swapping`) draws from a stream whose
key is discarded. The cost is stated for the smallest possible change within the invariants: an exchange of the swapped
values of two records of a stratum, which is 2 epsilon of the theorem (`_accounting.swapping`). A report of the changes
made by the swap is written to ``confidential/``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._accounting import swapping as accounting
from .._files.csv_table import CsvTable, parse
from .._mechanisms.swapping import permutation_swaps
from . import _noise
from ._places import Refused
from .spending import EXCHANGE, Cost, Drawn, Plan, csv_bytes

INVARIANTS = (
    "in every stratum (records that agree on the match columns): the joint table of the swapped columns and the joint "
    "table of all other columns, as they are written in the file"
)
_ABOVE = 1 + 2.0**-48  # the relative floating-point error of the difference of logarithms is below 2^-49
_EXACT_UP_TO, _LEVELS = 2_000, 50


@dataclass(frozen=True, repr=False)
class Coded:
    """Columns of a file, coded as integers. Each column is a one-dimensional int64 array, with one code per record. The
    columns are the strata, the joint values of the swapped columns, and the joint values of the columns that are not
    swapped (held).

    Parameters
    ----------
    strata, moving, held : int64 (records,).
    """

    strata: NDArray[np.int64]
    moving: NDArray[np.int64]
    held: NDArray[np.int64]


def swap(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan a swap of the values of some columns among records of the same stratum.

    Parameters
    ----------
    settings : checked and completed keys: swap, match, rate.
    table : table of records.

    Raises
    ------
    ValueError
        If a column is missing, a match value is empty, no column is held, or no stratum has two records that differ in
        both swapped and held values, because the public file would then equal the confidential file.
    """
    moving, match = list(settings["swap"]), list(settings["match"])
    for column in (*moving, *match):
        table.place(column)
    held = [c for c in table.columns if c not in moving]
    if not held:
        raise Refused(
            f"{table.name}: at least one column must not be swapped, but swap contains all columns: remove a column "
            "from swap"
        )
    for column in match:
        _filled(table, column)
    table = table.sorted()
    codes = {column: coded_column(table, column) for column in table.columns}
    coded = Coded(*(joint(codes, columns, len(table)) for columns in (match, moving, held)))
    facts = _facts(coded, settings)
    cost = Cost(relation=EXCHANGE, epsilon=facts["cost_of_one_exchange"])
    stored = None if table.source.mark else table.source.stored
    facts |= {"swapped": moving, "matched": match, "encoding": stored, "delimiter": table.delimiter}

    def drawn() -> Drawn:
        sources = permutation_swaps.sources(coded.strata, rate=settings["rate"], rng=_noise.private_stream())
        data = table.exchanged(moving, sources)
        _verify(table, data, moving, sources)
        return Drawn(data=_parsed(table, data).sorted().raw, report=_report(codes, moving, held, sources))

    return Plan(cost=cost, facts=facts, draw=drawn)


def coded_column(table: CsvTable, column: str) -> NDArray[np.int64]:
    """Return integer codes 0, 1, .. of the values of a column, in the order of first appearance of the values. The
    result is an int64 array with one code per record.
    """
    return pd.factorize(np.array(table.texts(column), dtype=object))[0].astype(np.int64)


def joint(codes: Mapping[str, NDArray[np.int64]], columns: Sequence[str], records: int) -> NDArray[np.int64]:
    """Return integer codes 0, 1, .. of the joint values of several coded columns. Without columns, all codes are equal.

    Parameters
    ----------
    codes : mapping from a column to int64 (records,).
    columns : names of the columns.
    records : number of records.

    Returns
    -------
    int64 (records,)
    """
    together = np.zeros(records, dtype=np.int64)
    for column in columns:
        span = int(codes[column].max(initial=0)) + 1
        together = pd.factorize(together * span + codes[column])[0].astype(np.int64)
    return together


def _filled(table: CsvTable, column: str) -> None:
    rule = "must not be empty, because the column is in match"
    table.refuse_all([(column, record, rule, value) for record, value in enumerate(table.texts(column)) if not value])


def _facts(coded: Coded, settings: Mapping[str, Any]) -> dict[str, Any]:
    sizes = np.bincount(coded.strata) if len(coded.strata) else np.zeros(0, dtype=np.int64)
    kinds = [_distinct(coded.strata, values, len(sizes)) for values in (coded.moving, coded.held)]
    strata = list(zip(sizes.tolist(), *(k.tolist() for k in kinds), strict=True))
    largest, rate = accounting.largest_stratum(strata), float(settings["rate"])
    if largest < 2:
        raise Refused(
            "swap: no record can change in any stratum, so the public file would be equal to the confidential file: "
            "choose larger strata or other columns"
        )
    return {
        "law": "permutation swapping",
        "rate": rate,
        "invariants": INVARIANTS,
        "records": len(coded.strata),
        "strata": len(sizes),
        "strata_of_one_record": int((sizes == 1).sum()),
        "largest_stratum": largest,
        "cost_of_one_exchange": 2 * accounting.epsilon(largest, rate=rate) * _ABOVE,
        "epsilon_per_unit_of_distance": accounting.epsilon(largest, rate=rate),
        "epsilon_per_unit_of_distance_exact": (
            accounting.exact_epsilon(largest, rate=rate) if largest <= _EXACT_UP_TO else None
        ),
        "hardened": True,
    }


def _distinct(strata: NDArray[np.int64], values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the number of distinct values in each stratum."""
    span = int(values.max(initial=0)) + 1
    pairs = np.unique(strata * span + values)
    return np.bincount(pairs // span, minlength=count).astype(np.int64)


def _verify(table: CsvTable, data: bytes, moving: Sequence[str], sources: NDArray[np.int64]) -> None:
    """Check that undoing the swap in the swapped file reproduces the confidential file. If the swapped file is read
    again and the exchange is undone, the result must equal the confidential file in every byte.
    """
    again = _parsed(table, data)
    same = again.columns == table.columns and again.starts.shape == table.starts.shape
    if not same or again.exchanged(moving, np.argsort(sources)) != table.raw:
        raise RuntimeError(
            f"{table.name}: the records that were read back from the swapped file differ from the drawn records, so "
            "nothing was published: internal error, please report it"
        )


def _parsed(table: CsvTable, data: bytes) -> CsvTable:
    """Parse a file of records that is written in the format of `table`."""
    encoding = None if table.source.mark else table.source.stored
    return parse(data, name=table.name, confidential=True, delimiter=table.delimiter, encoding=encoding)


def _report(
    codes: Mapping[str, NDArray[np.int64]], moving: Sequence[str], held: Sequence[str], sources: NDArray[np.int64]
) -> bytes:
    """Return a confidential report of the changes made by the swap."""
    rows: list[tuple[object, ...]] = []
    for column in moving:
        changed = float(np.mean(codes[column] != codes[column][sources]))
        rows.append(("confidential", f"share of records with another {column}", 0.0, changed))
    for a in moving:
        for b in held:
            if max(int(codes[c].max()) for c in (a, b)) < _LEVELS:
                pair = cramers_v(codes[a], codes[b]), cramers_v(codes[a][sources], codes[b])
                rows.append(("confidential", f"Cramer's V of {a} and {b}", *pair))
    return csv_bytes(("marking", "quantity", "before", "after"), rows)


def cramers_v(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Return Cramer's V of two coded columns, which ranges from 0 (no association) to 1. The result is NaN if one of
    the columns is constant.
    """
    shape = int(a.max()) + 1, int(b.max()) + 1
    if min(shape) < 2:
        return float("nan")
    counts = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi2 = ((counts - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi2 / counts.sum() / (min(shape) - 1)))
