"""Analyse many tables of noisy counts in one call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._inference.counts import PRIORS, concentration, conflicts
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.counts import noisy_count_batches

from .. import standard
from ..batch import Answers, both, one_a_table, one_by_one, only
from ..case import COLUMNS, CONFLICT, WARNINGS
from ..sentences import uncertain
from ..table_stream import LIMITS, Tables
from . import rules, single_counts, without_prior
from .single_counts import UNREAD, conflict_names, no_fraction

_FEWEST = 2
_ABOUT = {"counts": ("count", "share"), "rates": ("rate",), "both": ("count", "share", "rate")}
_FAST = ("laplace", "discrete_laplace")  # both distributions have the same shape on the integers


def many(tables: Tables, settings: Mapping[str, Any], stream_of: Callable[[str], np.random.Generator]) -> Answers:
    """Analyse many tables of noisy counts in a single call if possible. Tables with a total and (discrete) Laplace
    noise are analysed together, and so are all counts without a total. Other tables, and tables with a total for which
    confidence intervals are requested, are analysed one by one.

    Parameters
    ----------
    tables : tables with columns named as in settings.yaml.
    settings : settings of the batch.
    stream_of : function that returns the Generator of a table, given the name of the table.
    """
    if not tables.names:
        return one_by_one(tables, lambda t: pd.DataFrame())
    if "total" not in settings and "total" not in tables.columns and "epsilon" not in tables.columns:
        return single_counts.many(tables, settings)
    low = np.logical_or.reduceat(tables.columns["value"] < rules.withheld_below(settings), tables.starts[:-1])
    if low.any():
        return _refused(tables, low, settings, stream_of)
    law = rules.noise(settings, None, False) if "noise" in settings or "epsilon" in settings else {"law": "laplace"}
    plain = law["law"] in _FAST and not {"rounded", "clipped", "threshold"} & set(law)
    stated = "total" in settings or "total" in tables.columns
    if (
        plain
        and stated
        and "bounds" not in settings
        and "confidence" not in settings
        and _is_concentration(settings.get("prior"))
    ):
        return _with_numbers_at_once(tables, settings, stream_of)
    return _one_by_one(tables, settings, stream_of)


def _refused(
    tables: Tables,
    low: np.ndarray,
    settings: Mapping[str, Any],
    stream_of: Callable[[str], np.random.Generator],
) -> Answers:
    """Analyse the tables without a released value below the limit of withheld values, and reject the others (`low`)."""
    kept = np.flatnonzero(~low)
    rows, refusals = many(only(tables, kept), settings, stream_of)
    least = f"{rules.withheld_below(settings):g}, the limit of withheld values"
    reasons = [f"a released value is below {least}"] * len(low)
    for place, reason in zip(kept, refusals, strict=True):
        reasons[place] = reason
    return rows.assign(position=kept[rows["position"].to_numpy(dtype=np.int64)]), reasons


def _with_numbers_at_once(
    tables: Tables, settings: Mapping[str, Any], stream_of: Callable[[str], np.random.Generator]
) -> Answers:
    """Analyse all tables in which every count is published as a number, and not as a range, in a single call. The other
    tables are analysed one after the other.
    """
    if LIMITS[0] not in tables.columns:
        return _at_once(tables, settings)
    bounded = np.isfinite(tables.columns[LIMITS[0]]) | np.isfinite(tables.columns[LIMITS[1]])
    ranges = np.logical_or.reduceat(bounded, tables.starts[:-1])
    parts, reasons = [], [""] * len(tables.names)
    for chosen, answered in ((~ranges, _at_once), (ranges, None)):
        places = np.flatnonzero(chosen)
        if len(places):
            subset = only(tables, places)
            rows, refusals = answered(subset, settings) if answered else _one_by_one(subset, settings, stream_of)
            parts.append(rows.assign(position=places[rows["position"].to_numpy(dtype=np.int64)]))
            for place, reason in zip(places, refusals, strict=True):
                reasons[place] = reason
    return pd.concat(parts, ignore_index=True).sort_values("position", kind="stable", ignore_index=True), reasons


def _one_by_one(
    tables: Tables, settings: Mapping[str, Any], stream_of: Callable[[str], np.random.Generator]
) -> Answers:
    reasons = _unread(tables)
    for key in ("total", "epsilon"):
        reasons = both(reasons, one_a_table(tables, key)[1]) if key in tables.columns else reasons
    return one_by_one(tables, lambda t: _single(tables, t, settings, stream_of), reasons)


def _unread(tables: Tables) -> list[str]:
    """Return a reason for each table with a value that is not a number, and an empty string for every other table."""
    unread = np.logical_or.reduceat(np.isinf(tables.columns["value"]), tables.starts[:-1])
    return [UNREAD if wrong else "" for wrong in unread]


def _is_concentration(prior: Any) -> bool:
    return prior is None or prior in PRIORS if isinstance(prior, str | None) else isinstance(prior, (int, float))


def _at_once(tables: Tables, settings: Mapping[str, Any]) -> Answers:
    about = settings["about"]
    totals, reasons = one_a_table(tables, "total", settings.get("total"))
    scales, odd = _scales(tables, settings)
    sizes = np.diff(tables.starts)
    few = ["" if size >= _FEWEST else f"a table must have at least {_FEWEST} counts" for size in sizes]
    reasons = both(_unread(tables), both(both(reasons, odd), few))
    good = np.array([reason == "" for reason in reasons], dtype=bool)
    rows = np.repeat(good, sizes)
    summaries = noisy_count_batches.exact(
        tables.columns["value"][rows],
        starts=np.concatenate([[0], np.cumsum(sizes[good])]).astype(np.int64),
        totals=totals[good],
        scales=scales[rows],
        alphas=float(concentration(settings.get("prior"), 1)[0]),
        level=settings["level"],
        rates=about != "counts",
    )
    for place, reason in zip(np.flatnonzero(good), summaries.reasons, strict=True):
        reasons[place] = reason
    owner = np.repeat(np.arange(len(reasons)), sizes)[rows]
    answered = np.array([reason == "" for reason in reasons], dtype=bool)[owner]
    numbers = {
        "rate": np.stack([summaries.mean, summaries.sd, summaries.lower, summaries.upper], axis=1),
        "count": summaries.counts,
    }
    sizes_of_files = totals[owner].astype(float)
    numbers["share"] = summaries.counts / np.maximum(sizes_of_files, 1.0)[:, None]
    released = tables.columns["value"][rows]
    shared = {
        "position": owner,
        "quantity": tables.columns["name"][rows],
        "status": summaries.accuracy.status,
        "error": 0.0,
    }
    found = _conflicts(tables, totals, scales, reasons, settings)
    shared |= {name: of_table[owner] for name, of_table in found.items()}
    frames = []
    for kind in _ABOUT[about]:
        numbers_by_name = dict(zip(("mean", "sd", "lower", "upper"), numbers[kind].T, strict=True))
        shown = released if kind == _ABOUT[about][0] else np.full(len(owner), np.nan)
        stated = answered if kind != "share" else answered & (sizes_of_files > 0)
        frames.append(pd.DataFrame({**shared, "type": kind, "released": shown, **numbers_by_name})[stated])
    whole = pd.concat(frames, ignore_index=True)
    return whole.sort_values("position", kind="stable", ignore_index=True), reasons


def _conflicts(
    tables: Tables, totals: np.ndarray, scales: np.ndarray, reasons: Sequence[str], settings: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Return, for each table, the p-value of the test for a conflict, and the name of the most improbable released
    value if there is a conflict (columns `CONFLICT`). Tables whose counts are all integers have discrete Laplace noise,
    unless the settings name another distribution.
    """
    stated = rules.noise(settings, None, False)["law"] if "noise" in settings else ""
    values, sizes = tables.columns["value"], np.diff(tables.starts)
    good = np.array([reason == "" for reason in reasons], dtype=bool)
    discrete = np.logical_and.reduceat(no_fraction(values), tables.starts[:-1])
    found = {CONFLICT[0]: np.full(len(sizes), np.nan), CONFLICT[1]: np.full(len(sizes), "", dtype=object)}
    for law in ("laplace", "discrete_laplace"):
        chosen = np.flatnonzero(good & ((stated == law) if stated else discrete == (law == "discrete_laplace")))
        if not len(chosen):
            continue
        part, rows = only(tables, chosen), np.repeat(np.isin(np.arange(len(sizes)), chosen), sizes)
        noise = law_of({"law": law, "scale": scales[rows]})
        alpha = float(concentration(settings.get("prior"), 1)[0])
        p, worst = conflicts(part.columns["value"], noise, part.starts, totals[chosen].astype(np.int64), alpha)
        found[CONFLICT[0]][chosen] = p
        found[CONFLICT[1]][chosen] = conflict_names(p, worst, part)
    return found


