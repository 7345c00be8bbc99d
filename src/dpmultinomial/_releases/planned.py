"""Noise and cost of a release, computed from its public settings before any confidential file is opened.

For each quantity that a release publishes with independent noise, the module computes the scale of the noise, and the
distance that separates the published value from the true value at most, with a given probability. For a tree with a
public shape, it also computes the mean width of least-squares intervals by level, which use all measurements jointly
and no prior.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from .._accounting.privacy_loss import PureLoss
from .._files.table_columns import Hierarchy
from .._mechanisms import dirichlet
from .._mechanisms.gaussian import DiscreteGaussian
from .._mechanisms.sufficient_statistics import STATISTICS
from . import _budget_records, _statistics, _tree_counts, losses
from ._keys import MODELS, PARAMETERS, TREE_KEYS
from .spending import ADD_OR_REMOVE, REPLACE, Cost, beyond, by_settings

COLUMNS = ("quantity", "nodes", "share", "scale", "half_width", "least_squares")
NOISY_TOTAL = "noisy total"
NO_COST = "the cost of a swap depends on the confidential file"


def widths(settings: Mapping[str, Any], *, level: float, shape: Hierarchy | None = None) -> pd.DataFrame:
    """Return a table that describes the noise on every published quantity of a release.

    Parameters
    ----------
    settings : checked and filled settings of a release (`checks.filled`).
    level : probability, in (0, 1).
    shape : shape of a tree of counts; required if the settings have `narrow`.

    Returns
    -------
    DataFrame
        The columns are `COLUMNS`. quantity: a level of a tree, ``noisy total``, ``each count``, a statistic, or ``each
        cell``; nodes: number of nodes of a level; share: part of the budget; scale: parameter of the noise, 0 for a
        count that is published exactly; half_width: smallest distance that the noise exceeds with probability at most 1
        - level; least_squares: mean half-width of least-squares intervals. NaN if a number does not apply: swapped
        records and the Dirichlet mechanism do not have additive noise.

    Raises
    ------
    ValueError
        If the shape is missing, or does not have the named levels.
    """
    mechanism = settings["mechanism"]
    if mechanism in PARAMETERS and any(settings.get(key) not in (None, REPLACE) for key in TREE_KEYS):
        rows = _of_tree(settings, level, shape)
    elif mechanism in PARAMETERS:
        scale = _scale(mechanism, settings[PARAMETERS[mechanism]], int(settings["sensitivity"]))
        rows = iter([("each count", np.nan, 1.0, scale, half_width(mechanism, scale, level), np.nan)])
    elif mechanism == "additive_counts":
        scale = 1 / settings["epsilon"]
        near = half_width("discrete_laplace", scale, level)
        rows = iter([(name, np.nan, 0.5, scale, near, np.nan) for name in (NOISY_TOTAL, "each noisy count")])
    elif mechanism == "censored_statistics":
        rows = _of_statistics(settings, level)
    elif mechanism in MODELS:
        rows = _of_model(settings, level)
    else:
        rows = iter([("selected records", np.nan, np.nan, np.nan, np.nan, np.nan)])
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def half_width(law: str, scale: float, level: float) -> float:
    """Return the smallest integer h with P(|noise| > h) <= 1 - level.

    Parameters
    ----------
    law : ``"discrete_laplace"`` or ``"discrete_gaussian"``.
    scale : parameter of the distribution, > 0.
    level : in (0, 1).

    Returns
    -------
    float
    """
    if law == "discrete_laplace":  # P(|D| > h) = 2 a^(h + 1)/(1 + a)
        a = math.exp(-1 / scale)
        return float(max(0, math.ceil(scale * math.log(2 / ((1 - level) * (1 + a))) - 1 - 1e-9)))
    noise = DiscreteGaussian(sigma=scale)
    h = max(0, math.floor(float(ndtri((1 + level) / 2)) * scale) - 2)
    while float(noise.log_within(-h, h, scale)) < math.log(level):
        h += 1
    return float(h)


def spent(root: Path, *sources: str) -> list[Cost]:
    """Return the privacy costs of earlier releases from given sources, as listed in the public ledger below `root`."""
    ledger = _budget_records.Ledger(root / _budget_records.FOLDER / "ledger.tsv")
    return _budget_records.costs(_budget_records.read(ledger), *sources)


def costs(settings: Mapping[str, Any], ceiling: Mapping[str, float], spent: Sequence[Cost]) -> tuple[Cost | None, str]:
    """Return the privacy cost of a release, and a sentence about the budget of its source. The sentence states whether
    the budget covers this cost in addition to the costs of earlier releases.

    Parameters
    ----------
    settings : checked and filled settings.
    ceiling : budget of the source; may be empty.
    spent : costs of the earlier releases of the source.

    Returns
    -------
    (Cost, str)
        The cost is None for a swap. The string is ``yes``, ``no budget``, or the reason why the release would be
        rejected.
    """
    cost = by_settings(settings, tolerance=0.0)
    if cost is None:
        return None, NO_COST
    return cost, (beyond([*spent, cost], ceiling) or "yes") if ceiling else "no budget"


def known_losses(settings: Mapping[str, Any], scales: Sequence[float]) -> losses.Losses | None:
    """Return the privacy losses of a release according to its settings.

    Parameters
    ----------
    settings : checked and filled settings.
    scales : planned scales of the noise of the measured quantities; for a tree, one per level.

    Returns
    -------
    tuple of mechanisms, or None if the losses are not known, as for data swapping
    """
    mechanism = settings["mechanism"]
    if mechanism == "additive_counts":
        return losses.of_additive_counts(scales[0])
    if mechanism == "censored_statistics":
        names = settings["shares"] or dict.fromkeys(STATISTICS, 1 / len(STATISTICS))
        return tuple(PureLoss(settings["epsilon"] * share) for share in names.values())
    if mechanism in PARAMETERS:
        public = settings["relation"] == REPLACE
        tree = any(settings.get(key) for key in TREE_KEYS)
        change = _tree_counts.changed(int(settings["sensitivity"]), public=public or not tree)
        return losses.of_levels(
            mechanism, scales, change=change, relation=ADD_OR_REMOVE if tree and not public else REPLACE
        )
    if mechanism not in MODELS:
        return None
    tables = _statistics.tables(mechanism, settings)
    if settings["noise"] == "dirichlet":
        r, alpha = dirichlet.calibrate(settings["epsilon"] / tables, order=float(settings["order"]))
        return losses.of_shares(r, alpha, tables=tables)
    one_table = losses.of_counts(settings["noise"], scales[0], change=2, relation=REPLACE)
    return one_table and one_table * tables


Row = tuple[str, float, float, float, float, float]


def _of_tree(settings: Mapping[str, Any], level: float, shape: Hierarchy | None) -> Iterator[Row]:
    """Yield one row of the noise table for each level of a tree, starting with the root."""
    mechanism, public = settings["mechanism"], settings["relation"] == REPLACE
    levels = settings["levels"]
    if not levels:
        raise ValueError(
            "levels is required to plan the release of a tree: list the names of the levels, beginning with the root. "
            f"For a file without a column parent, omit {', '.join(key for key in TREE_KEYS if settings.get(key))}"
        )
    if shape is not None and len(shape.sizes) != len(levels):
        raise ValueError(
            f"levels must contain one name per level of the tree that shape describes ({len(shape.sizes)} levels), "
            f"got {len(levels)} names"
        )
    if settings["narrow"] and shape is None:
        raise ValueError(
            "shape is required if narrow is given, because the shares then depend on the shape of the tree: pass a "
            "public file with this shape"
        )
    measured = len(levels) - public
    shares = (
        _tree_counts.shares_of(settings, shape, levels)
        if shape is not None
        else [settings["shares"][name] for name in levels[public:]]
        if settings["shares"]
        else _tree_counts.equal(measured)
    )
    change = _tree_counts.changed(int(settings["sensitivity"]), public=public)
    wanted = settings[PARAMETERS[mechanism]]
    scales = [0.0] * public + [_scale(mechanism, wanted * share, change) for share in shares]
    nodes = shape.sizes if shape is not None else [np.nan] * len(levels)
    squares = _least_squares(mechanism, scales, level, shape)
    for row in zip(levels, nodes, [0.0] * public + list(shares), scales, squares, strict=True):
        name, size, share, scale, least = row
        yield name, size, share, scale, half_width(mechanism, scale, level) if scale else 0.0, least


def _least_squares(mechanism: str, scales: Sequence[float], level: float, shape: Hierarchy | None) -> list[float]:
    """Return, for each level of a tree, the mean half-width of the normal intervals around the least-squares estimates.
    The value is NaN if the shape of the tree is not known.
    """
    if shape is None:
        return [math.nan] * len(scales)
    from .._mechanisms.laplace import DiscreteLaplace
    from .._posteriors.trees.least_squares import LeastSquares
    from .._posteriors.trees.tree import Tree

    laplace = mechanism == "discrete_laplace"
    variances = [
        0.0
        if not s
        else float(np.asarray((DiscreteLaplace(scale=s) if laplace else DiscreteGaussian(sigma=s)).variance()))
        for s in scales
    ]
    depth = np.array(shape.depth)
    tree, nodes = Tree(np.array(shape.parent, dtype=np.int64)), np.arange(len(depth))
    sd = LeastSquares(tree, nodes, np.zeros(len(depth)), np.array(variances)[depth]).sd
    z = float(ndtri((1 + level) / 2))
    return [z * float(sd[depth == d].mean()) for d in range(len(scales))]


def _of_statistics(settings: Mapping[str, Any], level: float) -> Iterator[Row]:
    """Yield the rows of the noise table for a censored sample, with one row per released statistic. The sensitivity of
    the sum of squares is the limit for many records.
    """
    derived = _statistics.sensitivities(float(settings["upper"]) - float(settings["lower"]), _statistics.MOST_RECORDS)
    shares = settings["shares"] or dict.fromkeys(derived, 1 / len(derived))
    for name, sensitivity in derived.items():
        wanted = max(sensitivity, float(settings["sensitivities"].get(name, 0.0)))
        step, units = _statistics.units_of(wanted, settings["epsilon"] * shares[name])
        scale = step * units / (settings["epsilon"] * shares[name])
        yield name, np.nan, shares[name], scale, scale * math.log(1 / (1 - level)), np.nan


def _of_model(settings: Mapping[str, Any], level: float) -> Iterator[Row]:
    """Yield the only row of the noise table for a model. The row applies to every cell of the model's tables."""
    tables = _statistics.tables(settings["mechanism"], settings)
    if settings["noise"] == "dirichlet":
        yield "each cell", np.nan, 1 / tables, np.nan, np.nan, np.nan
        return
    law = settings["noise"]
    scale = _scale(law, settings[PARAMETERS[law]], 2 * tables)
    yield "each cell", np.nan, 1 / tables, scale, half_width(law, scale, level), np.nan


def _scale(law: str, budget: float, change: int) -> float:
    """Return the noise parameter at which the privacy cost has a given value."""
    return change / budget if law == "discrete_laplace" else math.sqrt(change / budget / 2)
