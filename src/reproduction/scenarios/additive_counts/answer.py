"""Compute the posterior of the true counts and of their total, given a release of the counts with additive noise."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._accounting.composition import ApproxDP
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.reading import read
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.additive_counts import AdditiveCounts
from dpmultinomial._mechanisms.laplace import default_support
from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._posteriors.additive.additive_counts import AdditivePosterior
from dpmultinomial._releases.spending import ADD_OR_REMOVE, REPLACE

from .. import standard
from ..batch import Answers, both, one_a_table
from ..case import REHEARSAL, Answer, Case, compared
from ..table_stream import Tables
from . import rules


def answer(case: Case) -> Answer:
    """Return the results of one case of an additive-counts scenario. For comparison, the results include the posterior
    under other priors of the total.
    """
    settings = case.settings
    release, facts = _release(case)
    mechanism = release.mechanism
    inferred = posterior(release, prior=settings["prior"])
    facts |= {
        "algorithm": mechanism.algorithm,
        "ties": mechanism.ties,
        "noise": {"law": "discrete_laplace", "scale": 1 / mechanism.epsilon},
    }
    released = dict(zip(release.names, release.values.tolist(), strict=True))
    released[rules.TOTAL] = float(release.values.sum())
    result = standard.answer(inferred, case, facts=facts, released=released, about="counts")
    law = inferred.source
    assert isinstance(law, AdditivePosterior)
    if mechanism.algorithm == "1-summed" or mechanism.ties == "ieee":
        return result
    others = law.prior_influence(settings["level"])
    others = others.assign(quantity=rules.TOTAL, type="count", released=released[rules.TOTAL])
    parts = [
        compared(f"with the prior {prior} in place of {law.prior}", others[others["prior"] == prior])
        for prior in others["prior"]
        if prior != law.prior
    ]
    comparison = pd.concat(parts, ignore_index=True) if parts else result.comparison
    return Answer(rows=result.rows, facts=result.facts, densities=result.densities, comparison=comparison)


def _release(case: Case) -> tuple[Release, dict[str, Any]]:
    settings = case.settings
    if case.release:
        release = read(case.release)
        return release, {"origin": "release", **release.facts}
    names, values = rules.stated(settings, case.columns)
    law = AdditiveCounts(
        **{key: settings[key] for key in ("epsilon", "algorithm", "ties", "support") if key in settings}
    )
    # the noise is bounded, so some releases rule out a neighbouring file
    spent, replaced = law.cost(ADD_OR_REMOVE), law.cost(REPLACE, changes=(1, -1))
    assert isinstance(spent, ApproxDP)
    assert isinstance(replaced, ApproxDP)
    cost = {"epsilon": spent.epsilon, "delta": spent.delta, "relation": spent.relation}
    bound = settings.get("support") or default_support(law.epsilon)
    facts: dict[str, Any] = {"origin": "published", "cost": cost, "noise_bound": bound}
    facts["cost_to_replace"] = {"epsilon": replaced.epsilon, "delta": replaced.delta}
    counts = np.asarray(values, dtype=np.int64)
    if REHEARSAL in settings:
        counts, facts["origin"] = law.sample(counts, rng=case.rng), REHEARSAL
    return Release(counts, mechanism=law, names=names), facts


def many(tables: Tables, settings: Mapping[str, Any], stream_of: Callable[[str], np.random.Generator]) -> Answers:
    """Return the posterior of every count and of the total, for many additive releases. Identical releases are analysed
    only once.
    """
    spent, reasons = one_a_table(tables, "epsilon", settings.get("epsilon"))
    if "algorithm" in tables.columns:
        how, odd = one_a_table(tables, "algorithm")
        reasons = both(reasons, odd)
    else:
        how = np.full(len(reasons), settings["algorithm"], dtype=object)
    parts: list[pd.DataFrame] = []
    known: dict[tuple[Any, ...], pd.DataFrame] = {}
    for t, (first, last) in enumerate(zip(tables.starts, tables.starts[1:], strict=False)):
        counts, names = tables.columns["value"][first:last], tables.columns["name"][first:last]
        reasons[t] = reasons[t] or _reason(counts, names)
        if reasons[t]:
            continue
        key = (float(spent[t]), str(how[t]), counts.tobytes())
        if key not in known:
            release = additive_counts.Release(counts.astype(np.int64), key[0], key[1])
            asked: dict[str, Any] = {key: settings.get(key) for key in ("level", "support", "ties", "prior")}
            known[key] = additive_counts.posteriors([(t, release)], **asked)
        summary = known[key]
        if summary["status"].iloc[0] == additive_counts.REFUSED:
            reasons[t] = summary["reason"].iloc[0]
            continue
        released = [*counts, counts.sum()]
        parts.append(
            summary.assign(position=t, quantity=[*names, rules.TOTAL], type="count", released=released, error=0.0)
        )
    none = pd.DataFrame({"position": np.empty(0, dtype=np.int64)})
    return pd.concat(parts, ignore_index=True) if parts else none, reasons


def _reason(counts: np.ndarray, names: np.ndarray) -> str:
    """Return the reason why values cannot be the counts of a release by an algorithm of Wang (2020), or an empty string
    if there is no such reason.
    """
    if not np.all(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))):
        return "value must contain only integers >= 0"
    if counts.sum() > rules.LARGEST:
        return f"the sum of the column 'value' must be <= {rules.LARGEST}"
    return (
        f"the name {rules.TOTAL} is reserved for the sum of the other counts: remove this row"
        if rules.TOTAL in names
        else ""
    )
