"""A user's own case: a released model, a released distribution, or a rehearsal with made-up data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._files.published import Published
from dpmultinomial._mechanisms import dirichlet

from . import rehearsal as rehearsals
from . import released_histogram, released_model
from .rehearsal import Design
from .released_histogram import Mechanism


def table(
    *,
    release: Published | str | None = None,
    released: Sequence[float] | None = None,
    rehearsal: Mapping[str, Any] | None = None,
    total: int | None = None,
    names: Sequence[str] | None = None,
    epsilon: float | None = None,
    order: float | None = None,
    r: float | None = None,
    alpha: float | None = None,
    prior: float = 1.0,
    level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """What can be said, one row a quantity; exactly one of `release`, `released` and `rehearsal`.

    Parameters
    ----------
    release : a published naive Bayes model or Bayesian network.
    released : a distribution drawn by the Dirichlet mechanism.
    total : records whose counts it was drawn from.
    names : of its categories.
    rehearsal : made-up ``counts`` (one Dirichlet release is drawn and analysed) or made-up records ``csv``.
    epsilon, order : of Algorithm 1.
    r, alpha : of another calibration.
    prior : Dirichlet(prior, .., prior) law of the probabilities.
    level : of the intervals.
    rng : of rehearsals.

    Returns
    -------
    DataFrame
        quantity, mean, sd, lower, upper, level, status, note, then what identifies the quantity.
    """
    if isinstance(release, Published):
        return released_model.table(release, prior=prior, level=level)
    r, alpha, words = _calibration(epsilon, order, r, alpha)
    if released is not None and total is not None:
        how = Mechanism(law="dirichlet", r=r, alpha=alpha, words=words)
        return _histogram(np.asarray(released, dtype=float), total, names, how, prior, level)
    if rehearsal is None:
        raise ValueError("a scenario needs one of release, released with total, or rehearsal")
    if "counts" in rehearsal:
        counts = np.asarray(rehearsal["counts"], dtype=float)
        drawn = rng.standard_gamma(r * counts + alpha)
        how = Mechanism(law="dirichlet", r=r, alpha=alpha, words=f"{rehearsals.NOTE}; {words}")
        return _histogram(drawn / drawn.sum(), int(counts.sum()), names, how, prior, level)
    data = rehearsals.read(rehearsal["csv"], target=rehearsal["target"], numeric=rehearsal["numeric"])
    design = {key: rehearsal[key] for key in ("epsilons", "repeats", "bins", "floor", "mechanisms", "network")}
    return rehearsals.scores(data, Design(order=rehearsal["order"], **design), level=level, rng=rng)


def _calibration(
    epsilon: float | None, order: float | None, r: float | None, alpha: float | None
) -> tuple[float, float, str]:
    """r, alpha, and in words how they were chosen and what they cost."""
    if epsilon is not None and order is not None:
        r, alpha = dirichlet.calibrate(epsilon, order=order)
        cost = f"Algorithm 1: Rényi cost {epsilon:g} at order {order:g}"
    else:
        cost = "chosen by whoever released it"
    if r is None or alpha is None:
        return np.nan, np.nan, ""
    return r, alpha, f"Dirichlet mechanism, y ~ Dirichlet(r f + alpha) with r = {r:.5g}, alpha = {alpha:.5g}; {cost}"


def _histogram(
    released: np.ndarray,
    total: int,
    names: Sequence[str] | None,
    how: Mechanism,
    prior: float,
    level: float,
) -> pd.DataFrame:
    released = released / released.sum()
    named = list(names) if names else [f"{k + 1}" for k in range(len(released))]
    found = released_histogram.summary(
        [f"P({name})" for name in named],
        released,
        total=total,
        public=True,
        mechanism=how,
        prior=prior,
        level=level,
    )
    note = (
        f"{how.words}; neighbours replace a record; {total} records (public); prior Dirichlet({prior:g}), which "
        f"weighs as much as {prior * len(released):g} records"
    )
    return found.assign(note=note, node="", given="", category=named, released=released)
