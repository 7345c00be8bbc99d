"""Compute the posterior of the table before swapping, of the underlying probabilities and of the odds ratio, given a
swapped table.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betainccinv, betaincinv

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.swapping.swapping import Swap
from dpmultinomial._posteriors.counts.dirichlet_mixture import DirichletMixture, ExplicitLaw
from dpmultinomial._posteriors.swapping import swapped_batches, swapped_table
from dpmultinomial._posteriors.swapping.log_odds import PRIOR_SD, common_odds_ratio
from dpmultinomial._results.distributions import Continuous

from .. import standard
from ..batch import Answers
from ..case import COLUMNS, DENSITIES, FOR_COMPARISON, Answer, Case, compared
from ..table_stream import Tables
from . import origin, rules
from .origin import Source

ODDS, COMMON = "log odds ratio", "common log odds ratio"
_NAIVE = "treating the swapped table as the original"
_REFUSED = "not used: "


def answer(case: Case) -> Answer:
    """Return the results of one case of a swapped-tables scenario and, for comparison, the results of an analysis that
    ignores the swapping.
    """
    settings, source = case.settings, origin.of(case)
    facts: dict[str, Any] = {
        **source.facts,
        "rate": source.rate,
        "strata": len(source.strata),
        "sides": {"rows": list(source.rows), "columns": list(source.columns)},
        "total": int(source.counts.sum()),
    }
    if source.largest >= 2:
        change = accounting.smallest_change(source.largest, rate=source.rate)
        facts["protects"] = {"epsilon_of_an_exchange": change.exact, "largest_stratum": source.largest}
    if source.counts.size > rules.MOST_CELLS:
        if source.counts.shape[1:] != (2, 2):
            raise ValueError(f"a table must have at most {rules.MOST_CELLS} cells, got {source.counts.size}")
        return _strata_alone(case, source, facts)
    tables = source.counts if len(source.counts) > 1 else source.counts[0]
    release = Release(tables, mechanism=Swap(rate=source.rate), names=source.names())
    law = posterior(release, prior=settings["prior"], rng=case.rng)
    released = dict(zip(release.names, release.values.ravel().tolist(), strict=True))
    result = standard.answer(law, case, facts=facts, released=released, about=settings["about"])
    rows, facts = result.rows, result.facts
    if "parameters" in facts["groups"]:
        facts["probability_odds_ratio_above_1"] = float(1 - law.parameters[ODDS].cdf(0.0))
    if source.counts.shape[1:] == (2, 2) and len(source.counts) > 1:
        common = common_odds_ratio(source.counts, rate=source.rate)
        rows = pd.concat([rows, _common(common, settings["level"])], ignore_index=True)
        facts["accuracy"] = standard.tally([common.accuracy], facts["accuracy"])
        facts["common_log_odds_ratio"] = PRIOR_SD
    return Answer(rows=rows, facts=facts, densities=result.densities, comparison=_naive(source, law.source, settings))


def _strata_alone(case: Case, found: Source, facts: dict[str, Any]) -> Answer:
    """Return the posterior of the common odds ratio of several 2 x 2 tables."""
    law = common_odds_ratio(found.counts, rate=found.rate)
    curve = pd.DataFrame({"quantity": COMMON, "type": "parameter", "x": law.grid, "density": law.density})
    facts |= {"method": "exact", "groups": ["parameters"], "among": [], "common_log_odds_ratio": PRIOR_SD}
    facts["accuracy"] = [{"status": law.accuracy.status, "reason": law.accuracy.reason, "rows": 1}]
    return Answer(rows=_common(law, case.settings["level"]), facts=facts, densities=curve[list(DENSITIES)])


def _common(law: Any, level: float) -> pd.DataFrame:
    ends = law.quantile([(1 - level) / 2, (1 + level) / 2])
    state = law.accuracy
    row = (COMMON, "parameter", np.nan, law.mean(), law.sd(), *map(float, ends), level, state.status, state.error)
    return pd.DataFrame([row], columns=list(COLUMNS))


def _naive(found: Source, law: Any, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Return the posterior of the rates and of the odds ratio for an analysis that ignores the swapping."""
    level, tails = settings["level"], [(1 - settings["level"]) / 2, (1 + settings["level"]) / 2]
    alpha = getattr(law, "alpha", np.full(found.counts.size, 1.0))
    naive = DirichletMixture(alpha, ExplicitLaw(found.counts.reshape(1, -1), np.ones(1)))
    rows = []
    for i, name in enumerate(found.names()):
        beta = naive.beta(i)
        ends = map(float, beta.quantile(tails))
        rows.append((name, "rate", np.nan, beta.mean(), beta.variance() ** 0.5, *ends, level, "", np.nan))
    if found.counts.shape == (1, 2, 2):
        odds = swapped_table.naive(found.counts[0], alpha=alpha).log_odds()
        one = Continuous(odds, name=ODDS, type="parameter", accuracy=naive.accuracy)
        rows.append(standard.row(one, level))
    return compared(_NAIVE, pd.DataFrame(rows, columns=list(COLUMNS)))


