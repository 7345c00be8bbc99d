"""Convert a `Posterior` object to the results of a scenario. The results are rows with types, densities, answers to
questions, and the proportion of the variance of the rates that is due to noise.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._accuracy import EXACT, Accuracy
from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._posteriors.counts.dirichlet_mixture import DirichletMixture
from dpmultinomial._posteriors.published.counts_with_total import TiedCounts
from dpmultinomial._results.distributions import Continuous, Discrete, Draws, Marginal
from dpmultinomial._results.posterior import Posterior
from dpmultinomial._results.quantities import Quantities

from .case import COLUMNS, DENSITIES, Answer, Case

FILE, BEHIND = ("counts", "shares"), ("rates", "parameters")
_CURVES = 12  # maximum number of quantities in a group whose densities are computed
# maximum number of points of a density, and maximum number of records for which pairs of counts are enumerated
_POINTS, _LARGEST_PAIR = 201, 2000
_RATIOS = ("shares", "rates")


def answer(
    posterior: Posterior,
    case: Case,
    *,
    facts: Mapping[str, Any],
    released: Mapping[str, float],
    about: str = "both",
    table: pd.DataFrame | None = None,
    accuracy: Accuracy = EXACT,
) -> Answer:
    """Return the result rows and the metadata of a posterior.

    Parameters
    ----------
    posterior : posterior of the library.
    case : case with `level`, `questions` and optionally `among`.
    facts : metadata of the scenario's kind; the metadata of the posterior are added.
    released : dictionary from names to released values.
    about : ``counts`` (of the file), ``rates`` (of the population from which the file was sampled) or ``both``.
    table : rows of the quantities with the columns `COLUMNS`, if they were computed together with one method. Further
        columns are kept.
    accuracy : accuracy of these rows.

    Returns
    -------
    Answer
        The rows are ordered as follows, as far as they exist: counts, shares, shares among selected names, rates, rates
        among selected names, parameters, and answers to questions.
    """
    settings = case.settings
    among = list(settings.get("among") or ())
    groups = groups_of(posterior, about)
    if not groups:
        raise ValueError(without(posterior, about))
    few = table is None or len(table) <= _CURVES
    laws = [law for group in groups for law in _laws(posterior, group, among)] if few else []
    if table is None:
        rows = [row(law, settings["level"], released.get(law.name) if law.type == "count" else None) for law in laws]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
    else:
        frame = table
    asked_states: list[Accuracy] = []
    sure: list[str] = []
    if asked := settings.get("questions"):
        answers = posterior.ask(asked, level=settings["level"], rng=case.rng)
        asked_states, sure = states_of(answers), certain(answers)
        frame = pd.concat([frame, answers.assign(released=np.nan)[list(COLUMNS)]], ignore_index=True)
    all_facts = {**posterior.facts, **facts, "method": posterior.method, "groups": groups, "among": among}
    all_facts |= {"among_labels": {law.name: name for name, law in _among(posterior, "rates", among)}} if among else {}
    states = [law.accuracy for law in laws] if table is None else [accuracy] * len(table)
    states += asked_states
    all_facts |= {"accuracy": tally(states)}
    if "rates" in groups and (part := noise_part(posterior, among)):
        all_facts["noise_part_of_rate_variance"] = part
    if asked:
        all_facts["certain"] = sure
    return Answer(rows=frame, facts=all_facts, densities=densities(laws))


def states_of(answers: pd.DataFrame) -> list[Accuracy]:
    """Return the accuracy of each answer in a table that `Posterior.ask` returns, each with its reason."""
    return [
        Accuracy(*state)
        for state in zip(answers["status"], answers["error"].astype(float), answers.attrs["reasons"], strict=True)
    ]


def certain(answers: pd.DataFrame) -> list[str]:
    """Return the names of the answers in a table of `Posterior.ask` that hold for any data, such as the probability
    that a rank is at most the number of ranked quantities.
    """
    return [str(name) for name, sure in zip(answers["quantity"], answers.attrs["certain"], strict=True) if sure]


def groups_of(posterior: Posterior, about: str) -> list[str]:
    """Return the names of the groups of quantities (such as counts or rates) that a scenario reports.

    Parameters
    ----------
    posterior : posterior of the library.
    about : ``counts`` (of the file), ``rates`` (of the population from which the file was sampled) or ``both``.
    """
    wanted = {"counts": FILE, "rates": BEHIND}.get(about, (*FILE, *BEHIND))
    return [group for group in posterior.groups if group in wanted]


def without(posterior: Posterior, about: str) -> str:
    """Return the message that a posterior has no quantities of the groups that a scenario asks for."""
    return f"about must be one of {', '.join(posterior.groups)} for this release, got {about}"


def row(law: Marginal, level: float, released: float | None = None) -> tuple[object, ...]:
    """Return one row of a table of results, with the columns `COLUMNS`."""
    ends, state = law.interval(level), law.accuracy
    shown = np.nan if released is None else released
    return law.name, law.type, shown, law.mean(), law.sd(), *ends, level, state.status, state.error


def _laws(posterior: Posterior, group: str, among: Sequence[str]) -> Iterator[Marginal]:
    quantities: Quantities = getattr(posterior, group)
    yield from (quantities[name] for name in quantities)
    yield from (law for _, law in _among(posterior, group, among))


def _among(posterior: Posterior, group: str, among: Sequence[str]) -> Iterator[tuple[str, Marginal]]:
    if among and group in _RATIOS and group in posterior.groups:
        part = getattr(posterior, group).among(*among)
        yield from ((name, part[name]) for name in part)


def tally(states: Sequence[Accuracy], before: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """Return the distinct accuracy statuses in a table of results, with the reason for each status and the number of
    rows. If the error of an approximate row is not known, the entry ``unknown`` is True.

    Parameters
    ----------
    states : accuracy of each row.
    before : statuses of further rows, as returned by this function.
    """
    found = {(one["status"], one["reason"], one.get("unknown", False)): one["rows"] for one in before}
    for state in states:
        key = state.status, state.reason, state.status == "approximate" and np.isnan(state.error)
        found[key] = found.get(key, 0) + 1
    return [
        {"status": word, "reason": reason, "rows": rows} | ({"unknown": True} if unknown else {})
        for (word, reason, unknown), rows in found.items()
    ]


def noise_part(posterior: Posterior, among: Sequence[str]) -> dict[str, float]:
    """Return a mapping from each rate to the proportion of its posterior variance that is due to the noise. The
    remaining variance is sampling variation.

    Var(rate | release) = Var(E[rate | counts] | release) + E[Var(rate | counts) | release]; the first term is 0 if the
    counts are known.

    Parameters
    ----------
    posterior : posterior with rates.
    among : names among which rates are also computed.

    Returns
    -------
    dict
        Empty if the posterior of the rates is not a mixture of Dirichlet distributions.
    """
    law = posterior.source
    if isinstance(law, TiedCounts):
        total = law.total.released if isinstance(law.total.noise, Exact) else None
        if law.alpha is None or total is None:
            return {}
        alpha = law.alpha
    elif isinstance(law, DirichletMixture):
        alpha, total = law.alpha, law.counts.total
    else:
        return {}
    if posterior.counts.in_one_pass and posterior.rates.in_one_pass:
        counts, rates = posterior.counts.numbers(), posterior.rates.numbers()
        parts = (counts.sd / (total + alpha.sum()) / rates.sd) ** 2
        return dict(zip(posterior.rates.names, parts.tolist(), strict=True))
    proportions = {}
    if len(posterior.rates) == 1:  # the rate of a single category is 1
        return {}
    for name in posterior.rates:
        spread = posterior.counts[name].variance() / (total + alpha.sum()) ** 2
        proportions[name] = spread / posterior.rates[name].variance()
    if among and total <= _LARGEST_PAIR:
        places = [posterior.rates.places[name] for name in among]
        for i, (_, marginal) in zip(places, _among(posterior, "rates", among), strict=True):
            s, t, weights = _pair(law, i, [j for j in places if j != i])
            middle = (s + alpha[i]) / (s + t + alpha[places].sum())
            mean = np.average(middle, weights=weights)
            proportions[marginal.name] = float(np.average((middle - mean) ** 2, weights=weights)) / marginal.variance()
    return {name: float(min(part, 1.0)) for name, part in proportions.items()}


def _pair(law: TiedCounts | DirichletMixture, i: int, rest: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return the joint distribution of one count and the sum of several other counts, as pairs of values and their
    weights.
    """
    if isinstance(law, DirichletMixture):
        return law.counts.pair(i, rest)
    pair = law.together.pair_of([i], rest)
    s, t = np.meshgrid(pair.first.values(), pair.second.values(), indexing="ij")
    return s.ravel(), t.ravel(), pair.matrix().ravel()


