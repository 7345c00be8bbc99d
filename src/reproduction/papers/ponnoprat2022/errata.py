"""Errata of Ponnoprat (2022), each with evidence that a run produces.

``python -m reproduction.evidence ponnoprat2022 N`` shows erratum N, and ``errata`` makes the whole table. The errata of
the experiments on the UCI sets are in their tables (column `variant`), not in this module.
"""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._accounting import composition, renyi
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._models import calibrated_noise

from ... import evidence
from . import experiment, privacy
from .algorithms import gohari

_NOISE = ("laplace", "gaussian")
_COUNTS = (119, 74, 618, 272, 13, 187)


def _pair(_: np.random.Generator, __: int) -> str:
    values = []
    for pair in (privacy.PRINTED_PAIR, privacy.USED_PAIR):
        u, v = (np.array(f) + 5.0 for f in pair)  # order 2 and r = 1: alpha = 5
        values.append(renyi.dirichlet_divergence(u, v, order=2))
    totals = [sum(f) for f in privacy.PRINTED_PAIR]
    return (
        f"The printed pair has {totals[0]} and {totals[1]} records. At r = 1, D_2 is {values[0]:.4f} for the pair in "
        f"the text and {values[1]:.4f} for the pair in the figure."
    )


def _slip(_: np.random.Generator, __: int) -> str:
    r, alpha = dirichlet.calibrate(composition.dp_to_rdp_unchecked(0.01, order=2, delta=2.0), order=2, l2_squared=1.0)
    honest = composition.rdp_to_dp(renyi.dirichlet_bound(r, order=2), order=2, delta=1e-5)
    loss = Dirichlet(r=r, alpha=alpha).expected_kl(_COUNTS)
    return (
        f"At order 2, the conversion of epsilon_hat = 0.01 with delta = 2 gives r = {r:.2f} and the KL divergence "
        f"{loss:.3e}. At delta = 1e-5, this release has a privacy cost of {honest:.2f}. The smallest epsilon_hat of "
        f"equation 14 is {composition.floor(order=2, delta=1e-5):.4f}."
    )


def _quadrature(_: np.random.Generator, __: int) -> str:
    region: dict[str, Any] = {"concentration": 171.87, "eta": 4.88 / 171.87, "eta_bar": 4 * 4.88 / 171.87}
    exact, rule = gohari.delta(1e-4, **region), gohari.delta_by_product_rule(1e-4, **region)
    printed = gohari.delta_by_degree_50(6e-4, **region)
    fine = gohari.delta_by_product_rule(1e-3, **region, degree=301) / gohari.delta(1e-3, **region)
    return (
        f"At gamma = 1e-4, the exact delta is {exact:.3e}, whereas a product rule of degree 51 gives {rule:.1e}. At "
        f"gamma = 6e-4, the rule of degree 50 by Xiao and Gimbutas gives {printed:.2e}, which is the printed floor. "
        f"At gamma = 1e-3, a product rule of degree 301 gives {fine:.6f} times the exact value. The exact delta is "
        f"1e-5 at gamma = {gohari.calibrate(1e-5, **region):.6e}."
    )


def _sensitivity(_: np.random.Generator, __: int) -> str:
    pair = [
        renyi.dirichlet_bound(10.0, order=10, l2_squared=s) + composition.floor(order=10, delta=1e-5) for s in (1, 2)
    ]
    return (
        f"At order 10 and r = 10, epsilon_hat is {pair[0]:.3f} with squared sensitivity 1, as printed, and "
        f"{pair[1]:.3f} with squared sensitivity 2, as the experiments require."
    )


def _theorem_2(rng: np.random.Generator, draws: int) -> str:
    d, alpha, eta = 1000, 0.2, 0.3
    beta = d * alpha / np.expm1(eta / 2)
    logs = np.log(rng.standard_gamma(beta / d + alpha, (draws, d)))
    loss = np.logaddexp.reduce(logs, axis=1) - logs.mean(axis=1) - np.log(d)
    bound = np.exp(-beta * eta**2 / (2 * (2 + eta) * (4 + 3 * eta)))
    return (
        f"For uniform p, d = {d}, alpha = {alpha}, eta = {eta} and beta = {beta:.0f}, the divergence exceeds eta in "
        f"{(loss > eta).sum()} of {draws} draws, although the bound on the probability of this event is {bound:.4f}."
    )


