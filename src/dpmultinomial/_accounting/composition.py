"""Composition of privacy costs: the total cost of several releases of the same source, and its conversion to
(epsilon, delta).

A cost holds for one neighbouring relation. Costs are added separately for each source and relation. Sources: Mironov
(2017), Proposition 1 (Rényi costs add by order); Bun and Steinke (2016), Lemma 2.3 and Proposition 3.3 (rho adds; a
pure cost in Rényi terms, here in its tight form, attained by randomised response); Dwork and Roth (2014), Theorem 3.16
(basic composition); Canonne et al. (2020), Proposition 12 (Rényi to approximate privacy).

Conversions from Rényi to approximate privacy and back are those of Canonne et al. (2020), equations 13 and 14 of
Ponnoprat (2022).

`compose` returns the total cost of several releases in one call. If every cost comes from a mechanism whose loss
distribution is known, the total is also composed from these distributions (`loss_composition`), which is nearly exact.
The smaller of the two epsilons is then returned.

Conversion from adding or removing a record to replacing a record (functions `*_of_replacement`): a replacement is a
removal followed by an addition. Let P, R, Q be the distributions of a release for the data before, between and after.
Each guarantee holds for (P, R) and for (R, Q), in both directions, and implies the guarantee for (P, Q):

=====================  ================================================  ========================================
stated, add or remove  then, replace                                     because
=====================  ================================================  ========================================
epsilon                2 epsilon                                         P <= e^epsilon R <= e^(2 epsilon) Q
(epsilon, delta)       (2 epsilon, (1 + e^epsilon) delta)                P <= e^epsilon R + delta, used twice
rho (zCDP)             4 rho                                             Bun and Steinke (2016), Prop. 1.9, k = 2
epsilon at order l     epsilon (2 l - 1)/(l - 1) at order l^2/(2 l - 1)  Hölder's inequality, below
=====================  ================================================  ========================================

Rényi: Mironov's (2017) weak triangle inequality with 1/p + 1/q = 1 is D_a(P||Q) <= (a - 1/p)/(a - 1) D_(p a)(P||R) +
D_(q (a - 1/p))(R||Q). With p a = l, the second order is a (l - 1)/(l - a), which is at most l if a <= l^2/(2 l - 1).
Divergences increase with their order, so both are at most epsilon, and for this largest a the first factor is
l/(l - 1). For normal distributions, the bound is attained up to the factor 1 - 1/(2 l - 1)^2.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.special import xlogy

from .. import _checks
from .loss_composition import epsilon as composed_epsilon
from .privacy_loss import Mechanism, PureLoss
from .renyi import order_at_least_one


def floor(*, order: float, delta: float) -> float:
    """Return the smallest epsilon_hat that equation 14 of Ponnoprat (2022) can give, which is the limit as the Rényi
    epsilon tends to 0.

    Parameters
    ----------
    order : lambda > 1; at 1 there is no guarantee and the floor is ``inf``.
    delta : in (0, 1).

    Returns
    -------
    float
        log(order - 1) - (log(delta) + order log(order))/(order - 1), negative for large orders.

    Raises
    ------
    ValueError, TypeError
        If `order` is below 1 or `delta` is not in (0, 1).
    """
    order = order_at_least_one(order)
    delta = _checks.positive("delta", delta)
    if delta >= 1:
        raise ValueError(f"delta must be < 1, got {delta}")
    return _offset(order, delta)


def rdp_to_dp(epsilon: float, *, order: float, delta: float) -> float:
    """Return the smallest epsilon_hat for which an (order, epsilon)-RDP mechanism is (epsilon_hat, delta)-DP according
    to equation 14 of Ponnoprat (2022).

    Parameters
    ----------
    epsilon : Rényi epsilon > 0.
    order, delta : as in `floor`.

    Returns
    -------
    float
        The value is not clipped. If it is negative, the mechanism is (0, delta)-DP.
    """
    return _checks.positive("epsilon", epsilon) + floor(order=order, delta=delta)


def dp_to_rdp(epsilon_hat: float, *, order: float, delta: float) -> float:
    """Return the largest Rényi epsilon that implies (epsilon_hat, delta)-DP according to equation 14 of Ponnoprat
    (2022).

    Parameters
    ----------
    epsilon_hat : > 0.
    order, delta : as in `floor`.

    Returns
    -------
    float
        ``nan`` at or below the floor.
    """
    rest = _checks.positive("epsilon_hat", epsilon_hat) - floor(order=order, delta=delta)
    return rest if rest > 0 else float("nan")


def dp_to_rdp_unchecked(epsilon_hat: float, *, order: float, delta: float) -> float:
    """Return the largest Rényi epsilon according to equation 14 of Ponnoprat (2022), computed as in `dp_to_rdp`, for
    any delta > 0. The function also accepts delta > 1, to reproduce an error in a published figure. The result is not a
    privacy guarantee.

    Parameters
    ----------
    epsilon_hat, order : as in `dp_to_rdp`.
    delta : > 0.

    Returns
    -------
    float
        ``nan`` if there is no positive Rényi epsilon.
    """
    rest = _checks.positive("epsilon_hat", epsilon_hat) - _offset(
        order_at_least_one(order), _checks.positive("delta", delta)
    )
    return rest if rest > 0 else float("nan")


def _offset(order: float, delta: float) -> float:
    if order == 1:
        return float("inf")
    return float(np.log(order - 1) - (np.log(delta) + xlogy(order, order)) / (order - 1))


RELATIONS: Final = ("add or remove a record", "replace a record", "exchange within invariants")
_LARGEST_ORDER: Final = 1e9
_MOST_MECHANISMS: Final = 64  # largest number of different mechanisms whose loss distributions are composed


@dataclass(frozen=True, kw_only=True)
class _Cost:
    """Base class of all privacy costs, each with a data source and a neighbouring relation.

    Parameters
    ----------
    source : name of the confidential data from which the release was made.
    relation : definition of neighbouring data sets; one of `RELATIONS`.
    mechanisms : the mechanisms of the release, one per count that a record changes, if their losses are known.
    """

    source: str
    relation: str
    mechanisms: tuple[Mechanism, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise TypeError(f"source must be a non-empty string, got {self.source!r}")
        _checks.one_of("relation", self.relation, RELATIONS)

    def dp(self, delta: float) -> "Epsilon":
        """Return the smallest known epsilon for which this cost implies (epsilon, delta)-DP (see `Total.dp`)."""
        return compose(self).dp(delta)


@dataclass(frozen=True, kw_only=True)
class PureDP(_Cost):
    """Privacy cost of a release that satisfies epsilon-differential privacy.

    Parameters
    ----------
    epsilon : > 0.
    source : name of the confidential data from which the release was made.
    relation : neighbours, ``"add or remove a record"``, ``"replace a record"`` or ``"exchange within invariants"``.
    mechanisms : the mechanisms of the release, whose losses are known; set by the ``cost`` of a noise distribution.
    """

    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.positive("epsilon", self.epsilon)


@dataclass(frozen=True, kw_only=True)
class ZCDP(_Cost):
    """Privacy cost of a release that satisfies rho-zCDP (zero-concentrated differential privacy). The Rényi epsilon is
    rho * order at every order.

    Parameters
    ----------
    rho : > 0.
    source : name of the confidential data from which the release was made.
    relation : neighbours, ``"add or remove a record"``, ``"replace a record"`` or ``"exchange within invariants"``.
    mechanisms : the mechanisms of the release, whose losses are known; set by the ``cost`` of a noise distribution.
    """

    rho: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.positive("rho", self.rho)


@dataclass(frozen=True, kw_only=True)
class RenyiDP(_Cost):
    """Privacy cost of a release that satisfies Rényi differential privacy at the stated orders.

    Parameters
    ----------
    epsilons : mapping from orders > 1 to epsilons > 0, at least one.
    source : name of the confidential data from which the release was made.
    relation : neighbours, ``"add or remove a record"``, ``"replace a record"`` or ``"exchange within invariants"``.
    mechanisms : the mechanisms of the release, whose losses are known; set by the ``cost`` of a noise distribution.
    """

    epsilons: Mapping[float, float] = field(hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.epsilons, Mapping) or not self.epsilons:
            raise TypeError(f"epsilons must be a mapping from orders to epsilons, got {self.epsilons!r}")
        for order, epsilon in self.epsilons.items():
            if order_at_least_one(order) == 1:
                raise ValueError("the orders (the keys of epsilons) must be > 1, got 1")
            _checks.positive("epsilons", epsilon)
        object.__setattr__(self, "epsilons", {float(o): float(e) for o, e in sorted(self.epsilons.items())})


@dataclass(frozen=True, kw_only=True)
class ApproxDP(_Cost):
    """Privacy cost of a release that satisfies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon : > 0.
    delta : in (0, 1).
    source : name of the confidential data from which the release was made.
    relation : neighbours, ``"add or remove a record"``, ``"replace a record"`` or ``"exchange within invariants"``.
    mechanisms : the mechanisms of the release, whose losses are known; set by the ``cost`` of a noise distribution.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.positive("epsilon", self.epsilon)
        _checks.inside("delta", self.delta)