def many(tables: Tables, settings: Mapping[str, Any], stream_of: Callable[[str], np.random.Generator]) -> Answers:
    """Return the posteriors of the rates of all cells in many swapped tables. For 2 x 2 tables, the posteriors of the
    log odds ratios are also returned. An analysis that ignores the swapping is added for comparison.
    """
    owner = np.repeat(np.arange(len(tables.names)), np.diff(tables.starts))
    data = pd.DataFrame({"table": owner, **tables.columns}).rename(columns={"value": "count"})
    names = settings.get("names") or {}
    summaries = swapped_batches.summaries(
        data,
        rate=settings.get("rate"),
        rows=names.get("rows"),
        columns=names.get("columns"),
        alpha=settings["prior"],
        level=settings["level"],
        stream_of=lambda place: stream_of(tables.names[int(place)]),
        odds=True,
    )
    refused = summaries["status"].str.startswith(_REFUSED)
    reasons = np.full(len(tables.names), "", dtype=object)
    rejected = summaries[refused]
    reasons[rejected["table"].to_numpy(dtype=np.int64)] = rejected["status"].str.removeprefix(_REFUSED)
    rows = summaries[~refused].rename(columns={"table": "position"})
    odds = (rows["row"] == ODDS) & (rows["column"] == "")
    quantity = np.where(odds, ODDS, rows["row"] + "/" + rows["column"])
    error = np.where(rows["status"] == "exact", 0.0, np.nan)
    rows = rows.assign(quantity=quantity, type=np.where(odds, "parameter", "rate"), error=error)
    return pd.concat([rows, _all_naive(rows[~odds], data, settings)], ignore_index=True), reasons.tolist()


def _all_naive(cells: pd.DataFrame, data: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Return summaries of the posterior of each cell's rate, computed as if the tables had not been swapped. Each rate
    then has a Beta distribution.
    """
    known = dict(zip(zip(data["table"], data["row"], data["column"], strict=True), data["count"], strict=True))
    keys = zip(cells["position"], cells["row"], cells["column"], strict=True)
    counts = np.array([known.get(key, 0.0) for key in keys])
    sizes = cells.groupby("position")["row"].transform("size").to_numpy(dtype=float)
    sums = pd.Series(counts, index=cells.index).groupby(cells["position"]).transform("sum").to_numpy(dtype=float)
    a = counts + settings["prior"]
    b = sums + sizes * settings["prior"] - a
    mean, tail = a / (a + b), (1 - settings["level"]) / 2
    numbers = {"mean": mean, "sd": np.sqrt(mean * (1 - mean) / (a + b + 1))}
    numbers |= {"lower": betaincinv(a, b, tail), "upper": betainccinv(a, b, tail)}
    return cells.assign(**numbers, error=np.nan, status=FOR_COMPARISON, analysis=_NAIVE)
