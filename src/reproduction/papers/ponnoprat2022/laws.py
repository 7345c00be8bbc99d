"""Draws of the three mechanisms, as the experiments make them, against their exact laws."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import digamma, polygamma

from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._models import calibrated_noise, private_blocks

from ...verdicts import power
from . import drawn_formulas

LEVEL = 1e-4  # of every law (published.tsv)
FAR = 1e6  # added to every count before additive noise, so that no noisy count is lifted to the floor


def release_laws(
    *, counts: Sequence[int], order: float, epsilon: float, draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """p values of `draws` releases of one histogram, one row a cell, by Kolmogorov and Smirnov's test.

    Cells of a Dirichlet release are Beta(a_i, a_0 - a_i) with a = r f + alpha, r and alpha by Algorithm 1 as printed;
    noise is normal or Laplace. Further rows are z tests: the scores of the parameters (``score of r``, ``score of
    alpha``, ``score of the scale``), and the mean ``divergence`` of the Dirichlet releases against its closed form.
    Their `seen` is the relative change of the parameter (of the divergence: of r) that they refuse among the tests of
    their statement.
    """
    f, rows = np.asarray(counts, dtype=float), []
    starts = np.array([0, len(f)])
    for law in calibrated_noise.MECHANISMS:
        noise = calibrated_noise.calibrated(law, np.array([epsilon]), order=order).repeated(draws)
        scale = float(noise.scale[0])
        if law == "dirichlet":
            logs = private_blocks.release(f, starts, law=law, scale=noise.scale, alpha=noise.alpha, rng=rng)
            scale, alpha = drawn_formulas.calibrated(epsilon, order)
            a = scale * f + alpha
            rows += [
                (law, f"cell {k + 1}", draws, *_smirnov(np.exp(logs[:, k]), stats.beta(a[k], a.sum() - a[k])))
                for k in range(len(f))
            ]
            rows += [(law, f"score of {name}", draws, *test) for name, test in _scores(logs, f, scale, alpha).items()]
            rows.append((law, "divergence", draws, *_divergence(logs, f, Dirichlet(r=scale, alpha=alpha))))
            continue
        few = np.ones(draws)
        logs = private_blocks.release(f + FAR, starts, law=law, scale=noise.scale, floors=few, normalise=False, rng=rng)
        scale = np.sqrt(order / epsilon) if law == "gaussian" else scale  # section 5.1, squared sensitivity 2
        exact = stats.norm(scale=scale) if law == "gaussian" else stats.laplace(scale=scale)
        found = np.exp(logs) - FAR - f
        rows += [(law, f"cell {k + 1}", draws, *_smirnov(found[:, k], exact)) for k in range(len(f))]
        ratio = found / scale
        # sum of |x|/b less 1 has variance 1 a draw, sum of (x/sigma)^2 less 1 has 2: the scores of the scale
        score = (ratio**2 - 1, 2.0) if law == "gaussian" else (np.abs(ratio) - 1, 1.0)
        rows.append((law, "score of the scale", draws, *_z(score[0].ravel(), score[1], len(f) + 1)))
    frame = pd.DataFrame(rows, columns=["mechanism", "quantity", "draws", "statistic", "p_value", "seen"])
    return frame.assign(order=order, epsilon=epsilon)


def _smirnov(values: np.ndarray, law: Any) -> tuple[float, float, float]:
    test = stats.kstest(values, law.cdf)
    return float(test.statistic), float(test.pvalue), np.nan


def _z(scores: np.ndarray, information: float, tests: int) -> tuple[float, float, float]:
    """z and p value of scores with mean 0 and this information a draw; the relative change that they see."""
    per_unit = np.sqrt(len(scores) * information)
    z = float(scores.sum() / per_unit)
    return z, float(2 * stats.norm.sf(abs(z))), power.normal(per_unit, LEVEL / tests)


def _scores(logs: np.ndarray, f: np.ndarray, r: float, alpha: float) -> dict[str, tuple[float, float, float]]:
    """Of log r and log alpha: logs of Dirichlet shares, less their means, weighted by what the parameter adds to a."""
    a = r * f + alpha
    centred = logs - (digamma(a) - digamma(a.sum()))
    found = {}
    for name, weights in (("r", r * f), ("alpha", np.full(len(f), alpha))):
        information = float((weights**2 * polygamma(1, a)).sum() - weights.sum() ** 2 * polygamma(1, a.sum()))
        found[name] = _z(centred @ weights, information, len(f) + 2)
    return found


def _divergence(logs: np.ndarray, f: np.ndarray, mechanism: Dirichlet) -> tuple[float, float, float]:
    """z and p value of the mean of D_KL(f || y) against its closed mean and variance; the change of r that it sees."""
    share = f / f.sum()
    found = np.sum(share * np.log(share)) - logs @ share
    error = np.sqrt(float(mechanism.kl_variance(f)) / len(logs))
    z = (found.mean() - float(mechanism.expected_kl(f))) / error
    more = Dirichlet(r=1.01 * mechanism.r, alpha=mechanism.alpha)
    slope = (float(more.expected_kl(f)) - float(mechanism.expected_kl(f))) / 0.01
    return float(z), float(2 * stats.norm.sf(abs(z))), power.normal(slope / error, LEVEL)
