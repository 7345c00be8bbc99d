"""Simulate Theorem 2 for settings in which its tail bound holds, and for small alpha, for which the bound fails."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms.dirichlet import Dirichlet


def simulate(
    size: int,
    *,
    alphas: Sequence[float],
    cells: Sequence[int],
    etas: Sequence[float],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return, for `size` draws q ~ Dirichlet(beta p + alpha), the number of draws with D_KL(p || q) > eta. The vector p
    is uniform, and beta is minimal.
    """
    rows = []
    for d in cells:
        for alpha in alphas:
            for eta in etas:
                beta = least_beta(d, alpha, eta)
                log_gamma = np.log(rng.standard_gamma(beta / d + alpha, (size, d)))
                losses = np.logaddexp.reduce(log_gamma, axis=1) - log_gamma.mean(axis=1) - np.log(d)
                rows.append((alpha, d, eta, beta, size, int((losses > eta).sum())))
    return pd.DataFrame(rows, columns=["alpha", "cells", "eta", "beta", "draws", "above"])


def least_beta(cells: int, alpha: float, eta: float) -> float:
    """Return the smallest concentration parameter beta that satisfies the condition of Theorem 2."""
    return cells * alpha / np.expm1(eta / 2)


def theorem_2(
    table: pd.DataFrame, *, alphas: Sequence[float], cells: Sequence[int], etas: Sequence[float]
) -> pd.DataFrame:
    """Return the frequency of KL divergences above a threshold eta, and the bound of Theorem 2 on the corresponding
    probability. In addition, return the standard error of the frequency, the exact mean of the divergence, and whether
    the bound fails.

    `broken` requires a frequency that is more than five standard errors above the bound (false alarm rate below 1e-6).
    """
    sums = table.groupby(["alpha", "cells", "eta", "beta"], as_index=False, sort=False)[["draws", "above"]].sum()
    eta, share = sums["eta"], sums["above"] / sums["draws"]
    bound = np.exp(-sums["beta"] * eta**2 / (2 * (2 + eta) * (4 + 3 * eta)))
    error = np.sqrt(np.maximum(share * (1 - share), bound * (1 - bound)) / sums["draws"])
    flat = [
        Dirichlet(r=b / d, alpha=a).expected_kl(np.ones(int(d)))
        for a, b, d in zip(sums["alpha"], sums["beta"], sums["cells"], strict=True)
    ]
    return sums.assign(
        frequency=share,
        mc_se=error,
        bound=bound,
        kl_mean=flat,
        broken=share > bound + 5 * error,
        proved=sums["alpha"] >= 0.5,
    )
