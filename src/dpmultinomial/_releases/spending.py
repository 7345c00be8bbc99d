"""Stated privacy cost of a release, and total cost of several releases. The total cost is computed by
`_accounting.composition` and written in the form that the ledger records.

Costs are added by source. A budget bounds the loss of a person whose record is replaced by another record: the cost of
adding or removing a record is converted to an upper bound for this relation (`Cost.replaced`) and added. An exchange
within invariants is not included, because replacing a record changes information that a swap publishes exactly, so that
a swap gives no guarantee for this relation. Exchanges are added separately and have a separate budget, or none. A mix
of costs is compared with a budget in (epsilon, delta) through its Rényi curve; an (order, epsilon) statement holds at
every smaller order.

`Plan` contains the results that a mechanism computes before any noise is drawn, and `Drawn` contains the draws.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from .. import _checks
from .._accounting import composition
from .._accounting.composition import RELATIONS
from .._accounting.privacy_loss import Mechanism
from .._printing import at_most
from ._keys import COUNTS, TREE_KEYS
from ._noise import exact, upwards
from ._noise import total as sum_upwards

ADD_OR_REMOVE, REPLACE, EXCHANGE = RELATIONS
OUTSIDE = (
    "outside: the cost of an exchange within invariants counts only towards a budget of exchanges, because no budget "
    "for a single person covers this cost"
)
UNBOUNDED = "none: the total cost of the releases of this source is not limited"
# general bound; the cost can be smaller, but costs that were recorded earlier are counted in this way
COUNTED = (
    "Budgets count an upper bound on the cost of replacing a record: twice the epsilon, or four times the rho, of "
    "adding or removing a record."
)
_TWICE = "a cost for adding or removing a record is counted as an upper bound on the cost for replacing a record"
_ORDERS = tuple(1 + 2.0 ** (k / 4) for k in range(-24, 49))


def amount(value: float) -> str:
    """Return a privacy cost as text with six significant digits, rounded upwards, because the text states an upper
    bound. An excess of less than 1e-9 of the value, which may be due to rounding errors, is ignored.

    Parameters
    ----------
    value : finite number >= 0.
    """
    return at_most(value, 6)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Privacy cost of one release, in the form in which the cost is recorded. A cost with only `epsilon` is pure, a
    cost with `rho` is zero-concentrated, and a cost with `epsilon` and `order` is Rényi.

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
            raise ValueError(
                f"a cost must have either epsilon, or rho, or epsilon and order, got {', '.join(given) or 'none'}"
            )
        for key in given:
            _checks.positive(key, getattr(self, key))
        if self.order is not None and self.order <= 1:
            raise ValueError(f"order must be > 1, got {self.order}")

    def stated(self) -> dict[str, float | str]:
        """Return the privacy cost in the form used in a record: the parameters that are not None, and the neighbouring
        relation.
        """
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def replaced(self) -> "Cost":
        """Return an upper bound on the privacy cost for a person whose record is replaced by another record.

        For every mechanism, this is the sum of the costs of a removal and an addition. The cost of counts whose
        measurements are known can be smaller (`Hierarchy.largest_sums`).

        Raises
        ------
        ValueError
            For an exchange within invariants, which gives no guarantee for a replacement.
        """
        if self.relation == REPLACE:
            return self
        if self.relation == EXCHANGE:
            raise ValueError(
                f"a conversion to {REPLACE!r} requires a cost for {ADD_OR_REMOVE!r}, got a cost for "
                f"{self.relation!r}, which does not bound the privacy loss of a person whose record is replaced"
            )
        if self.rho is not None:
            return Cost(
                relation=REPLACE,
                rho=max(composition.concentrated_of_replacement(self.rho), upwards(4 * exact(self.rho))),
            )
        epsilon = self.epsilon or 0.0
        if self.order is None:
            return Cost(
                relation=REPLACE, epsilon=max(composition.pure_of_replacement(epsilon), upwards(2 * exact(epsilon)))
            )
        epsilon, order = composition.renyi_of_replacement(epsilon, order=self.order)
        return Cost(relation=REPLACE, epsilon=epsilon, order=order)

    @property
    def against_ceiling(self) -> dict[str, float | str] | str:
        """Return the part of the cost that counts against a budget, as a ledger record. This is the cost of a
        replacement, or a remark that the budget does not cover the cost.
        """
        return OUTSIDE if self.relation == EXCHANGE else self.replaced.stated()

    @property
    def words(self) -> str:
        """Return a description of the privacy cost for use within a sentence."""
        numbers = (f"{key} {amount(value)}" for key, value in self.stated().items() if isinstance(value, float))
        return f"{'Rényi ' if self.order else ''}{', '.join(numbers)} ({self.relation})"

    def __str__(self) -> str:
        return json.dumps(self.stated(), sort_keys=True)


def read(text: str) -> Cost:
    """Parse a privacy cost from a string in the format of `str(cost)`."""
    fields = json.loads(text)
    return Cost(
        relation=fields["relation"], epsilon=fields.get("epsilon"), rho=fields.get("rho"), order=fields.get("order")
    )


def by_settings(settings: Mapping[str, Any], *, tolerance: float = 1e-6) -> Cost | None:
    """Return the privacy cost of a release according to its settings, reduced by a rounding tolerance.

    If the settings of counts do not contain a key for trees, the release is assumed not to be a tree, which costs less.

    Parameters
    ----------
    settings : checked settings of a release, with defaults.
    tolerance : relative tolerance for a cost that rounding of the scale may reduce.

    Returns
    -------
    Cost, or None if the cost depends on the confidential file (a swap).
    """
    mechanism, least = settings["mechanism"], 1 - tolerance
    if mechanism == "swap":
        return None
    numbers = {key: least * settings[key] for key in ("epsilon", "rho") if settings.get(key) is not None}
    if mechanism == "additive_counts":  # a record changes one count and the total
        return Cost(relation=ADD_OR_REMOVE, epsilon=2 * numbers["epsilon"])
    if settings.get("noise") == "dirichlet":
        numbers["order"] = float(settings["order"])
    tree = mechanism in COUNTS and any(settings.get(key) for key in TREE_KEYS)
    return Cost(relation=ADD_OR_REMOVE if tree and settings["relation"] != REPLACE else REPLACE, **numbers)


def epsilon_at(costs: Sequence[Cost], *, delta: float) -> float:
    """Return the smallest known epsilon for which several costs together are (epsilon, delta)-DP.

    Parameters
    ----------
    costs : costs of one relation.
    delta : in [0, 1).

    Returns
    -------
    float
        `composition.Total.dp`: the sum of pure epsilons, or a smaller value through the Rényi curve if delta > 0,
        rounded upwards by more than the error of the conversion; ``inf`` if no order applies.

    Raises
    ------
    ValueError
        If the costs have several relations.
    """
    if len({c.relation for c in costs}) > 1:
        raise ValueError(
            "all costs must have the same neighbouring relation, got "
            f"{', '.join(sorted({cost.relation for cost in costs}))}"
        )
    orders = sorted({*_ORDERS, *(c.order for c in costs if c.order is not None)})
    totals = composition.total(_composable(c, orders) for c in costs).values()
    epsilon = math.fsum(total.dp(delta) for total in totals)
    if epsilon == math.fsum(sum(total.pure) for total in totals):
        return sum_upwards(c.epsilon or 0.0 for c in costs)
    return _upwards(epsilon)


def _upwards(epsilon: float) -> float:
    """Return an upper bound on the exact value of equation 14 of Ponnoprat (2022). The argument `epsilon` is the value
    at the same order, computed in floating-point arithmetic.

    At the orders that are tried, the terms are at most 64 + |epsilon| in size; the function allows for 16 roundings of
    these terms.
    """
    return epsilon + 2.0**-48 * (32 + abs(epsilon))


def _composable(cost: Cost, orders: Sequence[float]) -> composition.Cost:
    """Convert a privacy cost to an instance of a class in `_accounting.composition`. A Rényi guarantee is converted at
    every order at which it is valid.
    """
    if cost.rho is not None:
        return composition.ZCDP(source="releases", relation=cost.relation, rho=cost.rho)
    epsilon = cost.epsilon or 0.0
    if cost.order is None:
        return composition.PureDP(source="releases", relation=cost.relation, epsilon=epsilon)
    stated = {order: epsilon for order in orders if order <= cost.order}
    return composition.RenyiDP(source="releases", relation=cost.relation, epsilons=stated)


def rho_of(costs: Iterable[Cost]) -> float:
    """Return the total zCDP parameter rho of several releases, rounded upwards. A pure cost contributes epsilon^2/2,
    and the result is ``inf`` if there is a Rényi cost.
    """
    parts = list(costs)
    if any(c.order is not None for c in parts):
        return math.inf
    return upwards(
        sum((exact(c.rho) if c.rho is not None else exact(c.epsilon or 0.0) ** 2 / 2 for c in parts), Fraction())
    )


def beyond(costs: Sequence[Cost], ceiling: Mapping[str, float]) -> str | None:
    """Return the reason why the sum of `costs` exceeds a budget, or None if the sum is within the budget.

    Parameters
    ----------
    costs : costs of one source, ending with the new cost.
    ceiling : largest loss of a person: ``epsilon`` with or without ``delta``, and/or ``rho``; and ``exchange``,
        separately, for exchanges within invariants.
    """
    last = costs[-1]
    if last.relation == EXCHANGE:
        return _above([c for c in costs if c.relation == EXCHANGE], "exchange", ceiling, EXCHANGE)
    person = [c.replaced for c in costs if c.relation != EXCHANGE]
    converted = any(c.relation == ADD_OR_REMOVE for c in costs)
    words = f"{REPLACE}; {_TWICE}" if converted else REPLACE
    return _above(person, "epsilon", ceiling, words) or _above(person, "rho", ceiling, words)


def of_ceiling(cost: Cost, ceiling: Mapping[str, float]) -> str:
    """Return the part of a budget that one release uses, under the neighbouring relation of the budget.

    Parameters
    ----------
    cost : cost of the release. A cost for adding or removing a record is converted to a replacement, and an exchange is
        counted separately.
    ceiling : budget of the source; may be empty.

    Returns
    -------
    str
        Such as ``epsilon 4 of 4 (replace a record)``; empty if the budget does not apply to such a cost.
    """
    used = _used([cost], ceiling)
    relation = EXCHANGE if cost.relation == EXCHANGE else REPLACE
    at = {"epsilon": f" at delta {ceiling['delta']:g}"} if ceiling.get("delta") else {}
    parts = [
        f"{key} {amount(value)} of {ceiling[key]:.12g}{at.get(key, '')}"
        for key, value in used.items()
        if key in ceiling
    ]
    return f"{' and '.join(parts)} ({relation})" if parts else ""


def _used(costs: Sequence[Cost], ceiling: Mapping[str, float]) -> dict[str, float]:
    """Return the total privacy cost of several releases as a dictionary. The entries ``epsilon`` (at the delta of the
    budget) and ``rho`` are for replacements, and the entry ``exchange`` is for exchanges.
    """
    person = [c.replaced for c in costs if c.relation != EXCHANGE]
    exchange = [c for c in costs if c.relation == EXCHANGE]
    used = {}
    if person:
        used = {"epsilon": epsilon_at(person, delta=float(ceiling.get("delta", 0.0))), "rho": rho_of(person)}
    return used | ({"exchange": epsilon_at(exchange, delta=0.0)} if exchange else {})


def loss_bound(cost: Cost, *, delta: float = 1e-6) -> tuple[float, float]:
    """Return a bound on the privacy loss, and the probability with which the bound may be exceeded.

    Parameters
    ----------
    cost : pure epsilon (which always bounds the loss), rho, or a Rényi epsilon at an order.
    delta : probability for costs that do not bound the loss with certainty, in (0, 1).

    Returns
    -------
    (epsilon, probability)
        rho + 2 sqrt(rho log(1/delta)) for zero-concentrated privacy (Bun and Steinke 2016, lemma 3.5), epsilon +
        log(1/delta)/(order - 1) for Rényi privacy (Mironov 2017, proposition 3), by Markov's inequality.
    """
    tail = math.log(1 / delta)
    if cost.rho is not None:
        return cost.rho + 2 * math.sqrt(cost.rho * tail), delta
    epsilon = cost.epsilon or 0.0
    return (epsilon, 0.0) if cost.order is None else (epsilon + tail / (cost.order - 1), delta)


def counted_over(source: str, sources: Sequence[str]) -> str:
    """Return a clause that states which data sources a budget covers.

    Parameters
    ----------
    source : source of the release.
    sources : sources with the same people, or only `source`.

    Returns
    -------
    str
    """
    if len(sources) > 1:
        return f"the budget covers {', '.join(sources)}, which have the same people"
    return (
        f"the budget covers {source} only; if another source has the same people, set the key people to one value "
        "in both budgets"
    )


def so_far(costs: Sequence[Cost], ceiling: Mapping[str, float]) -> str:
    """Return a sentence that states the privacy cost spent on a source, and the budget of the source.

    Parameters
    ----------
    costs : costs of one source.
    ceiling : budget of the source; may be empty.
    """
    used, delta = _used(costs, ceiling), float(ceiling.get("delta", 0.0))
    exchange = used.pop("exchange", None)
    parts = []
    if used:
        at = {"epsilon": f" at delta {delta:g}"} if delta else {}
        known = [f"{key} {amount(value)}{at.get(key, '')}" for key, value in used.items() if math.isfinite(value)]
        bound = ", upper bound" if any(c.relation == ADD_OR_REMOVE for c in costs) else ""
        parts.append(f"{' or '.join(known) or 'a cost without a pure epsilon'} ({REPLACE}{bound})")
    if exchange is not None:
        parts.append(f"{'separately ' if parts else ''}epsilon {amount(exchange)} ({EXCHANGE})")
    spent = "; ".join(parts) or "nothing spent"
    most = ", ".join(f"{key} {value:.12g}" for key, value in ceiling.items())
    if not most:
        return f"{spent}; the source has no budget, so the total cost of its releases is not limited"
    unbound = "; the budget does not limit exchanges" if exchange is not None and "exchange" not in ceiling else ""
    if used and not {"epsilon", "rho"} & set(ceiling):
        unbound += "; the budget limits only exchanges"
    return f"{spent}, of a budget of {most}{unbound}"


def _above(costs: Sequence[Cost], name: str, ceiling: Mapping[str, float], words: str) -> str | None:
    if name not in ceiling:
        return None
    delta = float(ceiling.get("delta", 0.0)) if name == "epsilon" else 0.0
    before, after = (rho_of(part) if name == "rho" else epsilon_at(part, delta=delta) for part in (costs[:-1], costs))
    if after <= ceiling[name]:
        return None
    what = "pure epsilon, so add a delta to the budget" if name == "epsilon" else "rho, so use an epsilon and a delta"
    way = "" if math.isfinite(after) else f"; these costs have no {what}"
    rise = f"{f'at delta {delta:g} ' if delta else ''}from {amount(before)} to {amount(after)} ({words})"
    return f"{name} would rise {rise}, but the budget is {ceiling[name]:.12g}{way}"


Facts = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Contents of a release as they are written to disk.

    Parameters
    ----------
    data : bytes of the public file.
    report : bytes of a confidential report, or None.
    facts : public facts that are known only after the draw.
    """

    data: bytes
    report: bytes | None = None
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """Plan of a release, before the noise is drawn.

    Parameters
    ----------
    cost : planned cost.
    facts : public statements for the record, without confidential information.
    draw : function that draws the noise; called once, after the check of the budget.
    losses : mechanisms whose loss distributions are those of the release under the relation of its cost (`losses`);
        None if they are not known.
    """

    cost: Cost
    facts: Facts
    draw: Callable[[], Drawn]
    losses: tuple[Mechanism, ...] | None = None

    def __repr__(self) -> str:
        return f"Plan({self.cost})"


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return the content of a UTF-8 CSV file with LF line breaks, quoted according to RFC 4180."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue().encode("utf-8")
