"""An additive release (made under `releases:`, found elsewhere, or rehearsed) -> what it says about the true counts."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._files.published import Published
from dpmultinomial._posteriors.additive import additive_counts

from .validation import components

MECHANISM = "additive_counts"
REHEARSAL = "rehearsal: the noise can be repeated by anyone; not a release"
COLUMNS = ("quantity", "mean", "sd", "lower", "upper", "level", "status", "released", "note")


@dataclass(frozen=True)
class Case:
    """A release as the posterior needs it.

    Parameters
    ----------
    names : of the components.
    released : their released counts.
    epsilon : of each noisy count.
    algorithm, ties, support : how it was made (`additive_counts.posterior`).
    cost : in words.
    origin : in words.
    """

    names: list[str]
    released: list[int]
    epsilon: float
    algorithm: str
    ties: str
    support: float | None
    cost: str
    origin: str


def table(
    *,
    release: Published | None = None,
    rehearsal: dict[str, Any] | None = None,
    released: list[int] | None = None,
    released_file: str | None = None,
    released_total: int | None = None,
    names: list[str] | None = None,
    epsilon: float | None = None,
    algorithm: str = "3",
    ties: str = "random",
    support: int | None = None,
    window: int | None = None,
    prior: str | float = "flat",
    level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Exact posterior of every component and of the total, and of the total under other priors.

    Parameters
    ----------
    release : a release made under `releases:`; its record states epsilon, algorithm, ties and law of the noise.
    rehearsal : ``{"counts": [..]}``, made-up counts that get noise from `rng`.
    released, released_file, released_total, names, epsilon, algorithm, ties, support, window, prior, level : keys of a
        scenario (settings.yaml).
    rng : of the rehearsal's noise.

    Returns
    -------
    DataFrame with `COLUMNS`: a row a component, a row ``total``, and, where the priors can be compared, a row
        ``total, if the prior were ..`` for each of the others. `note` states what was assumed.

    Raises
    ------
    ValueError
        If the release was made by another mechanism or its posterior is not tractable.
    """
    if release is not None:
        case = of_release(release)
    else:
        stated = {"rehearsal": rehearsal, "released": released, "released_file": released_file, "names": names}
        case = _stated(stated, epsilon, algorithm, ties, support, rng)
    law = additive_counts.posterior(
        case.released,
        epsilon=case.epsilon,
        algorithm=case.algorithm,
        ties=case.ties,
        support=case.support,
        window=window,
        prior=prior,
    )
    found = law.summary(level).assign(quantity=[*case.names, "total"], released=[*case.released, sum(case.released)])
    found["note"] = _assumed(case, law)
    comparable = window is None and case.algorithm != "1-summed" and case.ties != "ieee"
    others = _other_priors(law, level, sum(case.released)) if comparable else []
    return pd.concat([found, *others], ignore_index=True)[list(COLUMNS)]


def of_release(release: Published) -> Case:
    """What the record and the file of a published release say.

    Raises
    ------
    ValueError
        If it was made by another mechanism, or lacks what an additive release states.
    """
    record = release.record
    if record["mechanism"] != MECHANISM:
        raise ValueError(f"release {record['release']} must be made by {MECHANISM}, got {record['mechanism']}")
    cost = record["cost"]
    spent = f"{cost['epsilon']:g}" if isinstance(cost, dict) else "not stated"
    return Case(
        names=release.table.texts("category"),
        released=release.table.whole("count", least=0).tolist(),
        epsilon=1 / release.number("scale"),
        algorithm=str(record["algorithm"]),
        ties=str(record["ties"]),
        support=inf,
        cost=f"epsilon {spent} in all ({record['neighbours']})",
        origin=f"release {record['release']}, generation {record['generation']}",
    )


def _stated(
    stated: dict[str, Any],
    epsilon: float | None,
    algorithm: str,
    ties: str,
    support: int | None,
    rng: np.random.Generator,
) -> Case:
    """A release that the scenario gives in numbers, or rehearses."""
    labels, values = components(stated)
    if epsilon is None:
        raise ValueError("epsilon must be given with rehearsal, released and released_file")
    origin = "a release from elsewhere, its law as the scenario states it"
    if stated["rehearsal"] is not None:
        drawn = additive_counts.release(
            values, epsilon=epsilon, algorithm=algorithm, support=support, ties=ties, size=1, rng=rng
        )
        values = drawn[0].tolist()
        origin = REHEARSAL
    return Case(labels, list(values), epsilon, algorithm, ties, support, f"epsilon {2 * epsilon:g} in all", origin)


def _assumed(case: Case, law: additive_counts.AdditivePosterior) -> str:
    cut = {inf: "", None: ", cut where less than exp(-50) is left"}.get(case.support, f", cut at +-{case.support}")
    ties = f", ties {case.ties}" if case.algorithm == "3" else ""
    return (
        f"{case.origin}; algorithm {case.algorithm}{ties}, from discrete Laplace noise of scale {1 / case.epsilon:g} "
        f"in the total and in every component{cut}; cost: {case.cost}; prior: {law.prior} on counts >= 0; "
        f"answer: {law.honesty}"
    )


def _other_priors(law: additive_counts.AdditivePosterior, level: float, total: int) -> list[pd.DataFrame]:
    """The total under the priors that were not chosen: how much the prior decides."""
    found = law.prior_influence(level)
    found = found[found["prior"] != law.prior]
    note = "how much the prior decides: the release is the same, only the prior differs from that of the rows above"
    rows = found.assign(quantity="total, if the prior were " + found["prior"], released=total, note=note)
    return [rows.drop(columns="prior")]