Cost = PureDP | ZCDP | RenyiDP | ApproxDP


class Epsilon(float):
    """Value of epsilon, as a float with an attribute ``method``. The attribute names the accounting method that was
    used.

    Attributes
    ----------
    method : ``"conversion"`` of pure, concentrated or Rényi costs, or ``"loss distributions"`` of the mechanisms.
    """

    method: str

    def __new__(cls, value: float, method: str = "conversion") -> "Epsilon":
        epsilon = super().__new__(cls, value)
        epsilon.method = method
        return epsilon

    def __reduce__(self) -> tuple[type, tuple[float, str]]:
        return Epsilon, (float(self), self.method)


@dataclass(frozen=True, kw_only=True)
class Total:
    """Sum of the privacy costs of one data source under one neighbouring relation.

    Parameters
    ----------
    source, relation : source and relation of all summands.
    pure : epsilons of the pure costs, one per release, because Rényi costs are not linear in epsilon; the sum is
        `sum(pure)`.
    rho : sum of the rho costs.
    renyi : mapping from an order to the summed epsilon, for the orders that every Rényi cost has; None without such
        costs.
    approximate_epsilon, approximate_delta : sums over the (epsilon, delta) costs.
    mechanisms : mechanism -> number of releases, if the losses of all summands are known.
    """

    source: str
    relation: str
    pure: tuple[float, ...] = ()
    rho: float = 0.0
    renyi: Mapping[float, float] | None = field(default=None, hash=False)
    approximate_epsilon: float = 0.0
    approximate_delta: float = 0.0
    mechanisms: Mapping[Mechanism, int] | None = field(default=None, compare=False, repr=False)

    def renyi_epsilon(self, order: float) -> float:
        """Return the Rényi epsilon, at a given order, for the composition of all pure-DP, zCDP and Rényi-DP costs.

        Parameters
        ----------
        order : Rényi order, > 1; if there are Rényi costs, one of their orders.

        Returns
        -------
        float
            ``inf`` if there is an (epsilon, delta) cost, or if a Rényi cost does not have this order.
        """
        if self.approximate_delta > 0 or (self.renyi is not None and order not in self.renyi):
            return float("inf")
        return self._renyi_part(order)

    def dp(self, delta: float) -> Epsilon:
        """Return the smallest epsilon for which the total cost is known to imply (epsilon, delta)-DP.

        Parameters
        ----------
        delta : in [0, 1).

        Returns
        -------
        Epsilon
            A float with ``.method``: the smaller of `converted` and, if the mechanisms of all summands are known, the
            composition of their losses (`loss_composition.epsilon`), which holds for mechanisms that were fixed in
            advance.
        """
        best = Epsilon(self.converted(delta))
        if self.mechanisms and delta > 0 and len(self.mechanisms) <= _MOST_MECHANISMS:
            tight = composed_epsilon(Counter(self.mechanisms), delta)
            best = Epsilon(tight, "loss distributions") if tight < best else best
        return best

    def converted(self, delta: float) -> float:
        """Return the smallest epsilon that any known conversion gives for the total cost at a given `delta`.

        Parameters
        ----------
        delta : in [0, 1); the deltas of the (epsilon, delta) costs are subtracted, and the remainder is used for the
            conversion.

        Returns
        -------
        float
            The smaller of two values. For the first, all summands except the (epsilon, delta) costs are converted at
            the best order. For the second, only the rho and Rényi costs are converted, and the pure epsilons are added.
            ``inf`` if there is no guarantee. The value also holds if later mechanisms are chosen given earlier
            releases.
        """
        left = _checks.number("delta", delta) - self.approximate_delta
        if not 0 <= delta < 1:
            raise ValueError(f"delta must lie in [0, 1), got {delta}")
        pure = float(sum(self.pure))
        concentrated = self.rho > 0 or self.renyi is not None
        if left < 0 or (left == 0 and concentrated):
            return float("inf")
        best = [pure + self._converted(left, pure=False)] if concentrated else [pure]
        if left > 0 and (concentrated or self.pure):
            best.append(self._converted(left, pure=True))
        return self.approximate_epsilon + min(best)

    def __repr__(self) -> str:
        parts = [f"epsilon {sum(self.pure):.6g}"] if self.pure else []
        parts += [f"rho {self.rho:.6g}"] if self.rho else []
        if self.renyi is not None:
            parts.append(f"Rényi {', '.join(f'{e:.6g} at {o:g}' for o, e in self.renyi.items()) or 'without an order'}")
        if self.approximate_delta:
            parts.append(f"({self.approximate_epsilon:.6g}, {self.approximate_delta:.3g})")
        return f"Total({self.source}, {self.relation}: {' + '.join(parts) or 'nothing'})"

    def _renyi_part(self, order: float, *, pure: bool = True) -> float:
        stated = self.renyi[order] if self.renyi is not None else 0.0
        often = Counter(self.pure if pure else ())
        return stated + self.rho * order + sum(n * pure_to_renyi(e, order=order) for e, n in often.items())

    def _converted(self, delta: float, *, pure: bool) -> float:
        def converted(order: float) -> float:
            return max(rdp_to_dp(self._renyi_part(order, pure=pure), order=order, delta=delta), 0.0)

        if self.renyi is not None:
            return min((converted(order) for order in self.renyi), default=float("inf"))
        return _least(converted)


