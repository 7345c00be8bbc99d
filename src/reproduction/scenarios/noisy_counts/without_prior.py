"""Add confidence intervals to the table of noisy counts, next to the credible intervals, and compare the two kinds of
intervals.
"""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._confidence.confidence import Confidence
from dpmultinomial._confidence.release_sets import sets_of
from dpmultinomial._inference.confidence import confidence
from dpmultinomial._inference.release import Release
from dpmultinomial._posteriors.published.cells import Cells

from ..case import CONFIDENCE
from ..sentences import as_stated, count

# difference between two limits, relative to the width of the credible interval, above which the intervals are called
# different
DIFFERENT = 0.5
_NONE_FITS = "no count fits"  # remark on an empty confidence interval


def columns(rows: pd.DataFrame, release: Release, level: float) -> pd.DataFrame:
    """Add confidence intervals to a table of results, and return the extended table. There are intervals for the counts
    and, if the total is public, for the rates.

    Parameters
    ----------
    rows : table with the columns of a scenario's table.
    release : the analysed release.
    level : confidence level, in (0, 1).

    Returns
    -------
    DataFrame
        The rows with the columns `CONFIDENCE`, which are empty for other quantities and for counts that were measured
        several times.

    Raises
    ------
    ValueError, TypeError
        If the release does not allow confidence intervals.
    """
    summary, keys = _summary(confidence(release), level), ["quantity", "type"]
    if len(summary) == len(rows) and all(np.all(summary[key].array == rows[key].array) for key in keys):
        positions = np.arange(len(rows))
    else:
        positions = pd.MultiIndex.from_frame(summary[keys]).get_indexer(pd.MultiIndex.from_frame(rows[keys]))
    if not len(summary):
        return rows.assign(**dict.fromkeys(CONFIDENCE[:2], np.nan), **{CONFIDENCE[2]: ""})
    out = rows.copy()
    for name, column in zip(CONFIDENCE, ("lower", "upper", "method"), strict=True):
        values = summary[column].to_numpy()[positions]
        out[name] = (
            np.where(positions >= 0, values, "") if column == "method" else np.where(positions >= 0, values, np.nan)
        )
    return out


def columns_of_cells(rows: pd.DataFrame, cells: Cells, level: float) -> pd.DataFrame:
    """Add confidence intervals to a table of results for single counts, and return the extended table.

    Parameters
    ----------
    rows : one row per count.
    cells : the counts.
    level : confidence level, in (0, 1).

    Returns
    -------
    DataFrame
        The rows with the columns `CONFIDENCE`, which are empty for counts with errors and for counts whose interval has
        no upper limit.

    Raises
    ------
    ValueError
        If the noise distribution does not allow confidence intervals.
    """
    good = np.flatnonzero(cells.good)
    part, size = cells.take(good), len(rows)
    sets = sets_of(part.noise, part.released, part.lower, part.upper)
    ends = sets.ends(level)
    known = np.isfinite(ends.upper)
    out = {CONFIDENCE[0]: np.full(size, np.nan), CONFIDENCE[1]: np.full(size, np.nan)}
    method = np.full(size, "", dtype=object)
    out[CONFIDENCE[0]][good[known]], out[CONFIDENCE[1]][good[known]] = ends.lower[known], ends.upper[known]
    method[good[known]] = sets.method
    for i in np.flatnonzero(known & (ends.empty | ends.gaps)):
        nearest = f"no count fits at this level; the nearest is {ends.lower[i]:.0f}"
        method[good[i]] += f": {nearest if ends.empty[i] else 'with gaps'}"
    return rows.assign(**out, **{CONFIDENCE[2]: method})


def sentence(level: float, rows: pd.DataFrame) -> str:
    """Return a sentence that explains the confidence intervals of a table.

    Parameters
    ----------
    level : confidence level, in (0, 1).
    rows : table with confidence intervals (`columns`).
    """
    sure, types = as_stated(level), set(rows.loc[rows[CONFIDENCE[0]].notna(), "type"])
    counts = f"cover the true count in at least {sure} of releases, whatever the count"
    rates = f"cover the underlying rate in at least {sure} of samples and their releases, whatever the rate"
    covered = [text for text, type_ in ((counts, "count"), (rates, "rate")) if type_ in types]
    if not covered:
        return (
            f"No {sure} confidence interval is stated: every count was measured several times or has no interval with "
            "an upper limit."
        )
    text = f"The {sure} confidence intervals need no prior: intervals made this way {', and '.join(covered)}."
    for noun in ("count", "rate"):
        if empty := int(rows[CONFIDENCE[2]].str.contains(f"no {noun} fits", regex=False).sum()):
            text += (
                f" For {empty:,} {noun}{'s' * (empty > 1)}, no {noun} fits at this level, and the interval contains "
                f"only the nearest {noun}."
            )
    return text


def differing(rows: pd.DataFrame, release: Release, level: float) -> str:
    """Return a sentence about the count for which the credible interval and the confidence interval differ most. The
    difference is relative to the width of the credible interval.

    Parameters
    ----------
    rows : table with the columns of a scenario's table.
    release : the analysed release, of counts without a total.
    level : level of the credible intervals.

    Returns
    -------
    str
        Empty if no limit differs by more than half the width of the credible interval, or if the release does not allow
        confidence intervals.
    """
    try:
        intervals = columns(rows.loc[rows["type"] == "count", ["quantity", "type", "lower", "upper"]], release, level)
    except (TypeError, ValueError):
        return ""
    width = np.maximum(intervals["upper"] - intervals["lower"], 1.0)
    ends = np.maximum(abs(intervals["ci_lower"] - intervals["lower"]), abs(intervals["ci_upper"] - intervals["upper"]))
    gaps = np.asarray(ends / width, dtype=np.float64)
    apart = np.flatnonzero(np.isfinite(gaps) & (gaps > DIFFERENT))
    if not len(apart):
        return ""
    row: Any = intervals.iloc[int(apart[np.argmax(gaps[apart])])]
    more = f", also for {len(apart) - 1:,} more count{'s' * (len(apart) > 2)}" if len(apart) > 1 else ""
    sure = as_stated(level)
    nearest = f" (the nearest count; {_NONE_FITS} at this level)" if _NONE_FITS in str(row.ci_method) else ""
    return (
        f"{row.quantity}: {sure} confidence interval {count(row.ci_lower)} to {count(row.ci_upper)}{nearest}, "
        f"without a prior, clearly differs from the credible interval{more}: intervals made this way cover the true "
        f"count in at least {sure} of releases, whatever the count."
    )


def _summary(sure: Confidence, level: float) -> pd.DataFrame:
    """Return confidence intervals for all quantities with a unique combination of name and type. Remarks are in the
    column method.
    """
    summary = sure.summary(level)
    counts = summary["type"] == "count"
    notes = ((name, note.partition("; uses")[0]) for name, note in sure.notes(level).items())
    remarks = {name: remark for name, remark in notes if not remark.startswith("uses")}
    noted = counts & summary["quantity"].isin(list(remarks))
    summary.loc[noted, "method"] += ": " + summary.loc[noted, "quantity"].map(remarks)
    once = ~summary.duplicated(["quantity", "type"], keep=False)
    kept = once & (np.isfinite(summary["upper"]) | ~counts)
    return summary if kept.all() else summary[kept]
