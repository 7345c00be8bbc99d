"""Compute the posterior of shares given a released distribution over categories. The posterior is exact for the
Dirichlet mechanism with a public total, and approximate otherwise.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtri

from dpmultinomial import _checks
from dpmultinomial._accuracy import EXACT, Accuracy, summary_frame
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.laplace import DiscreteLaplace
from dpmultinomial._posteriors.counts import noisy_counts
from dpmultinomial._posteriors.counts.dirichlet_mixture import DirichletMixture

# number of records above which the posterior of a conditional histogram is approximated by a normal distribution
LARGEST_EXACT = 2000
LARGEST_TOTAL = 1_000_000

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Mechanism that released a histogram as noisy shares.

    Parameters
    ----------
    law : ``"dirichlet"``: y ~ Dirichlet(r f + alpha); ``"discrete_laplace"`` or ``"discrete_gaussian"``: integer-valued
        noise with scale `scale` is added to f, values below `floor` are replaced by `floor`, and the result is
        normalised.
    words : description of the mechanism.
    r, alpha : parameters of the Dirichlet distribution, > 0.
    scale : scale of the discrete noise, > 0.
    floor : lower bound of the noisy counts, > 0.
    """

    law: str
    words: str
    r: float = np.nan
    alpha: float = np.nan
    scale: float = np.nan
    floor: float = np.nan

    def log_weights(self, released: Array, total: int) -> Array:
        """Return the log-likelihood of each count 0..total in every cell, as a float64 array of shape (cells, total +
        1). A constant per cell is omitted.

        Given the total, the normalising constant of the Dirichlet density does not depend on the counts, so the density
        is a product over cells. The noisy counts before normalisation are assumed to sum to the total.
        """
        s = np.arange(total + 1)
        if self.law == "dirichlet":
            return np.asarray(self.r * np.log(released)[:, None] * s - gammaln(self.r * s + self.alpha))
        laplace = self.law == "discrete_laplace"
        noise = DiscreteLaplace(scale=self.scale) if laplace else DiscreteGaussian(sigma=self.scale)
        rows = []
        for noisy in released * total:
            if noisy > self.floor * 1.001:
                rows.append(np.asarray(noise.log_weights(np.rint(noisy), s), dtype=float))
                continue
            below = np.arange(np.floor(self.floor), np.floor(self.floor) - 40 * self.scale - 2, -1)
            rows.append(np.logaddexp.reduce([np.asarray(noise.log_weights(value, s)) for value in below], axis=0))
        return np.stack(rows)

    def share(self, released: Array, total: float) -> tuple[Array, Array]:
        """Return the estimates of the shares by the method of moments, and the standard deviations of these
        estimates.
        """
        if self.law == "dirichlet":
            whole = self.r * total + len(released) * self.alpha
            sd = np.sqrt(released * (1 - released) / (whole + 1)) * whole / (self.r * total)
            return (released * whole - self.alpha) / (self.r * total), sd
        spread = self.scale * (np.sqrt(2) if self.law == "discrete_laplace" else 1.0)
        return released.copy(), np.full(len(released), spread / total)


def posterior(released: ArrayLike, *, total: int, mechanism: Mechanism, prior: float = 1.0) -> DirichletMixture:
    """Return the posterior of the probabilities given one released histogram of `total` records.

    Parameters
    ----------
    released : released shares, shape (cells,), all above 0.
    total : public number of records.
    mechanism : mechanism of the release.
    prior : concentration of the Dirichlet(prior, .., prior) prior.

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.

    Notes
    -----
    The posterior is exact for the Dirichlet mechanism. The cost is O(cells total^2) for up to 10,000 records, and
    O(cells total log total) for more records.
    """
    y = _checks.reals("released", released, least_size=2)
    total = _checks.integer("total", total, least=1, most=LARGEST_TOTAL)
    if not (y > 0).all():
        raise ValueError(f"released must contain only numbers > 0, got {y.min()}")
    logs = mechanism.log_weights(y / y.sum(), total)
    logs -= logs.max(axis=1, keepdims=True)
    return noisy_counts.posterior(logs, np.full(len(y), _checks.positive("prior", prior)))


def summary(
    names: list[str],
    released: Array,
    *,
    total: float,
    public: bool,
    mechanism: Mechanism,
    prior: float,
    level: float,
) -> pd.DataFrame:
    """Return a summary of the posterior with one row per cell and the columns `accuracy.SUMMARY`.

    `public` is True if `total` is the true number of records, and False if it is an estimate. If the total is an
    estimate, the posterior is conditional on the estimate. With more than `LARGEST_EXACT` records, the posterior is a
    normal approximation. The accuracy status states both.
    """
    if len(released) == 1:
        return summary_frame(names, mean=[1.0], sd=[0.0], lower=[1.0], upper=[1.0], level=level, status=EXACT)
    if public or total <= LARGEST_EXACT:
        law = posterior(released, total=max(1, round(total)), mechanism=mechanism, prior=prior)
        frame = law.summary(level).assign(quantity=names)
        exact = public and mechanism.law == "dirichlet"
        return frame if exact else frame.assign(status="approximate")
    mean, sd = mechanism.share(released / released.sum(), total)
    sd = np.hypot(
        sd, np.sqrt(np.clip(mean * (1 - mean), 0.0, None) / total)
    )  # the true records are themselves a random sample
    half = ndtri((1 + level) / 2) * sd
    mean, low, high = (np.clip(v, 0.0, 1.0) for v in (mean, mean - half, mean + half))
    status = Accuracy("approximate", np.nan, "normal approximation from moment estimates, total estimated")
    return summary_frame(names, mean=mean, sd=sd, lower=low, upper=high, level=level, status=status)
