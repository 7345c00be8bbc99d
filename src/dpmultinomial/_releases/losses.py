"""Privacy loss distributions of releases, and the epsilon that these distributions imply at a given delta.

A budget adds the stated epsilon or rho of its releases. The loss distribution of the noise gives a smaller epsilon at a
delta > 0 (`_accounting.loss_composition`), which a record and a plan state for the single release. If a record was
written elsewhere, this epsilon is computed again from the noise and the cost that the record states (`opened`).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._accounting import loss_composition
from .._accounting.privacy_loss import DirichletLoss, DiscreteLaplaceLoss, Mechanism, PureLoss
from .._files import table_columns
from .._files.places import FileFault
from .._files.published import RECORD, Published, open_release
from .._mechanisms.gaussian import DiscreteGaussian
from .._mechanisms.laplace import DiscreteLaplace
from ._keys import COUNTS, LARGEST_EPSILON, MODELS
from .spending import REPLACE, Cost, epsilon_at

DELTA = 1e-6  # delta at which an epsilon is stated if neither the release nor its budget has a delta
Losses = tuple[Mechanism, ...]
_LARGEST_WEIGHT, _LARGEST_ALPHA = 1e3, 2e4  # of a Dirichlet mechanism whose loss distribution needs at most 0.5 GB


def of_counts(mechanism: str, scale: float, *, change: int, relation: str) -> Losses | None:
    """Return the privacy losses of a release of noisy counts of disjoint groups of records.

    Parameters
    ----------
    mechanism : ``"discrete_laplace"`` or ``"discrete_gaussian"``.
    scale : parameter of the noise.
    change : L1 norm, or squared L2 norm, of the changes of the counts. If the norm is 2 for replaced records or 1 for
        added records, one count increases by 1, or one increases and one decreases. For other norms, all splits into
        integers are possible.
    relation : which data sets are neighbours.

    Returns
    -------
    tuple of mechanisms, or None : None if the norm has too many splits, or if it has several splits and a rho above 20,
        for which the sum of the losses takes minutes.
    """
    usual = change == (2 if relation == REPLACE else 1)
    if not usual and mechanism == "discrete_gaussian" and change / scale / scale / 2 > LARGEST_EPSILON:
        return None
    if mechanism == "discrete_laplace":
        return DiscreteLaplace(scale=scale).cost(relation, sensitivity=None if usual else change).mechanisms
    norm = None if usual else math.sqrt(change)
    return DiscreteGaussian(sigma=scale).cost(relation, sensitivity=norm).mechanisms


def of_levels(mechanism: str, scales: Sequence[float], *, change: int, relation: str) -> Losses | None:
    """Return the privacy losses of the noisy counts at all levels of a tree, or None if the losses of a level are not
    known.

    Parameters
    ----------
    mechanism : mechanism of the noise, as in `of_counts`.
    scales : parameter of the noise, one per level.
    change : norm of the changes that one record makes on each level, as in `of_counts`.
    relation : relation of two neighbouring files.

    Returns
    -------
    Losses or None
        One or more losses per level; None if the losses of a level are not known.
    """
    parts = [of_counts(mechanism, scale, change=change, relation=relation) for scale in scales]
    known = [part for part in parts if part is not None]
    return tuple(one for part in known for one in part) if len(known) == len(parts) else None


def of_additive_counts(scale: float) -> Losses:
    """Return the privacy losses of a release of counts that sum to a total. One record changes the total and one
    component by 1 each.
    """
    return (DiscreteLaplaceLoss(scale, 1),) * 2


def of_shares(r: float, alpha: float, *, tables: int) -> Losses | None:
    """Return the privacy losses of a model with Dirichlet noise.

    Parameters
    ----------
    r, alpha : parameters of the Dirichlet mechanism.
    tables : number of tables of the model.

    Returns
    -------
    losses or None
        One distribution per table. None if the distribution is too large for the memory.
    """
    return (DirichletLoss(r, alpha),) * tables if r <= _LARGEST_WEIGHT and 1 <= alpha <= _LARGEST_ALPHA else None


def at_delta(cost: Cost, losses: Losses | None, *, delta: float) -> dict[str, float | str]:
    """Return the smallest known epsilon of one release at a given delta, in the format of the release's record.

    Parameters
    ----------
    cost : stated cost.
    losses : mechanisms of the release, or None.
    delta : in (0, 1).

    Returns
    -------
    dict
        The keys are epsilon, rounded upwards; delta; and method, ``"loss distributions"`` or ``"conversion"`` of the
        cost.
    """
    converted = epsilon_at([cost], delta=delta)
    tight = loss_composition.epsilon(Counter(losses), delta) if losses else math.inf
    method = "loss distributions" if tight < converted else "conversion"
    return {"epsilon": min(tight, converted), "delta": delta, "method": method}


_ROUNDED = 1 - 1e-6  # for records written with other versions of NumPy, whose transforms have other rounding errors


def opened(folder: Path) -> Published:
    """Open a published release, and check the epsilon that its record states at a given delta.

    Parameters
    ----------
    folder : ``releases/<name>/<generation>``.

    Returns
    -------
    Published

    Raises
    ------
    FileNotFoundError, FileFault
        As in `published.open_release`, and if the stated epsilon is smaller than the epsilon that follows from the
        noise and the cost in the record.
    """
    release = open_release(folder)
    record: Any = release.record
    if (stated := record.get("epsilon_at_delta")) is None:  # a record of version 0.2
        return release
    cost = {key: value for key, value in record["cost"].items() if key != "relation"}
    try:
        whole = Cost(relation=record["cost"]["relation"], **cost)
        found = at_delta(whole, of_record(record), delta=stated["delta"])["epsilon"]
    except (ValueError, TypeError, ArithmeticError) as error:
        raise FileFault(f"{folder / RECORD}: epsilon_at_delta cannot be computed from the record ({error})") from None
    if not stated["epsilon"] >= float(found) * _ROUNDED:
        raise FileFault(
            f"{folder / RECORD}: epsilon_at_delta must be >= {float(found):.12g} at delta {stated['delta']:g}, "
            f"according to the noise and the cost in the record, got {stated['epsilon']:.12g}: ask the author of the "
            "release for the original record"
        )
    return release


def of_record(record: Mapping[str, Any]) -> Losses | None:
    """Return the privacy losses of a release, computed from the mechanism and the parameters in its record.

    Parameters
    ----------
    record : checked record (`published.parsed`).

    Returns
    -------
    tuple of mechanisms, or None if the losses are not known, as for data swapping
    """
    mechanism, relation = str(record["mechanism"]), str(record["cost"]["relation"])
    if table_columns.is_of(record):
        scales = list(record["scale"].values())
        return of_levels(mechanism, scales, change=record["change_of_a_level"], relation=relation)
    if mechanism in COUNTS:
        if mechanism == "additive_counts":
            return of_additive_counts(record["scale"])
        return of_counts(mechanism, record["scale"], change=record["sensitivity"], relation=relation)
    if mechanism == "censored_statistics":
        return tuple(PureLoss(epsilon) for epsilon in record["epsilon_of_each"].values())
    if mechanism not in MODELS:
        return None
    tables = len(record["network"])
    if "r" in record:
        return of_shares(record["r"], record["alpha"], tables=tables)
    law = str(record["law"]).lower().replace(" ", "_")
    one_table = of_counts(law, record["scale"], change=2, relation=REPLACE)
    return one_table and one_table * tables
