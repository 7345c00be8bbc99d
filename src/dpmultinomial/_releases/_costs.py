"""What a release says it costs, and what several cost together: `_accounting.composition` as the ledger records it.

Costs add up by source and neighbour relation, never across relations. A mix is compared with a ceiling in
(epsilon, delta) through its Rényi curve; an (order, epsilon) statement holds at every smaller order.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from .. import _checks
from .._accounting import composition
from .._accounting.composition import RELATIONS

ADD_OR_REMOVE, REPLACE, EXCHANGE = RELATIONS
_ORDERS = tuple(1 + 2.0 ** (k / 4) for k in range(-24, 49))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one release costs: `epsilon` alone is pure, `rho` is zero-concentrated, `epsilon` with `order` is Rényi.

    Parameters
    ----------
    relation : one of `RELATIONS`, in words.
    epsilon, rho, order : finite and > 0, order > 1.
    """

    relation: str
    epsilon: float | None = None
    rho: float | None = None
    order: float | None = None

    def __post_init__(self) -> None:
        _checks.one_of("relation", self.relation, RELATIONS)
        given = tuple(k for k in ("epsilon", "rho", "order") if getattr(self, k) is not None)
        if given not in (("epsilon",), ("rho",), ("epsilon", "order")):
            raise ValueError(f"a cost is epsilon, rho, or epsilon and order, got {', '.join(given) or 'none'}")
        for key in given:
            _checks.positive(key, getattr(self, key))
        if self.order is not None and self.order <= 1:
            raise ValueError(f"order must be > 1, got {self.order}")

    def stated(self) -> dict[str, float | str]:
        """What a record says: the numbers that are set, and the relation."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def words(self) -> str:
        """The cost for a sentence."""
        numbers = (f"{key} {value:.6g}" for key, value in self.stated().items() if isinstance(value, float))
        return f"{', '.join(numbers)} ({self.relation})"

    def __str__(self) -> str:
        return json.dumps(self.stated(), sort_keys=True)


def read(text: str) -> Cost:
    """The cost that `str` wrote."""
    found = json.loads(text)
    return Cost(
        relation=found["relation"], epsilon=found.get("epsilon"), rho=found.get("rho"), order=found.get("order")
    )


def epsilon_at(costs: Sequence[Cost], *, delta: float) -> float:
    """Smallest epsilon found for which all costs together are (epsilon, delta)-DP.

    Parameters
    ----------
    costs : of one relation.
    delta : in [0, 1).

    Returns
    -------
    float
        `composition.Total.dp`: the sum of pure epsilons, or less through the Rényi curve if delta > 0; ``inf`` where no
        order serves.

    Raises
    ------
    ValueError
        If the costs are of several relations.
    """
    if len({c.relation for c in costs}) > 1:
        raise ValueError("costs of different neighbour relations do not add up")
    orders = sorted({*_ORDERS, *(c.order for c in costs if c.order is not None)})
    totals = composition.total(_composable(c, orders) for c in costs)
    return math.fsum(total.dp(delta) for total in totals.values())


def _composable(cost: Cost, orders: Sequence[float]) -> composition.Cost:
    """The same cost in the accountant's words; a Rényi statement at every order that it holds at."""
    if cost.rho is not None:
        return composition.ZCDP(source="releases", relation=cost.relation, rho=cost.rho)
    epsilon = cost.epsilon or 0.0
    if cost.order is None:
        return composition.PureDP(source="releases", relation=cost.relation, epsilon=epsilon)
    stated = {order: epsilon for order in orders if order <= cost.order}
    return composition.RenyiDP(source="releases", relation=cost.relation, epsilons=stated)


def rho_of(costs: Iterable[Cost]) -> float:
    """Zero-concentrated cost of all together: rhos and epsilon^2/2 for pure ones; ``inf`` with a Rényi cost."""
    return math.fsum(
        math.inf if c.order is not None else c.rho if c.rho is not None else (c.epsilon or 0.0) ** 2 / 2 for c in costs
    )


def beyond(costs: Sequence[Cost], ceiling: Mapping[str, float]) -> str | None:
    """Why `costs` break a ceiling, or None: each relation is held against it on its own.

    Parameters
    ----------
    costs : of one source, the new one last.
    ceiling : ``epsilon`` with or without ``delta``, and/or ``rho``.
    """
    last = costs[-1]
    same = [c for c in costs if c.relation == last.relation]
    if "epsilon" in ceiling:
        delta = float(ceiling.get("delta", 0.0))
        before, after = (epsilon_at(part, delta=delta) for part in (same[:-1], same))
        if after > ceiling["epsilon"] * (1 + 1e-12):
            way = (
                "" if math.isfinite(after) or delta else "; these costs have no pure epsilon, give the ceiling a delta"
            )
            return _over("epsilon", before, after, ceiling["epsilon"], last.relation) + way
    if "rho" in ceiling:
        before, after = rho_of(same[:-1]), rho_of(same)
        if after > ceiling["rho"] * (1 + 1e-12):
            return _over("rho", before, after, ceiling["rho"], last.relation)
    return None


def _over(name: str, before: float, after: float, most: float, relation: str) -> str:
    return f"{name} would rise from {before:.6g} to {after:.6g} ({relation}), the ceiling is {most:.6g}"