def _least(value: Callable[[float], float]) -> float:
    """Minimise a function over the orders from 1 + 1e-6 to `_LARGEST_ORDER` by a grid search with refinement. Every
    order gives a valid bound.
    """
    from scipy.optimize import minimize_scalar  # a slow import, only needed for these bounds

    grid = np.linspace(np.log(1e-6), np.log(_LARGEST_ORDER), 120)
    grid_values = [value(1 + float(np.exp(x))) for x in grid]
    position = int(np.argmin(grid_values))
    bounds = grid[max(position - 1, 0)], grid[min(position + 1, len(grid) - 1)]

    def at_log(x: float) -> float:
        return value(1 + float(np.exp(x)))

    best = minimize_scalar(at_log, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    return min(float(best.fun), grid_values[position])


def pure_to_renyi(epsilon: float, *, order: float) -> float:
    """Return the largest Rényi divergence of the given order that an epsilon-DP release can have. Randomised response
    attains this value.

    Parameters
    ----------
    epsilon : > 0.
    order : lambda >= 1.

    Returns
    -------
    float
        log((exp(lambda epsilon) + exp((1 - lambda) epsilon))/(1 + exp(epsilon)))/(lambda - 1); epsilon tanh(epsilon/2)
        at 1. At most min(epsilon, lambda epsilon^2/2).

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.
    """
    epsilon, order = _checks.positive("epsilon", epsilon), order_at_least_one(order)
    excess = order - 1
    if excess * epsilon < 1e-6:  # mean of the loss plus half its variance times the excess
        mean = epsilon * float(np.tanh(epsilon / 2))
        return mean + excess / 2 * (epsilon - mean) * (epsilon + mean)
    p = 1 / (1 + np.exp(-epsilon))
    if excess * epsilon < 1:
        low = np.exp(-epsilon) / (1 + np.exp(-epsilon))
        return float(np.log1p(p * np.expm1(excess * epsilon) + low * np.expm1(-excess * epsilon)) / excess)
    return float((np.log(p) + excess * epsilon + np.log1p(np.exp(-(2 * order - 1) * epsilon))) / excess)


def total(costs: Iterable[_Cost]) -> dict[tuple[str, str], Total]:
    """Return the total privacy cost for each pair of a data source and a neighbouring relation.

    Parameters
    ----------
    costs : any mix of `PureDP`, `ZCDP`, `RenyiDP` and `ApproxDP`.

    Returns
    -------
    dict
        Mapping from (source, relation) to `Total`, in order of first appearance. Costs of one source under two
        relations are never added: neighbours under one relation are not neighbours under the other.

    Raises
    ------
    TypeError
        If an argument is not a cost.
    """
    groups: dict[tuple[str, str], list[Cost]] = {}
    for cost in costs:
        if not isinstance(cost, PureDP | ZCDP | RenyiDP | ApproxDP):
            raise TypeError(f"every cost must be a PureDP, ZCDP, RenyiDP or ApproxDP, got {cost!r}")
        groups.setdefault((cost.source, cost.relation), []).append(cost)
    return {key: _sum(*key, members) for key, members in groups.items()}


def _sum(source: str, relation: str, costs: list[Cost]) -> Total:
    stated = [c.epsilons for c in costs if isinstance(c, RenyiDP)]
    common = [o for o in stated[0] if all(o in s for s in stated)] if stated else []
    approximate = [c for c in costs if isinstance(c, ApproxDP)]
    return Total(
        source=source,
        relation=relation,
        pure=tuple(c.epsilon for c in costs if isinstance(c, PureDP)),
        rho=float(sum(c.rho for c in costs if isinstance(c, ZCDP))),
        renyi={o: float(sum(s[o] for s in stated)) for o in common} if stated else None,
        approximate_epsilon=float(sum(c.epsilon for c in approximate)),
        approximate_delta=float(sum(c.delta for c in approximate)),
        mechanisms=_mechanisms(costs),
    )


def _mechanisms(costs: list[Cost]) -> Counter[Mechanism] | None:
    """Return the mechanisms of all privacy costs, each with its number of occurrences. The result is None if a cost has
    an unknown mechanism or if no cost has a mechanism.

    A pure cost without a known mechanism is treated as the cost of randomised response, which is the least private
    mechanism with the same epsilon.
    """
    if not any(cost.mechanisms for cost in costs):
        return None
    mechanisms: Counter[Mechanism] = Counter()
    for cost in costs:
        if cost.mechanisms:
            mechanisms.update(cost.mechanisms)
        elif isinstance(cost, PureDP):
            mechanisms[PureLoss(cost.epsilon)] += 1
        else:
            return None
    return mechanisms


def compose(*costs: _Cost) -> Total:
    """Sum the privacy costs of releases of one source under one neighbouring relation.

    Parameters
    ----------
    *costs : costs `PureDP`, `ZCDP`, `RenyiDP`, `ApproxDP`, in any mix; all with the same source and relation.

    Returns
    -------
    Total
        ``.dp(delta)`` is the smallest epsilon given by the loss distributions of the mechanisms, or by the known
        conversions.

    Raises
    ------
    ValueError
        If there are no costs, or they have different sources or relations, whose costs cannot be added.
    TypeError
        If an argument is not a cost.

    Notes
    -----
    Costs of the same kind are added. Every release must use independent randomness. The value of ``.converted(delta)``
    also holds if mechanisms are chosen given earlier releases; the value from loss distributions requires mechanisms
    that were fixed in advance.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> first, second = (dpm.PureDP(source="survey", relation="replace a record", epsilon=e) for e in (0.5, 1.0))
    >>> dpm.compose(first, second).dp(0)
    1.5
    """
    if not costs:
        raise ValueError("compose requires at least one cost, got none")
    totals = total(costs)
    if len(totals) > 1:
        groups = "; ".join(f"{source}, {relation}" for source, relation in totals)
        raise ValueError(f"all costs must have the same source and the same neighbouring relation, got {groups}")
    return next(iter(totals.values()))


def pure_of_replacement(epsilon: float) -> float:
    """Return the epsilon for replacing a record, computed from the epsilon for adding or removing a record.

    Parameters
    ----------
    epsilon : > 0, for adding or removing a record.

    Raises
    ------
    ValueError, TypeError
        If `epsilon` is not a number > 0.
    """
    return 2 * _checks.positive("epsilon", epsilon)


def approximate_of_replacement(epsilon: float, *, delta: float) -> tuple[float, float]:
    """Return (epsilon, delta) for replacing a record, computed from (epsilon, delta) for adding or removing a record. A
    delta of 1 or more is not a guarantee.

    Parameters
    ----------
    epsilon : > 0.
    delta : in (0, 1). Both `epsilon` and `delta` are for adding or removing a record.

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.
    """
    epsilon, delta = _checks.positive("epsilon", epsilon), _checks.inside("delta", delta)
    return 2 * epsilon, (1 + math.exp(epsilon)) * delta if epsilon < 700 else math.inf


def concentrated_of_replacement(rho: float) -> float:
    """Return the zCDP parameter rho for replacing a record, computed from the rho for adding or removing a record.

    Parameters
    ----------
    rho : > 0, for adding or removing a record.

    Raises
    ------
    ValueError, TypeError
        If `rho` is not a number > 0.
    """
    return 4 * _checks.positive("rho", rho)


def renyi_of_replacement(epsilon: float, *, order: float) -> tuple[float, float]:
    """Return the epsilon and the order of the Rényi DP guarantee for replacing a record, given the guarantee for adding
    or removing a record.

    Parameters
    ----------
    epsilon : > 0.
    order : > 1. Both `epsilon` and `order` are for adding or removing a record.

    Returns
    -------
    epsilon, order : float
        The order is above half of `order`.

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.
    """
    epsilon, order = _checks.positive("epsilon", epsilon), order_at_least_one(order)
    if order == 1:
        raise ValueError("order must be > 1, got 1")
    return epsilon * (2 * order - 1) / (order - 1), order * order / (2 * order - 1)