def densities(laws: Sequence[Marginal]) -> pd.DataFrame:
    """Return the densities of rates and parameters, and the probabilities of counts and shares. Types with many
    quantities are omitted.
    """
    parts = []
    for kind in dict.fromkeys(law.type for law in laws):
        same = [law for law in laws if law.type == kind]
        for law in same if len(same) <= _CURVES else ():
            x, y = _curve(law)
            parts.append(pd.DataFrame({"quantity": law.name, "type": law.type, "x": x, "density": y}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(DENSITIES))


def _curve(law: Marginal) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(law, Discrete):
        kept = law.probabilities > 1e-4 * law.probabilities.max()
        values, chances = law.values[kept], law.probabilities[kept]
        step = max(1, -(-len(values) // (5 * _POINTS)))
        return values[::step].astype(float), chances[::step]
    low, high = (float(end) for end in law.quantile([0.001, 0.999]))
    if isinstance(law, Draws):
        if low == high:  # the interval is narrower than the floating-point resolution
            low, high = low - max(abs(low), 1.0) * 1e-9, high + max(abs(high), 1.0) * 1e-9
        heights, edges = np.histogram(law.draws, bins=60, range=(low, high))
        return (edges[1:] + edges[:-1]) / 2, heights / (law.draws.size * np.diff(edges))
    assert isinstance(law, Continuous)
    if low == high:  # the rate of a single category is 1
        return np.array([low]), np.array([np.nan])
    x = np.linspace(low, high, _POINTS)
    y = law.pdf(x)
    return x, np.where(np.isfinite(y), y, np.nan)
