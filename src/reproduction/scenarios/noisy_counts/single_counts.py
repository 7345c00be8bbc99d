"""Compute the posterior of counts that have no known total. All counts are analysed in one call, the results are
compared with a flat prior, and many tables can be analysed with one prior.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._accuracy import LEVEL
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.noise_law import LawByRow, NoiseLaw
from dpmultinomial._posteriors.published import conflict, counts
from dpmultinomial._posteriors.published.cells import Cells, cells_of
from dpmultinomial._posteriors.published.counts import PublishedCounts, answers_by_group
from dpmultinomial._posteriors.published.counts_with_total import TOTAL
from dpmultinomial._posteriors.published.priors import Flat, choose
from dpmultinomial._posteriors.published.windows import CountPrior
from dpmultinomial._results.posterior import GROUPS, Posterior

from ... import kind
from ...config import file_columns, json_text
from ..batch import REFUSED, Answers
from ..case import COLUMNS, COMPARISON, CONFLICT, FOR_COMPARISON, WARNINGS, compared
from ..sentences import uncertain
from ..table_stream import LIMITS, Tables, named
from . import rules, without_prior

FLAT = "flat prior on the counts"
_EMPTY, UNREAD, _OPEN = "no value is available", "value is not a number", "the range has no upper end"
_SPOILT = "the scale of the noise must be finite and > 0"


def rows(source: PublishedCounts, level: float) -> pd.DataFrame:
    """Return one row of results per count, for counts whose total is not published. The rows have the columns of a
    scenario's table.

    Parameters
    ----------
    source : posterior of counts without a total.
    level : probability of the intervals.
    """
    summary = source.numbers(level)
    numbers = {"mean": summary.mean, "sd": summary.sd, "lower": summary.lower, "upper": summary.upper}
    frame = pd.DataFrame({"quantity": list(source.names), "released": source.cells.released, **numbers})
    return frame.assign(type="count", level=level, status="exact", error=0.0)[list(COLUMNS)]


def rows_of_total(
    posterior: Posterior, released: NDArray[np.float64], level: float, groups: Sequence[str]
) -> pd.DataFrame | None:
    """Return one row of results per quantity, or None if there is no group of quantities, or if the summary of a group
    requires more than one pass. The rows have the columns of the result table of a scenario.

    Parameters
    ----------
    posterior : posterior of many counts with a public total.
    released : float64 (n,), released values of the counts.
    level : probability of the intervals.
    groups : groups of the posterior.
    """
    frames = []
    for group in groups:
        quantities = getattr(posterior, group)
        if not quantities.in_one_pass:
            return None
        mean, sd, lower, upper, _ = quantities.numbers(level)
        values = released if group == "counts" else np.full(len(released), np.nan)
        frame = pd.DataFrame({"quantity": list(quantities.names), "released": values, "mean": mean, "sd": sd})
        frames.append(
            frame.assign(lower=lower, upper=upper, type=GROUPS[group], level=level, status="exact", error=0.0)
        )
    return pd.concat(frames, ignore_index=True)[list(COLUMNS)] if frames else None


def decided(posterior: Posterior, level: float) -> pd.DataFrame:
    """Return the results under a flat prior for all counts whose posterior depends strongly on the prior. The results
    are shown for comparison. As in the facts, 95 % intervals determine these counts, whatever the level of the results.

    Parameters
    ----------
    posterior : posterior of counts, with or without a total.
    level : probability of the intervals.
    """
    beside: Any = posterior.facts.get("flat_comparison") or {}
    if not beside.get("prior_matters"):
        return pd.DataFrame(columns=list(COMPARISON))
    comparison: pd.DataFrame = posterior.source.comparison(level)  # type: ignore[attr-defined]
    stated = comparison if level == LEVEL else posterior.source.comparison(LEVEL)  # type: ignore[attr-defined]
    comparison = comparison.loc[stated["prior_matters"].to_numpy()]
    flat = comparison[["quantity", "released"]].assign(type="count", level=level)
    numbers = ("mean", "sd", "lower", "upper")
    return compared(FLAT, flat.assign(**{name: comparison[f"flat_{name}"] for name in numbers}))


def many(tables: Tables, settings: Mapping[str, Any]) -> Answers:
    """Return the posterior of the counts of many tables. Each table is analysed separately, but a fitted prior is
    fitted to the whole file.

    Parameters
    ----------
    tables : some tables of the file; mistakes are reported in the rows concerned.
    settings : settings of the batch.
    """
    cells, groups = cells_of_tables(tables, settings)
    priors = _priors(json_text.encoded(dict(settings)), tuple(tables.columns))
    names = list(priors)
    which = np.array([names.index(group) for group in groups], dtype=np.int64)
    summaries = answers_by_group(cells, tuple(priors.values()), which, settings["level"])
    bad = summaries.reasons != ""
    released = np.where(np.isinf(tables.columns["value"]), np.nan, tables.columns["value"])  # not a number in the file
    frame = pd.DataFrame(
        {
            **{"position": np.repeat(np.arange(len(tables.names)), np.diff(tables.starts))},
            **{"quantity": tables.columns["name"], "type": "count", "released": released},
            **{"mean": summaries.mean, "sd": summaries.sd, "lower": summaries.lower, "upper": summaries.upper},
            **{"status": np.where(bad, REFUSED + summaries.reasons, "exact"), "error": np.where(bad, np.nan, 0.0)},
        }
    )
    flats: tuple[CountPrior, ...] = (Flat(),) * len(names)
    flat = answers_by_group(cells, flats, which, settings["level"])
    stated = summaries, flat
    if settings["level"] != LEVEL:  # the same counts as for a single table
        own = answers_by_group(cells, tuple(priors.values()), which, LEVEL)
        stated = own, answers_by_group(cells, flats, which, LEVEL)
    apart = ~bad & counts.differs_from_flat(*stated)
    numbers = {name: getattr(flat, name)[apart] for name in ("mean", "sd", "lower", "upper")}
    tails = np.full(len(cells), np.nan)
    for i, prior in enumerate(priors.values()):
        rows_of_prior = np.flatnonzero((which == i) & ~bad)
        tails[rows_of_prior] = conflict.tails(cells.take(rows_of_prior), prior)
    p, worst = conflict.by_table(tails, tables.starts)
    # the last digits of a tail depend on the counts that are computed together, and the results must not
    for t in np.flatnonzero(~np.isnan(p)).tolist():
        i = tables.starts[t] + worst[t]
        (tail,) = conflict.tails(cells.take(np.array([i])), priors[groups[i]])
        p[t] = 2 * tail * np.count_nonzero(~np.isnan(tails[tables.starts[t] : tables.starts[t + 1]]))
    where = frame["position"].to_numpy()
    frame = frame.assign(**dict(zip(CONFLICT, (p[where], conflict_names(p, worst, tables)[where]), strict=True)))
    texts = {group: " ".join(uncertain({"groups": {group: prior.settings()}})) for group, prior in priors.items()}
    if any(texts.values()):
        of_table = frame.assign(text=[texts[group] for group in groups]).groupby("position")["text"]
        frame[WARNINGS] = of_table.transform(lambda part: " ".join(filter(None, dict.fromkeys(part))))
    if level := settings.get("confidence"):
        frame = without_prior.columns_of_cells(frame, cells, level)
    shown = frame[apart].assign(**numbers, status=FOR_COMPARISON, error=np.nan, analysis=FLAT)
    return pd.concat([frame, shown], ignore_index=True), [""] * len(tables.names)


@lru_cache(maxsize=4)
def _priors(settings: str, columns: tuple[str, ...]) -> dict[str, CountPrior]:
    """Return the prior of every group of counts. A fitted prior is fitted to the whole file, even if only a part of the
    file is analysed.
    """
    wanted: dict[str, Any] = json_text.decoded(settings)
    texts = {"group": "text"} if "group" in columns else {}
    numbers = {name: "number" for name in columns if name in rules.SCALES}
    _, names = file_columns.header(wanted, kind.discover()["noisy_counts"], True)
    whole = named(Path(wanted["file"]), {"value": "published", **numbers, **texts}, wanted, names, 1, 1)
    cells, groups = cells_of_tables(whole, wanted)
    choice = choose(cells, wanted.get("prior"), groups if texts else None)
    return dict(zip(choice.groups, choice.priors, strict=True))


def conflict_names(p: NDArray[np.float64], worst: NDArray[np.int64], tables: Tables) -> NDArray[Any]:
    """Return, for each table, the name of the most improbable released value, or an empty string if the table shows no
    conflict with the prior. The name is ``the total`` for the public total.

    Parameters
    ----------
    p, worst : results of `conflict.by_table` for the counts of each table, and possibly for the total after them.
    tables : the tables.
    """
    names = tables.columns["name"]
    places, ends = tables.starts[:-1] + worst, tables.starts[1:]
    listed = zip(p, places.tolist(), ends.tolist(), strict=True)
    found = ["" if np.isnan(q) else str(names[place]) if place < end else TOTAL for q, place, end in listed]
    return np.array(found, dtype=object)


def cells_of_tables(tables: Tables, settings: Mapping[str, Any]) -> tuple[Cells, NDArray[Any]]:
    """Return the counts of several tables, and the group to which each count belongs.

    Parameters
    ----------
    tables : some tables of the file.
    settings : settings of the batch.
    """
    values = tables.columns["value"]
    unread = np.isinf(values)
    values = np.where(unread, np.nan, values)
    whole = np.logical_and.reduceat(no_fraction(values), tables.starts[:-1])
    words = rules.noise(settings, None, bool(whole.all()))
    words |= {key: tables.columns[key] for key in rules.SCALES if key in tables.columns}
    limits = settings.get("bounds") or {}
    lower, upper = np.zeros(len(values)), np.full(len(values), np.inf)
    odd: dict[int, str] = {}
    if LIMITS[0] in tables.columns and words["law"] == "exact":
        words, low, high, _ = rules.censored_rows(tables.columns, words)
        noise: NoiseLaw | dict[str, Any] = words
        lower, upper = np.array(low), np.array(high)
    else:
        thresholds, odd = _thresholds(tables, words)
        by_table = np.column_stack([thresholds, whole if "noise" not in settings else np.zeros(len(whole))])
        noise = _by_row(words, *np.repeat(by_table, np.diff(tables.starts), axis=0).T)
    ends = np.maximum(lower, limits.get("lower", 0)), np.minimum(upper, limits.get("upper", np.inf))
    cells = cells_of(values, noise, lower=ends[0], upper=ends[1])
    groups = tables.columns.get("group", np.full(len(values), ""))
    cells = cells.with_reason(unread, UNREAD)
    if (least := rules.withheld_below(settings)) > -np.inf:
        cells = cells.with_reason(values < least, f"this value is below {least:g}, the limit of withheld values")
    for t, mistake in odd.items():
        place = np.arange(len(values))
        rows_of_table = (place >= tables.starts[t]) & (place < tables.starts[t + 1])
        cells = cells.with_reason(rows_of_table & np.isnan(values), mistake)
    if isinstance(noise, LawByRow):
        cells = cells.with_reason(_invalid(tables), _SPOILT)
    open_ = ~cells.measured & np.isinf(ends[1])
    return cells.with_reason(open_ & (lower > 0), _OPEN).with_reason(open_, _EMPTY), groups


def no_fraction(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each value of a file is an integer, or is not published as a number."""
    return ~np.isfinite(values) | (values == np.floor(values))


