"""Functions that return the rows of the agreement table of a paper (``agreement.ours``). Each row is a number, a claim
with its relation, a test of a distribution with its minimum detectable effect, or a statement that was not run.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
OURS = (
    *("artefact", "quantity", "variant", "ours", "mc_se", "note"),
    *("left", "relation", "right", "rounding"),  # columns of the row of a claim
    "sees",  # columns of the row of a law
)
RELATIONS = ("<", "<=", "=", ">=", ">")
NOT_RUN = "not_run"
_STRICT = ("<", ">")


def computed(
    artefact: str, quantity: str, value: float, note: str = "", variant: str = "corrected", mc_se: float = 0.0
) -> dict[str, Any]:
    """Return the row of the agreement table for one computed number or computing time.

    Parameters
    ----------
    artefact, quantity : as in ``published.tsv``.
    value : our value.
    note : remark for the reader in complete sentences; if the statement differs, it gives the reason.
    variant : variant of the method under which the number was computed.
    mc_se : standard error of the difference from the printed number, including the error of the printed number.

    Returns
    -------
    dict with the keys `OURS`.
    """
    return _row(artefact, quantity, variant, value, mc_se, note)


def claim(
    artefact: str,
    quantity: str,
    left: ArrayLike,
    relation: str,
    right: ArrayLike,
    note: str = "",
    variant: str = "corrected",
    mc_se: ArrayLike = 0.0,
    *,
    rounding: float = 0.0,
) -> dict[str, Any]:
    """Return the row of the agreement table for a claim about the relation between two numbers. The entry `ours` is the
    margin by which the claim holds (see `margin`).

    Parameters
    ----------
    artefact, quantity, note, variant : as in `computed`.
    left, relation, right : the two numbers and their relation, which is one of `RELATIONS`. For arrays, the relation
        must hold for every pair. The row shows the pair with the smallest margin, and a pair with a NaN is treated as
        the smallest.
    mc_se : standard error of left - right, either for each pair or for all pairs.
    rounding : tolerance for rounding, at least 0. The relations ``=``, ``<=`` and ``>=`` may be violated by at most
        this amount; for ``<`` and ``>``, the difference must exceed it.

    Raises
    ------
    ValueError
        If the relation is unknown, `rounding` is negative or not finite, or the arrays are empty.
    """
    if relation not in RELATIONS:
        raise ValueError(f"{artefact}: {quantity}: relation must be one of {' '.join(RELATIONS)}, got {relation!r}")
    if not 0 <= rounding < np.inf:
        raise ValueError(f"{artefact}: {quantity}: rounding must be finite and >= 0, got {rounding!r}")
    pairs = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (left, right, mc_se)))
    lefts, rights, errors = (np.atleast_1d(x).ravel() for x in pairs)
    if not len(lefts):
        raise ValueError(
            f"{artefact}: {quantity}: the relation {relation} requires at least one pair of numbers, got "
            "none: call not_run if no numbers are available"
        )
    with np.errstate(invalid="ignore"):  # inf - inf is undefined, so the margin is NaN
        margins = margin(lefts, relation, rights, rounding)
    worst = int(np.argmin(margins))
    stated = (float(lefts[worst]), relation, float(rights[worst]), float(rounding))
    return _row(artefact, quantity, variant, margins[worst], errors[worst], note, stated)


def law(
    artefact: str, quantity: str, p_value: float, note: str = "", variant: str = "corrected", *, sees: str
) -> dict[str, Any]:
    """Return the row of the agreement table for a test of draws or counts against their exact distribution.

    Parameters
    ----------
    artefact, quantity, note, variant : as in `computed`.
    p_value : p-value of the test.
    sees : minimum detectable effect, which states the smallest errors that the test rejects with probability 0.9 as
        changes of parameters, such as ``noise scale by 1.8 %`` (`power.words`).

    Raises
    ------
    ValueError
        If `sees` is empty.
    """
    if not sees:
        raise ValueError(
            f"{artefact}: {quantity}: a row of the kind 'law' must state the minimum detectable effect of its test, "
            f"for example 'noise scale by 2 %', got {sees!r}"
        )
    return _row(artefact, quantity, variant, p_value, 0.0, note, sees=sees)


def not_run(artefact: str, quantity: str, reason: str) -> dict[str, Any]:
    """Return the row of the agreement table for a statement that was not computed in the run. A NaN without such a row
    counts as a number that differs.
    """
    return _row(artefact, quantity, NOT_RUN, np.nan, 0.0, reason)


def margin(left: Array, relation: str, right: Array, rounding: float) -> Array:
    """Return the margin by which a claim holds. The margin is positive if the claim holds, negative if it fails, and
    NaN if a number is missing.

    The margin is right - left for ``<`` and ``<=``, left - right for ``>`` and ``>=``, and -abs(left - right) for
    ``=``. The tolerance `rounding` is added, or subtracted for a strict relation.
    """
    apart = right - left if relation in ("<", "<=") else left - right if relation in (">", ">=") else -abs(left - right)
    return apart - rounding if relation in _STRICT else apart + rounding


def holds(value: float, relation: str) -> bool:
    """Return whether a claim holds, given the relation of the claim and a margin without random error. A margin of 0 is
    sufficient unless the relation is strict.
    """
    return value > 0 if relation in _STRICT else value >= 0


def _row(
    artefact: str,
    quantity: str,
    variant: str,
    value: float,
    mc_se: float,
    note: str,
    stated: tuple[float, str, float, float] = (np.nan, "", np.nan, np.nan),
    *,
    sees: str = "",
) -> dict[str, Any]:
    values = (artefact, quantity, variant, float(value), float(mc_se), note, *stated, sees)
    return dict(zip(OURS, values, strict=True))
