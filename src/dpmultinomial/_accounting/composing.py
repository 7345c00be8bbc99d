"""What several releases cost together, in one call."""

from .composition import Cost, Total, total


def compose(*costs: Cost) -> Total:
    """What releases of one source cost together under one neighbour relation.

    Parameters
    ----------
    *costs : of `PureDP`, `ZCDP`, `RenyiDP`, `ApproxDP`, in any mix; of one source and one relation.

    Returns
    -------
    Total
        ``.dp(delta)`` is the smallest epsilon that the known conversions give.

    Raises
    ------
    ValueError
        If there is none, or they are of several sources or relations, which do not add up.
    TypeError
        For anything that is no cost.

    Notes
    -----
    Costs add by kind; composition may be adaptive; every release must draw its own randomness.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> first, second = (dpm.PureDP(source="survey", relation="replace a record", epsilon=e) for e in (0.5, 1.0))
    >>> dpm.compose(first, second).dp(0)
    1.5
    """
    if not costs:
        raise ValueError("compose needs at least one cost")
    found = total(costs)
    if len(found) > 1:
        groups = "; ".join(f"{source}, {relation}" for source, relation in found)
        raise ValueError(f"costs of several sources or neighbour relations do not add up: {groups}")
    return next(iter(found.values()))
