"""Releases of counts with discrete Laplace or discrete Gaussian noise from exact samplers, and releases of counts that
sum to a total.

The total of counts is public, except for trees: a file with a column ``parent`` is a tree (`_tree_counts`). With a
public total, neighbouring files differ by replacing a record: one count decreases by one and another increases by one,
an L1 change of 2 and a squared L2 change of 2. The cost applies to all counts jointly.

Additive counts follow the four algorithms of Wang (2020), section 3.1, with untruncated discrete Laplace noise. The
total and every component get noise of scale 1/epsilon, and one person changes both. A release therefore has a pure cost
of 2 epsilon; there is no delta, because the noise is not truncated. Later draws of the algorithms are post-processing,
from a stream whose key is discarded.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._files.csv_table import Cell, CsvTable
from .._mechanisms import additive_release
from .._printing import steps
from . import _keys, _noise, _tree_counts, losses
from ._keys import TREE_KEYS
from ._places import Refused
from .spending import ADD_OR_REMOVE, REPLACE, Cost, Drawn, Plan, csv_bytes

COLUMNS = ("category", "count")


def laplace(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan a release with discrete Laplace noise of scale sensitivity/epsilon on every count.

    Parameters
    ----------
    settings : checked and completed keys (`keys.KEYS`): epsilon, sensitivity; for a tree, also the keys for trees.
    table : table with columns category, count; for a tree also parent.

    Raises
    ------
    ValueError
        If the file has other columns, repeated or empty categories, or counts that are not integers >= 0.
    """
    names, counts = read(table, tree=_is_tree(settings, table))
    if _is_tree(settings, table):
        return _tree_counts.release(settings, table, names, counts)
    sensitivity = int(settings["sensitivity"])
    scale = _noise.laplace_scale(settings["epsilon"], sensitivity=sensitivity)
    cost = Cost(relation=REPLACE, epsilon=_noise.laplace_epsilon(scale, sensitivity=sensitivity))
    return _plan(names, counts, "discrete Laplace", scale, sensitivity, cost, _noise.discrete_laplace)


