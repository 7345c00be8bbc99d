"""Compute Figures 1, 2, 3 and 8 from closed-form expressions. The figures show the privacy cost and the loss of the
Dirichlet mechanism.

The variants are `published`, which emulates the printed figures (the author's pair, a delta of 2 where 1e-5 was
intended, a quadrature error); `as_written`, which follows the text; and `corrected`, which is exact.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import polygamma

from dpmultinomial._accounting import composition, privacy_profiles, renyi
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._models import calibrated_noise

from .algorithms import gohari

PRINTED_PAIR = ((11, 8, 65, 25, 38, 1), (11, 7, 65, 25, 38, 0))
USED_PAIR = ((11, 8, 65, 25, 38, 0), (11, 7, 65, 25, 38, 1))


def figure_1(*, least: float, most: float, points: int) -> pd.DataFrame:
    """Return the trigamma function psi'(x) together with the bounds of equation 6."""
    x = np.linspace(least, most, points)
    lower, upper = 1 / x + 1 / (2 * x**2), 1 / x + 1 / x**2
    return pd.DataFrame({"x": x, "trigamma": polygamma(1, x), "lower": lower, "upper": upper})


def figure_2(
    *, total: int, cells: int, r: float, order: float, least: float, most: float, points: int, rule: Path
) -> pd.DataFrame:
    """Return the probability delta of Gohari et al. as a function of gamma, computed exactly and with the degree-50
    quadrature rule of the printed figure.

    Parameters
    ----------
    total, cells, r, order : N, d, r and lambda. Then alpha = 1 + 4(order - 1) r, and the printed "r" is k = r N + d
        alpha.
    least, most, points : grid of gamma, evenly spaced in its logarithm.
    rule : file of the quadrature rule.
    """
    alpha = 1 + 4 * (order - 1) * r
    k = r * total + cells * alpha
    region: dict[str, Any] = {"concentration": k, "eta": alpha / k, "eta_bar": (cells - 2) * alpha / k}
    gammas = np.geomspace(least, most, points)
    exact = [gohari.delta(g, **region) for g in gammas]
    emulated = [gohari.delta_by_degree_50(g, **region, path=rule) for g in gammas]
    rows = {"gamma": np.tile(gammas, 2), "variant": np.repeat(["corrected", "published"], points)}
    reach = {"gamma_for_1e-5": gohari.calibrate(1e-5, **region)}
    return pd.DataFrame(rows | {"delta": exact + emulated} | region | reach)


def figure_3_top(*, orders: Sequence[float], least: float, most: float, points: int) -> pd.DataFrame:
    """Return the Rényi divergences for three pairs of histograms, together with the bound of the paper. The pairs are
    the pair in the text, the pair in the figure, and the worst pair.
    """
    rows = []
    for order in orders:
        for r in np.geomspace(least, most, points):
            alpha = 1 + 4 * (order - 1) * r
            for variant, pair in (("as_written", PRINTED_PAIR), ("published", USED_PAIR)):
                u, v = (r * np.array(f, dtype=float) + alpha for f in pair)
                rows.append((order, r, "divergence", variant, renyi.dirichlet_divergence(u, v, order=order)))
            worst = renyi.dirichlet_worst_case(r, alpha=alpha, order=order)
            rows.append((order, r, "worst case", "corrected", worst))
            rows.append((order, r, "Algorithm 1", "corrected", renyi.dirichlet_bound(r, order=order)))
    return pd.DataFrame(rows, columns=["order", "r", "series", "variant", "epsilon"])


