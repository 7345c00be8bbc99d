"""Compute the posterior of every probability in a released naive Bayes model or Bayesian network."""

import json
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._files.places import FileFault
from dpmultinomial._files.published import Published

from . import histogram
from .histogram import Mechanism

MODELS = ("naive_bayes", "bayesian_network")
NOT_HERE = "a release of {0!r} is not a model; use a release of naive_bayes or bayesian_network"


def mechanism(release: Published) -> Mechanism:
    """Return the noise mechanism of a released model, as stated in the record of the release.

    Raises
    ------
    FileFault
        If the release is not a model, or its record does not state its mechanism.
    """
    record = release.record
    if record["mechanism"] not in MODELS:
        raise FileFault(NOT_HERE.format(record["mechanism"]))
    law = str(record.get("law", ""))
    tables, records = release.number("tables"), release.number("records")
    shared = f"{tables:g} table{'s' * (tables != 1)} of {records:,.0f} record{'s' * (records != 1)} (public)"
    if law.startswith("Dirichlet"):
        r, alpha = release.number("r"), release.number("alpha")
        words = (
            f"one draw from Dirichlet({r:.5g} counts + {alpha:.5g}) per table and configuration of parents; {shared}"
        )
        return Mechanism(law="dirichlet", r=r, alpha=alpha, words=words)
    named = {"discrete Laplace": "discrete_laplace", "discrete Gaussian": "discrete_gaussian"}
    if law not in named:
        raise FileFault(f"{release.folder}: the record must state a known noise distribution, got {law!r}")
    scale, floor = release.number("scale"), release.number("floor")
    raised = f"noisy counts below {floor:.5g} were raised to this value, and each histogram was normalised"
    words = f"{law} noise of scale {scale:.5g}; {raised}; {shared}"
    return Mechanism(law=named[law], scale=scale, floor=floor, words=words)


def table(release: Published, *, prior: float, level: float) -> pd.DataFrame:
    """Return one row per probability of a model, with the posterior, the released value and the assumptions.

    For a node without parents, the number of records is public. For a node with parents, it is estimated by the number
    of records times the estimated probability of the configuration of the parents; the accuracy status states this.
    """
    how = mechanism(release)
    records, parents = release.number("records"), dict(release.record["network"])  # type: ignore[call-overload]
    rows = _rows(release)
    estimates: dict[str, list[tuple[dict[str, str], dict[str, float], float]]] = {}
    parts = {}
    for node in _order(parents):
        frames = []
        for given, cells in rows[node]:
            total = records * _probability(given, estimates, parents)
            names, released = [c for c, _ in cells], np.array([p for _, p in cells])
            public = not given
            frame = histogram.summary(
                [_name(node, category, given) for category in names],
                released,
                total=total if public else max(total, 1.0),
                public=public,
                mechanism=how,
                prior=prior,
                level=level,
            )
            estimates.setdefault(node, []).append((given, dict(zip(names, frame["mean"], strict=True)), total))
            words = "records: public" if public else f"about {total:.4g} records, estimated from the release"
            note = f"{how.words}; prior Dirichlet({prior:g}) on each histogram; {words}"
            where: dict[str, Any] = {"node": node, "given": _words(given), "category": names, "released": released}
            where |= {"total": total, "public": public}
            frames.append(frame.assign(note=note, **where))
        parts[node] = pd.concat(frames, ignore_index=True)
    return pd.concat([parts[node] for node in parents], ignore_index=True)


def _rows(release: Published) -> dict[str, list[tuple[dict[str, str], list[tuple[str, float]]]]]:
    """Return a mapping from each node of a network to its histograms. Each histogram is a pair (categories of the
    parents, [(category, released probability)]).
    """
    table = release.table
    columns = (table.texts("node"), table.texts("given"), table.texts("category"))
    lines = zip(*columns, table.numbers("probability"), strict=True)
    histograms: dict[str, list[tuple[dict[str, str], list[tuple[str, float]]]]] = {}
    for (node, given), cells in groupby(lines, key=lambda line: line[:2]):
        histograms.setdefault(node, []).append((json.loads(given), [(c, float(p)) for _, _, c, p in cells]))
    return histograms


def _probability(given: dict[str, str], estimates: Any, parents: dict[str, list[str]]) -> float:
    """Return the estimated probability that the parents of a node have the given categories. It is computed from the
    parents' histograms as if the parents formed a chain.

    The probability is exact under the model for two parents if one is a parent of the other. Other parents are assumed
    to be independent given their common parents.
    """
    product = 1.0
    for node, category in given.items():
        within = [n for n in parents[node] if n in given]
        weight = total = 0.0
        for configuration, shares, size in estimates[node]:
            if all(configuration[n] == given[n] for n in within):
                weight, total = weight + size * shares[category], total + size
        product *= weight / total if total > 0 else 0.0
    return product


def _order(parents: dict[str, list[str]]) -> list[str]:
    """Return the nodes of a network in topological order, that is, with parents before their children."""
    done: dict[str, None] = {}
    while len(done) < len(parents):
        layer = [n for n, above in parents.items() if n not in done and all(parent in done for parent in above)]
        if not layer:
            raise ValueError("every parent in the network must be a node, and the network must not contain a cycle")
        done |= dict.fromkeys(layer)
    return [*done]


def _name(node: str, category: str, given: dict[str, str]) -> str:
    return f"P({node} = {category} | {_words(given)})" if given else f"P({node} = {category})"


def _words(given: dict[str, str]) -> str:
    return ", ".join(f"{node} = {category}" for node, category in given.items())
