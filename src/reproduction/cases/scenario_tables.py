"""A scenario's table in two files: what is said of every quantity, and the points of its densities."""

import pandas as pd

COLUMNS = ("quantity", "mean", "sd", "lower", "upper", "level", "status", "note")
DENSITIES = ("quantity", "analysis", "x", "density")
_MARK, _DENSITY = "statistic", "density"


def split(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(main table, densities) of what a paper's ``scenario.table`` returns.

    Parameters
    ----------
    table : rows whose `statistic` is ``density`` hold a point each, `density` at `x`; all others a quantity.

    Returns
    -------
    main : DataFrame
        One row a quantity, `COLUMNS` first (those that the table has), without the columns of points.
    densities : DataFrame
        `DENSITIES` (`analysis` only if the table has it), the points in their order; no rows if there are none.
    """
    points = table[_MARK].eq(_DENSITY) if _MARK in table else pd.Series(False, index=table.index)
    columns = [c for c in table.columns if c not in ("x", _DENSITY)]
    first = [c for c in COLUMNS if c in columns]
    main = table.loc[~points, [*first, *(c for c in columns if c not in first)]]
    wanted = [c for c in DENSITIES if c != "analysis" or c in columns]
    return main.reset_index(drop=True), table[points].reindex(columns=wanted).reset_index(drop=True)


def joined(main: pd.DataFrame, densities: pd.DataFrame) -> pd.DataFrame:
    """One table again, densities last and marked: what a paper's ``figures.scenario`` draws."""
    if densities.empty:
        return main
    return pd.concat([main, densities.assign(**{_MARK: _DENSITY})], ignore_index=True)