def figure_3_bottom(
    *,
    counts: Sequence[int],
    orders: Sequence[float],
    delta: float,
    least: float,
    most: float,
    points: int,
    gohari_points: int,
) -> pd.DataFrame:
    """Return the mean and the standard deviation of the KL divergence between the true and the released shares, as
    functions of epsilon_hat. There is one curve per guarantee that determines r, and the divergence is D_KL(f || y)
    with the true shares f and the released shares y.

    `floor` is the smallest epsilon_hat that equation 14 gives at the order, and `kl_uniform` is the divergence from
    equal shares.
    """
    grid = np.geomspace(least, most, points)
    rows = [row for order in orders for row in _at_order(float(order), grid, delta, gohari_points, tuple(counts))]
    frame = pd.DataFrame(rows, columns=["order", "series", "variant", "epsilon_hat", "r", "alpha"])
    pairs = [Dirichlet(r=r, alpha=a) for r, a in zip(frame["r"], frame["alpha"], strict=True)]
    frame["kl_mean"] = [m.expected_kl(counts) for m in pairs]
    frame["kl_sd"] = [np.sqrt(m.kl_variance(counts)) for m in pairs]
    share = np.array(counts) / np.sum(counts)
    floors = {order: composition.floor(order=order, delta=delta) for order in orders}
    uniform = float(np.sum(share * np.log(share * len(share))))
    known: dict[str, Any] = {"counts": ", ".join(map(str, counts)), "delta": delta, "kl_uniform": uniform}
    return frame.assign(**known, floor=frame["order"].map(floors))


def _at_order(
    order: float, grid: NDArray[np.float64], delta: float, gohari_points: int, counts: tuple[int, ...]
) -> Iterator[tuple[Any, ...]]:
    for target in grid:
        budget = composition.dp_to_rdp(target, order=order, delta=delta)
        if budget > 0:
            yield order, "Algorithm 1", "corrected", target, *dirichlet.calibrate(budget, order=order)
        slip = composition.dp_to_rdp_unchecked(target, order=order, delta=2.0)
        if slip > 0:
            yield order, "Algorithm 1", "published", target, *dirichlet.calibrate(slip, order=order, l2_squared=1.0)
        r = privacy_profiles.dirichlet_calibration(target, delta_=delta, alpha_per_r=4 * (order - 1))
        yield order, "exact profile", "corrected", target, r, 1 + 4 * (order - 1) * r
    total, cells = sum(counts), len(counts)
    for r in np.geomspace(1e-3, 20, gohari_points):
        alpha = 1 + 4 * (order - 1) * r
        for variant in ("corrected", "published"):
            reach = gohari_reach(r, alpha, total=total, cells=cells, delta=delta, empty_cells=variant == "corrected")
            yield order, "Gohari et al.", variant, reach, r, alpha


def gohari_reach(r: float, alpha: float, *, total: int, cells: int, delta: float, empty_cells: bool) -> float:
    """Return the epsilon_hat that the method of Gohari et al. gives for a given `delta`. If `empty_cells` is False, it
    is assumed that no cell is empty, as in the published figure.
    """
    k = r * total + cells * alpha
    low = alpha if empty_cells else r + alpha
    region: dict[str, Any] = {"concentration": k, "eta": low / k, "eta_bar": (cells - 2) * alpha / k}
    return gohari.epsilon(gohari.calibrate(delta, **region), **region, shift=2 * r / k)


def figure_8(*, orders: Sequence[float], delta: float, least: float, most: float, points: int) -> pd.DataFrame:
    """Return the epsilon_hat of equation 14 as a function of the parameter r, for two values of the squared
    sensitivity: 2 (in the text) and 1 (in the figure).
    """
    rows = []
    for order in orders:
        floor = composition.floor(order=order, delta=delta)
        for variant, l2_squared in (("corrected", 2.0), ("published", 1.0)):
            for r in np.geomspace(least, most, points):
                bound = renyi.dirichlet_bound(r, order=order, l2_squared=l2_squared)
                rows.append((order, variant, l2_squared, r, bound + floor, floor))
    return pd.DataFrame(rows, columns=["order", "variant", "l2_squared", "r", "epsilon_hat", "floor"]).assign(
        delta=delta
    )


