"""Draws of the three mechanisms, as the experiments make them, against their exact laws."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._models import calibrated_noise, private_blocks

FAR = 1e6  # added to every count before additive noise, so that no noisy count is lifted to the floor


def release_laws(
    *, counts: Sequence[int], order: float, epsilon: float, draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """p values of `draws` releases of one histogram, one row a cell, by Kolmogorov and Smirnov's test.

    Cells of a Dirichlet release are Beta(a_i, a_0 - a_i) with a = r f + alpha; noise is normal or Laplace. One row more
    compares the mean divergence of the Dirichlet releases with its closed form, by a z test.
    """
    f, rows = np.asarray(counts, dtype=float), []
    starts = np.array([0, len(f)])
    for law in calibrated_noise.MECHANISMS:
        noise = calibrated_noise.calibrated(law, np.array([epsilon]), order=order).repeated(draws)
        scale, alpha = float(noise.scale[0]), float(noise.alpha[0])
        if law == "dirichlet":
            logs = private_blocks.release(f, starts, law=law, scale=noise.scale, alpha=noise.alpha, rng=rng)
            a = scale * f + alpha
            rows += [
                (law, f"cell {k + 1}", draws, *_smirnov(np.exp(logs[:, k]), stats.beta(a[k], a.sum() - a[k])))
                for k in range(len(f))
            ]
            rows.append((law, "divergence", draws, *_divergence(logs, f, Dirichlet(r=scale, alpha=alpha))))
            continue
        few = np.ones(draws)
        logs = private_blocks.release(f + FAR, starts, law=law, scale=noise.scale, floors=few, normalise=False, rng=rng)
        exact = stats.norm(scale=scale) if law == "gaussian" else stats.laplace(scale=scale)
        found = np.exp(logs) - FAR - f
        rows += [(law, f"cell {k + 1}", draws, *_smirnov(found[:, k], exact)) for k in range(len(f))]
    frame = pd.DataFrame(rows, columns=["mechanism", "quantity", "draws", "statistic", "p_value"])
    return frame.assign(order=order, epsilon=epsilon)


def _smirnov(values: np.ndarray, law: Any) -> tuple[float, float]:
    test = stats.kstest(values, law.cdf)
    return float(test.statistic), float(test.pvalue)


def _divergence(logs: np.ndarray, f: np.ndarray, mechanism: Dirichlet) -> tuple[float, float]:
    """z and p value of the mean of D_KL(f || y) against its closed mean and variance."""
    share = f / f.sum()
    found = np.sum(share * np.log(share)) - logs @ share
    error = np.sqrt(float(mechanism.kl_variance(f)) / len(logs))
    z = (found.mean() - float(mechanism.expected_kl(f))) / error
    return float(z), float(2 * stats.norm.sf(abs(z)))