def _thresholds(tables: Tables, words: Mapping[str, Any]) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return, for each table, the limit below which noisy values were withheld, or NaN if the table has no such limit.
    In addition, return the mistakes in the counts that are not published as numbers, as a mapping from the position of
    the table.
    """
    thresholds = np.full(len(tables.names), float(words.get("threshold", np.nan)))
    odd: dict[int, str] = {}
    if LIMITS[0] not in tables.columns:
        return thresholds, odd
    bounded = np.isfinite(tables.columns[LIMITS[0]]) | np.isfinite(tables.columns[LIMITS[1]])
    for t in np.unique(np.searchsorted(tables.starts, np.flatnonzero(bounded), side="right") - 1).tolist():
        place = slice(tables.starts[t], tables.starts[t + 1])
        wanted = [name for name in ("name", "value", *LIMITS) if name in tables.columns]
        noise, _, _, mistake = rules.censored_rows({name: tables.columns[name][place] for name in wanted}, words)
        if mistake:
            odd[t] = mistake
        else:
            thresholds[t] = noise["threshold"]
    return thresholds, odd


def _by_row(
    words: Mapping[str, Any], thresholds: NDArray[np.float64], whole: NDArray[np.float64]
) -> NoiseLaw | dict[str, Any]:
    """Return the noise distribution for rows that may differ in their scales, thresholds and default distributions.
    Rows of equal noise share a distribution.

    Parameters
    ----------
    words : noise as settings, with scales by row if a column contains them.
    thresholds : limit below which values of a row's table are withheld; NaN if there is no limit.
    whole : 1 if all values of a row's table are integers and the settings name no distribution, otherwise 0.
    """
    plain = {key: value for key, value in words.items() if key != "threshold"}
    if len(different := np.unique(thresholds)) == 1 and len(np.unique(whole)) == 1:
        return plain if np.isnan(different[0]) else {**plain, "threshold": float(different[0])}
    key = next((key for key in rules.SCALES if np.ndim(plain.get(key, 0))), "")
    scales = np.asarray(plain[key], dtype=np.float64) if key else np.zeros(len(thresholds))
    valid = np.isfinite(scales) & (scales > 0)
    rows = np.column_stack([np.where(valid, scales, 1.0), thresholds, whole])
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    laws = []
    for scale, threshold, integers in kinds.tolist():
        modified = {} if np.isnan(threshold) else {"threshold": threshold}
        modified |= {"law": "discrete_laplace"} if integers else {}
        laws.append(law_of({**plain, **({key: scale} if key else {}), **modified}))
    return LawByRow(laws, which.ravel())


def _invalid(tables: Tables) -> NDArray[np.bool_]:
    """Return a Boolean mask that selects the rows whose noise scale is not a positive number."""
    scales = [tables.columns[key] for key in rules.SCALES if key in tables.columns]
    return (
        np.any([~(np.isfinite(scale) & (scale > 0)) for scale in scales], axis=0) if scales else np.zeros(1, dtype=bool)
    )