def exact_calibration(
    *, counts: Sequence[int], order: float, least: float, most: float, points: int, delta: float
) -> pd.DataFrame:
    """Return the expected KL divergence for each method of choosing the parameters r and alpha of the Dirichlet
    mechanism. The comparison shows the gain from exact accounting, for Rényi and for approximate differential privacy.

    `privacy` is ``"renyi"`` (epsilon at `order`) or ``"approximate"`` (epsilon_hat at `delta`, Algorithm 1 at its best
    order). "free alpha" chooses alpha for these counts, which must then be public; it is a bound for comparison.
    """
    rows = []
    for epsilon in np.geomspace(least, most, points):
        for method, pair in (
            ("Algorithm 1", dirichlet.calibrate(epsilon, order=order)),
            ("exact worst case", dirichlet.calibrate_exact(epsilon, order=order)),
            ("exact, free alpha", dirichlet.calibrate_for_kl(epsilon, order=order, counts=counts)),
        ):
            rows.append(("renyi", epsilon, method, order, *pair))
        best = _best_order(epsilon, delta, counts)
        rows.append(("approximate", epsilon, "Algorithm 1", *best))
        r, alpha = _free_alpha_profile(epsilon, delta, counts)
        rows.append(("approximate", epsilon, "exact, free alpha", np.nan, r, alpha))
    frame = pd.DataFrame(rows, columns=["privacy", "epsilon", "method", "order", "r", "alpha"])
    pairs = zip(frame["r"], frame["alpha"], strict=True)
    return frame.assign(delta=delta, kl_mean=[Dirichlet(r=r, alpha=a).expected_kl(counts) for r, a in pairs])


def _best_order(target: float, delta: float, counts: Sequence[int]) -> tuple[float, float, float]:
    """Return the Rényi order and the parameters of Algorithm 1 that minimise the expected KL divergence. The parameters
    r and alpha satisfy the constraint epsilon_hat = target.
    """

    def pair(log_excess: float) -> tuple[float, float]:
        order = 1 + float(np.exp(log_excess))
        return dirichlet.calibrate(composition.dp_to_rdp(target, order=order, delta=delta), order=order)

    def cost(log_excess: float) -> float:
        r, alpha = pair(log_excess)
        return Dirichlet(r=r, alpha=alpha).expected_kl(counts)

    least = brentq(lambda x: composition.floor(order=1 + np.exp(x), delta=delta) - target, np.log(1e-3), np.log(1e6))
    optimum = minimize_scalar(cost, bounds=(least + 1e-6, least + 4), method="bounded", options={"xatol": 1e-8})
    return 1 + float(np.exp(optimum.x)), *pair(optimum.x)


def _free_alpha_profile(target: float, delta: float, counts: Sequence[int]) -> tuple[float, float]:
    def r_of(log_alpha: float) -> float:
        return privacy_profiles.dirichlet_calibration(target, delta_=delta, alpha_offset=float(np.exp(log_alpha)))

    def cost(log_alpha: float) -> float:
        return Dirichlet(r=r_of(log_alpha), alpha=float(np.exp(log_alpha))).expected_kl(counts)

    optimum = minimize_scalar(cost, bounds=(np.log(0.1), np.log(1e3)), method="bounded", options={"xatol": 1e-6})
    return r_of(optimum.x), float(np.exp(optimum.x))


def audits(*, order: float, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return the claimed and the exact Rényi cost of replacing one record, with one row per mechanism, calibration and
    epsilon.
    """
    rows: list[dict[str, Any]] = []
    for epsilon in epsilons:
        r, alpha = dirichlet.calibrate(epsilon, order=order)
        exact = dirichlet.calibrate_exact(epsilon, order=order)
        one, both, tight = (
            renyi.laplace_scale(epsilon, order=order, l1=l1, cells=cells) for l1, cells in ((1, 1), (2, 1), (2, 2))
        )
        for variant, calibration, mechanism in (
            ("as_written", "Algorithm 1", Dirichlet(r=r, alpha=alpha)),
            (
                "published",
                "alpha = 1 + (order - 1) r, after the author's set_epsilon",
                Dirichlet(r=r, alpha=1 + (order - 1) * r),
            ),
            ("corrected", "exact worst case", Dirichlet(r=exact[0], alpha=exact[1])),
            ("as_written", "one cell moves by 1", Laplace(scale=one)),
            ("published", "one cell moves by 2", Laplace(scale=both)),
            ("corrected", "two cells move by 1", Laplace(scale=tight)),
            ("as_written", "variance order/epsilon", Gaussian.calibrated_renyi(epsilon, order=order)),
        ):
            claim = calibrated_noise.renyi_claim(mechanism, order=order, epsilon=epsilon)
            named = {"mechanism": type(mechanism).__name__, "calibration": calibration, "variant": variant}
            outcome = {"exact": claim.exact, "holds": claim.holds, "slack": claim.slack}
            rows.append({**named, "order": order, "claimed": epsilon, **outcome})
    return pd.DataFrame(rows)