def _scales(tables: Tables, settings: Mapping[str, Any]) -> tuple[np.ndarray, list[str]]:
    """Return the scale of the noise in every row, and an error message for each table without a valid scale."""
    size, none = len(tables.columns["value"]), [""] * len(tables.names)
    if "scale" in tables.columns:
        return tables.columns["scale"], none
    if "epsilon" not in tables.columns:
        return np.full(size, law_of(rules.noise(settings, None, False)).scale), none  # type: ignore[attr-defined]
    spent, odd = one_a_table(tables, "epsilon")
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = np.where(spent > 0, settings.get("sensitivity", 2.0) / spent, np.nan)
    words = ["" if np.isfinite(one) else "epsilon must be finite and > 0" for one in scales]
    return np.repeat(scales, np.diff(tables.starts)), both(odd, words)


def _conflict(check: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of the columns `CONFLICT` for one table, from the test for a conflict between the prior and
    the release.
    """
    values = (check["smallest"] * check["tested"], check["name"]) if check["found"] else (np.nan, "")
    return dict(zip(CONFLICT, values, strict=True))


def _single(
    tables: Tables, t: int, settings: Mapping[str, Any], stream_of: Callable[[str], np.random.Generator]
) -> pd.DataFrame:
    rows_of_table = slice(tables.starts[t], tables.starts[t + 1])
    columns = {name: values[rows_of_table] for name, values in tables.columns.items()}
    values = columns["value"]
    words = rules.noise(settings, None, bool(no_fraction(values).all()))
    for key in rules.SCALES:
        if key in columns:
            words[key] = columns[key]
    if "epsilon" in columns:
        words |= {"epsilon": float(columns["epsilon"][0]), "sensitivity": settings.get("sensitivity", 2.0)}
    total = settings.get("total", columns["total"][0] if "total" in columns else None)
    if total is not None and (total != total or total != int(total) or total < 0):
        raise ValueError(f"total must be an integer >= 0, got {total}")
    limits = settings.get("bounds")
    bounds = (limits.get("lower", 0), limits.get("upper", np.inf)) if limits else None
    if LIMITS[0] in columns:
        words, low, high, odd = rules.censored_rows(columns, words)
        if odd:
            raise ValueError(odd)
        least, most = bounds or (0, np.inf)
        bounds = np.maximum(low, least), np.minimum(high, most)
    release = Release(
        values,
        mechanism=law_of(words),
        names=columns["name"].tolist(),
        total=None if total is None else int(total),
        bounds=bounds,
    )
    inferred = posterior(release, prior=settings.get("prior"), rng=stream_of(tables.names[t]))
    check: Any = inferred.facts["conflict"]
    released = dict(zip(release.names, release.values.tolist(), strict=True))
    if not (groups := standard.groups_of(inferred, settings["about"])):
        raise ValueError(standard.without(inferred, settings["about"]))
    laws = [getattr(inferred, group)[name] for group in groups for name in getattr(inferred, group)]
    rows = [standard.row(law, settings["level"], released[law.name] if law.type == "count" else None) for law in laws]
    table = pd.DataFrame(rows, columns=list(COLUMNS)).assign(**_conflict(check))
    table[WARNINGS] = " ".join(uncertain(inferred.facts.get("prior")))
    return without_prior.columns(table, release, settings["confidence"]) if settings.get("confidence") else table