def _alpha(_: np.random.Generator, __: int) -> str:
    r, _alpha = dirichlet.calibrate(1.0, order=5)
    claim = calibrated_noise.renyi_claim(Dirichlet(r=r, alpha=1 + 4 * r), order=5, epsilon=1.0)
    return (
        f"At order 5 and with alpha = 1 + (order - 1) r, the exact privacy cost is {claim.exact:.3f} for the target "
        "epsilon = 1. Therefore, the guarantee is false."
    )


def _laplace(_: np.random.Generator, __: int) -> str:
    costs = []
    for l1, cells, change in ((1, 1, "1 in one cell"), (2, 1, "2 in one cell"), (2, 2, "1 in each of two cells")):
        scale = renyi.laplace_scale(0.1, order=5, l1=l1, cells=cells)
        cost = calibrated_noise.exact_renyi(Laplace(scale=scale), order=5)
        costs.append(
            f"If the scale is computed for a change of {change}, it is {scale:.4f}, and its exact cost is {cost:.4f}."
        )
    return f"At order 5, the target is 0.1. {' '.join(costs)}"


def _bias(_: np.random.Generator, __: int) -> str:
    floors = []
    for order in (2, 20, 200):
        r, alpha = dirichlet.calibrate(1e6, order=order)
        loss = Dirichlet(r=r, alpha=alpha).expected_kl(_COUNTS)
        floors.append(f"{loss:.5f} ({alpha / r:.0f} pseudo-records per cell) at order {order}")
    return (
        "As epsilon increases to infinity, the expected KL divergence for the counts of Figure 3 converges to "
        f"{floors[0]}, {floors[1]} and {floors[2]}."
    )


def _laplace_and_gaussian(_: np.random.Generator, __: int) -> str:
    """Return a text that states the standard deviations of Laplace and Gaussian noise for one of 14 releases. The
    releases are for 13 features and the class, at delta = 1e-5.
    """
    delta, releases, words = 1e-5, 14, []
    printed = [experiment.published_noise(m, [0.1], delta=delta, share=delta / (2 * releases)) for m in _NOISE]
    for target in (1.0, 10.0, 100.0):
        noises = [experiment.corrected_noise(m, [target], delta=delta, releases=releases) for m in _NOISE]
        words.append(f"{noises[0].sd()[0]:.2f} and {noises[1].sd()[0]:.2f} for epsilon_hat = {target:g}")
    return (
        "With the printed calibrations and a budget of 0.1 per release, the standard deviations of the Laplace noise "
        f"and of the Gaussian noise are {printed[0].sd()[0]:.1f} and {printed[1].sd()[0]:.1f}. With exact or Rényi "
        f"composition of all 14 releases, they are {words[0]}, {words[1]}, and {words[2]}."
    )


def _introduction(_: np.random.Generator, __: int) -> str:
    p, z = np.array([0.1, 0.9]), np.array([-0.099, -0.038])
    plain = np.sum(p * np.log(p / (p + z)))
    normal = np.sum(p * np.log(p / (p + z) * (p + z).sum()))
    return (
        f"The sum of p log(p/(p + z2)) is {plain:.4f}. After normalisation of p + z2, the divergence is {normal:.4f}."
    )


ERRATA: evidence.Errata = {
    1: (
        "For Figure 3, the printed pair differs by two removed records, and the plotted pair by a replaced record.",
        _pair,
    ),
    2: ("In Figure 3, the curve of Algorithm 1 was converted with delta = 2 instead of 1e-5.", _slip),
    3: (
        "In Figure 2, the floor 2.1e-4 is the error of a quadrature rule. The exact delta converges to 0.",
        _quadrature,
    ),
    4: ("Figure 8 was computed with squared sensitivity 1, but the experiments require 2.", _sensitivity),
    5: ("Theorem 2 is false for small alpha, because its proof requires alpha >= 1/2.", _theorem_2),
    6: ("For Figures 9 to 11, alpha is 1 + (order - 1) r instead of 1 + 4 (order - 1) r.", _alpha),
    7: ("The Laplace scale in section 5.1 is wrong, because one moved record changes two cells by 1 each.", _laplace),
    8: (
        "In Algorithm 1 (section 3), each cell receives 4 (order - 1) pseudo-records as epsilon increases, so that a "
        "bias remains for any budget.",
        _bias,
    ),
    9: ("The divergences in the introduction are sums over vectors that do not sum to 1.", _introduction),
    18: (
        "In appendix C, Laplace noise is better than Gaussian noise because of the calibrations, not of composition.",
        _laplace_and_gaussian,
    ),
}


def errata(*, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("ponnoprat2022", ERRATA, rng=rng, size=runs)