def gaussian(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan a release with discrete Gaussian noise of scale sqrt(sensitivity/(2 rho)) on every count. Here,
    `sensitivity` is the squared L2 sensitivity.
    """
    names, counts = read(table, tree=_is_tree(settings, table))
    if _is_tree(settings, table):
        return _tree_counts.release(settings, table, names, counts)
    sensitivity = int(settings["sensitivity"])
    scale = _noise.gaussian_scale(settings["rho"], l2_squared=sensitivity)
    cost = Cost(relation=REPLACE, rho=_noise.gaussian_rho(scale, l2_squared=sensitivity))
    return _plan(names, counts, "discrete Gaussian", scale, sensitivity, cost, _noise.discrete_gaussian)


def read(table: CsvTable, *, tree: bool = False) -> tuple[list[str], NDArray[np.int64]]:
    """Return the categories and the counts in a file of counts. The file must have the columns category and count and
    at least two rows.

    The order of the rows is confidential: a file that is sorted by count reveals the ranking of its counts. The
    categories are therefore sorted by name. The function `_tree_counts.release` sorts the nodes of a tree.

    Parameters
    ----------
    table : file of counts.
    tree : whether the file also has a column parent, which this function does not read; the nodes stay in the order of
        the file.

    Returns
    -------
    names, counts : list of str, int64 (rows,).

    Raises
    ------
    ValueError
        If the file has other columns. Also if a category is empty, looks like another category or contains control
        characters, or if a count is not an integer in [0, 2^53/rows]; the message lists all such lines.
    """
    wanted = _tree_counts.COLUMNS if tree else COLUMNS
    if sorted(table.columns) != sorted(wanted):
        missing = [column for column in wanted if column not in table.columns]
        others = len(table.columns) - len(wanted) + len(missing)
        raise Refused(
            f"{table.name}: the columns must be exactly {', '.join(wanted)} (missing columns: "
            f"{', '.join(missing) or 'none'}; number of other columns: {others}): correct the header"
        )
    if len(table) < 2:
        raise Refused(f"{table.name}: the file must contain at least two categories, got {len(table)}")
    names = table.texts("category")
    most = _noise.LARGEST // len(table)
    table.refuse_all([*_wrong_names(table, names), *table.wrong_cells("count", "whole", least=0, most=most)])
    counts = table.whole("count", least=0, most=most)
    if tree:
        return names, counts
    by_name = sorted(range(len(names)), key=names.__getitem__)
    return [names[k] for k in by_name], counts[by_name]


def _wrong_names(table: CsvTable, names: list[str]) -> Iterator[Cell]:
    """Yield the cells whose category is empty, contains control characters or looks the same as an earlier category."""
    seen: dict[str, int] = {}
    for record, category in steps(enumerate(names), len(names), "checked names"):
        looks = _keys.shown_name(category)
        if not looks:
            yield "category", record, "must not be empty", category
        elif looks in seen:
            more = "" if names[seen[looks]] == category else f" by more than {_keys.UNSEEN}"
            yield (
                "category",
                record,
                f"must differ from the category in line {table.lines[seen[looks]]}{more}",
                category,
            )
        elif _keys.has_controls(category):
            yield "category", record, "must not contain control characters", category
        else:
            seen[looks] = record


def _is_tree(settings: Mapping[str, Any], table: CsvTable) -> bool:
    """Return whether a file of counts describes a tree. For any other file, settings that apply only to trees are
    rejected.
    """
    if "parent" in table.columns:
        return True
    asked = [key for key in TREE_KEYS if settings[key] and settings[key] != REPLACE]
    if asked:
        raise Refused(
            f"{asked[0]} may be given only for a tree of counts, but {table.name} has no column 'parent': omit "
            f"{asked[0]}"
        )
    return False


def _plan(
    names: list[str],
    counts: NDArray[np.int64],
    law: str,
    scale: float,
    sensitivity: int,
    cost: Cost,
    draw: Callable[..., NDArray[np.int64]],
) -> Plan:
    facts = {
        "law": law,
        "scale": scale,
        "step": 1,
        "sensitivity": sensitivity,
        "sensitivity_norm": "L1" if law == "discrete Laplace" else "squared L2",
        "total": int(counts.sum()),
        "categories": len(names),
        "hardened": True,
    }

    def drawn() -> Drawn:
        released = draw(counts, scale=scale).tolist()
        return Drawn(data=csv_bytes(COLUMNS, zip(names, released, strict=True)))

    mechanism = law.lower().replace(" ", "_")
    known = losses.of_counts(mechanism, scale, change=sensitivity, relation=cost.relation)
    return Plan(cost=cost, facts=facts, draw=drawn, losses=known)


LARGEST_TOTAL = 4 * 10**8
LARGEST_SUMMED_SCALE = 200.0  # limit for algorithm 1-summed, whose computing time grows with the square of the scale


def additive(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan a release of counts that sum to a total, from a file of counts.

    Parameters
    ----------
    settings : checked and completed keys: epsilon (of each noisy count), algorithm.
    table : columns category, count.

    Raises
    ------
    Rejected, FileFault
        If the counts, including noise, could exceed 4e8 in total, or the file breaks a rule of `_counts.read`.
    """
    names, counts = read(table)
    scale = _noise.laplace_scale(settings["epsilon"], sensitivity=1)
    if int(counts.sum()) + 60 * scale * (len(counts) + 1) > LARGEST_TOTAL:
        raise Refused(
            f"{table.name}: the sum of the counts and their noise must be below {LARGEST_TOTAL:,}: use fewer counts, "
            "or a larger epsilon"
        )
    algorithm = str(settings["algorithm"])
    if algorithm == "1-summed" and scale > LARGEST_SUMMED_SCALE:
        raise Refused(
            f"epsilon must be >= {1 / LARGEST_SUMMED_SCALE:g} for algorithm '1-summed', got {settings['epsilon']}"
        )
    facts = {
        "law": "discrete Laplace",
        "support": "all integers",
        "scale": scale,
        "step": 1,
        "epsilon_of_each_count": float(settings["epsilon"]),
        "sensitivity": 2,
        "sensitivity_norm": "L1",
        "algorithm": algorithm,
        "ties": "random",
        "categories": len(names),
        "hardened": True,
    }

    def drawn() -> Drawn:
        noisy = _noise.discrete_laplace(np.append(counts, counts.sum()), scale=scale)
        released = arranged(noisy[:-1], int(noisy[-1]), scale=scale, algorithm=algorithm, rng=_noise.private_stream())
        return Drawn(data=csv_bytes(COLUMNS, zip(names, released.tolist(), strict=True)))

    cost = Cost(relation=ADD_OR_REMOVE, epsilon=_noise.laplace_epsilon(scale, sensitivity=2))
    return Plan(cost=cost, facts=facts, draw=drawn, losses=losses.of_additive_counts(scale))


def arranged(
    noisy: NDArray[np.int64], total: int, *, scale: float, algorithm: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Compute non-negative counts by post-processing noisy counts and their noisy total.

    Parameters
    ----------
    noisy : int64 (S,), noisy components.
    total : the noisy total.
    scale : scale of the noise.
    algorithm : ``"1-independent"``: components and total are posterior draws given their noisy values, at least 0,
        followed by a multinomial draw; ``"1-summed"``: in addition, the total is conditional on the sum of the noisy
        components; ``"2"``: noisy values clipped at 0, followed by a multinomial draw; ``"3"``: a mode of that
        distribution, with random ties.
    rng : numpy Generator.

    Returns
    -------
    int64 (S,), >= 0. If all weights are 0, the components have equal shares.
    """
    weights, size = np.maximum(noisy, 0), max(total, 0)
    if algorithm.startswith("1"):
        weights = noisy + conditioned(-noisy, scale=scale, rng=rng)
        if algorithm == "1-independent":
            size = total + int(conditioned(np.array([-total]), scale=scale, rng=rng)[0])
        else:
            size = summed_total(total, int(noisy.sum()), len(noisy), scale=scale, rng=rng)
    if not weights.any():
        weights = np.ones_like(weights)
    if algorithm == "3":
        modes = additive_release.modes(np.array([size]), weights[None], ties="random", rng=rng)
        return np.asarray(modes[0], dtype=np.int64)
    counts: NDArray[np.int64] = rng.multinomial(size, weights / weights.sum())
    return counts


def conditioned(least: NDArray[np.int64], *, scale: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw discrete Laplace noise d conditional on d >= least, as an int64 array of shape (n,).

    If least >= 0, the distribution is memoryless: least plus a geometric draw. Otherwise, d >= 0 has the mass 1 and
    d < 0 the mass q - q^(m+1), up to a constant, with q = exp(-1/scale) and m = -least. Both sides are drawn by
    inversion of a geometric distribution, which is truncated at m on the lower side.

    Parameters
    ----------
    least : int64 (n,).
    scale : > 0.
    rng : numpy Generator.

    Returns
    -------
    int64 (n,)
    """
    m = np.maximum(-least, 0).astype(float)
    reach = -np.expm1(-m / scale)  # 1 - q^m
    below = np.exp(-1 / scale) * reach
    u = rng.random(len(least))
    negative = rng.random(len(least)) * (1 + below) < below
    up = np.floor(-scale * np.log1p(-u))
    down = np.minimum(np.floor(-scale * np.log1p(-u * reach)) + 1, np.maximum(m, 1))
    noise: NDArray[np.int64] = (np.maximum(least, 0) + np.where(negative, -down, up)).astype(np.int64)
    return noise


def summed_total(total: int, summed: int, size: int, *, scale: float, rng: np.random.Generator) -> int:
    """Draw a total M >= 0 by equation 6 of Wang (2020). The probability of M is proportional to exp(-|M - total|/scale)
    P(sum of `size` noise terms = summed - M).

    The sum is a difference of two negative binomial variables, and its distribution is summed term by term. M is
    searched within 40 scales of `total` and of `summed` (the neglected mass is below 1e-16).

    Parameters
    ----------
    total, summed : noisy total, and sum of the noisy components.
    size : number of components.
    scale : > 0.
    rng : numpy Generator.

    Returns
    -------
    int
    """
    reach = int(np.ceil(40 * scale))
    candidates = np.arange(max(min(total, summed) - reach, 0), max(total, summed, 0) + reach + 1)
    logs = -np.abs(candidates - total) / scale + summed_law(np.abs(summed - candidates), size, scale)
    weights = np.exp(logs - logs.max())
    return int(rng.choice(candidates, p=weights / weights.sum()))


def summed_law(values: NDArray[np.int64], size: int, scale: float) -> NDArray[np.float64]:
    """Return log probabilities, up to a constant, of the sum of `size` independent discrete Laplace variables at
    `values` >= 0.

    P(d) = sum_j NB(j + d) NB(j), NB(j) = C(j + size - 1, j) q^j. All terms are positive. The cost is O(values x terms),
    where the terms cover 12 standard deviations and 40 scales of the negative binomial distribution.

    Parameters
    ----------
    values : int64 (n,), >= 0.
    size : number of summands, >= 1.
    scale : > 0.

    Returns
    -------
    float64 (n,)
    """
    most = int(np.ceil(size * scale + 12 * np.sqrt(size) * scale + 40 * scale)) + 1
    distinct, back = np.unique(values, return_inverse=True)
    j = np.arange(most + int(distinct.max(initial=0)) + 1, dtype=float)
    law = gammaln(j + size) - gammaln(j + 1) - j / scale
    log_probabilities = np.empty(len(distinct))
    for i, d in enumerate(distinct.tolist()):
        both = law[:most] + law[d : d + most]
        peak = both.max()
        log_probabilities[i] = peak + np.log(np.exp(both - peak).sum())
    return log_probabilities[back]
