"""Compare simulated censored samples with the distributions of the four statistics on the slides of Raim (2021). In
addition, define the targets of the sampler.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, lambertw, logsumexp

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics

from ...verdicts import power
from . import formulas
from .algorithms import censored_normal
from .algorithms import direct_sampling as ds
from .algorithms.direct_sampling import LEAST_COUNT

Array = NDArray[np.float64]

LEVEL = 1e-4  # level of every test (published.tsv)
# most sensitive parameter of a target: the noise scale changes xi_mean only in the fifth decimal
TELLS = {"xi_mean": "sigma2", "xi_sse": "scale"}
WORDS = {"xi_mean": "sigma2/s_c", "xi_sse": "noise scale"}
_LEAST = -600.0  # if log u divided by alpha - 1 is below this, A_u is nearly the whole support
_CELL = 60  # number of integration points of a bin
_WHOLE = 40_001  # number of integration points of a normalising constant


@dataclass(frozen=True)
class Target:
    """Target density of the noise xi_mean or xi_sse: a product of a Laplace density and a weight function. The weight
    function has the shape of a normal density (xi_mean) or of a reflected gamma density (xi_sse).
    """

    kind: str
    z: float
    mu: float
    sigma2: float
    count: float
    scale: float

    @property
    def variance(self) -> float:
        """Return the variance tau^2 of the normal weight function of the sampler."""
        return self.sigma2 / self.count

    @property
    def shape(self) -> float:
        """Return the shape parameter alpha of the gamma weight function. The scale beta of the gamma weight is 2
        sigma2.
        """
        return (self.count - 1) / 2

    def log_weight(self, xi: Array) -> Array:
        """Return the log of the relative weight w(xi)/c, where c is the maximum of the weight."""
        if self.kind == "xi_mean":
            return -((self.z - xi - self.mu) ** 2) / (2 * self.variance)
        s = self.z - xi
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = (self.shape - 1) * np.log(s) - s / (2 * self.sigma2)
        top = (self.shape - 1) * np.log(2 * self.sigma2 * (self.shape - 1)) - (self.shape - 1)
        return np.where(s > 0, logs - top, -np.inf)

    def log_maximum(self) -> float:
        """Return the log of the maximum c of the weight function. It is 0 for the normal weight and has the printed
        value for the gamma weight.
        """
        if self.kind == "xi_mean":
            return 0.0
        a = self.shape
        return float((a - 1) * np.log(a - 1) - (a - 1) - gammaln(a) - np.log(2 * self.sigma2))

    def ends(self, log_u: Array) -> tuple[Array, Array]:
        """Return the ends of the interval A_u, on which the relative weight exceeds u, for given values of u. They
        follow from the printed formula for the normal weight, and from Lambert's function for the gamma weight (w(s) =
        u c at s = -s* W(..)).
        """
        if self.kind == "xi_mean":
            with np.errstate(invalid="ignore"):  # for u > 1, A_u is empty, and the result is NaN
                reach = np.sqrt(-2 * self.variance * np.asarray(log_u, dtype=float))
            return self.z - self.mu - reach, self.z - self.mu + reach
        top = 2 * self.sigma2 * (self.shape - 1)
        inside = -np.exp(-1 + np.maximum(log_u / (self.shape - 1), _LEAST))
        large, small = (-top * lambertw(inside, k).real for k in (-1, 0))
        return self.z - large, self.z - small

    def area(self, u: Array | pd.Series) -> Array:
        """Return the probability P(A_u) that the relative weight exceeds u, for u up to 1. It equals G(x2) - G(x1),
        where G is the distribution function of the noise, and x1 and x2 are the ends of the interval A_u.
        """
        with np.errstate(divide="ignore"):
            return self.log_area(np.log(np.asarray(u, dtype=float)))

    def log_area(self, log_u: Array | pd.Series) -> Array:
        """Return the probability that the relative weight exceeds u, as a function of log u. The relative weight
        exceeds u on the interval A_u.
        """
        low, high = self.ends(np.asarray(log_u, dtype=float))
        return formulas.laplace_cdf(high, self.scale) - formulas.laplace_cdf(low, self.scale)

    def density(self, xi: Array) -> Array:
        """Return the target density w g/psi, where w is the weight function, g is the density of the noise, and psi is
        a normalising constant computed by quadrature.
        """
        return np.exp(self._log(np.asarray(xi, dtype=float)) - self.log_psi)

    def masses(self, edges: Array) -> Array:
        """Return the probabilities of the intervals between consecutive edges under the target distribution."""
        parts = np.diff(edges)[:, None] * (np.arange(_CELL) + 0.5) / _CELL
        return np.exp(self._log(edges[:-1, None] + parts) - self.log_psi).mean(axis=1) * np.diff(edges)

    def changed(self, **parts: float) -> "Target":
        """Return a copy of the target density in which the given parameters are changed."""
        return Target(**{field.name: getattr(self, field.name) for field in fields(self)} | parts)

    def _log(self, xi: Array) -> Array:
        return self.log_weight(xi) - np.abs(xi) / self.scale

    @cached_property
    def log_psi(self) -> float:
        """Return log(2 b psi/c), where b is the scale of the Laplace base distribution, psi is the normalising
        constant, and c is the maximum of the weight. It is computed by quadrature over the range in which the weight is
        not negligible.
        """
        sd = self.variance**0.5 if self.kind == "xi_mean" else 2 * self.sigma2 * self.shape**0.5
        centre = self.z - self.mu if self.kind == "xi_mean" else self.z - 2 * self.sigma2 * self.shape
        pull = sd**2 / self.scale
        grid = np.linspace(centre - 12 * sd - pull, centre + 12 * sd + pull, _WHOLE)
        grid = np.append(grid, 0.0) if grid[0] < 0 < grid[-1] else grid  # kink of the base
        grid.sort()
        logs = self._log(grid)
        top = logs.max()
        return float(top + np.log(np.trapezoid(np.exp(logs - top), grid)))


def statistics_laws(
    *, mu: float, sigma2: float, n: int, lower: float, upper: float, data_sets: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Compare the statistics of simulated samples with the distributions on the slides of Raim (2021), and with
    distributions that follow from truncated normal distributions.

    Every statistic is transformed by its cdf (randomised for a count), which makes it uniform under the correct
    distribution. The test is Kolmogorov's.

    Returns
    -------
    DataFrame with the columns statistic, variant, law, data_sets, mean, law_mean, sd, law_sd (at the average s_c),
        p_value and seen (relative change of a count's probability, or of a statistic's scale, that the test rejects).
    """
    mechanism = CensoredStatistics(lower=lower, upper=upper)
    sigma = sigma2**0.5
    statistics = np.array([mechanism.of(mu + sigma * rng.standard_normal(n)) for _ in range(data_sets)])
    mean, sse, low, high = statistics.T
    inside = n - low - high
    q_low, q_high = np.asarray(stats.norm.cdf([(lower - mu) / sigma, (mu - upper) / sigma]))
    cut = stats.truncnorm((lower - mu) / sigma, (upper - mu) / sigma, loc=mu, scale=sigma)
    centre, second = cut.mean(), cut.var()
    fourth = cut.expect(lambda x: (x - centre) ** 4)
    beta = (fourth - second**2) / second
    laws = [
        ("s_high", "as_written", "Bin(n, q_u)", high, stats.binom(n, q_high)),
        ("s_low", "as_written", "Bin(n - s_u, q_l/(1 - q_u))", low, stats.binom(n - high, q_low / (1 - q_high))),
        ("s_mean", "as_written", "N(mu, sigma2/s_c)", mean, stats.norm(mu, sigma / inside**0.5)),
        ("s_mean", "corrected", "normal, truncated moments", mean, stats.norm(centre, (second / inside) ** 0.5)),
        ("s_sse", "as_written", "sigma2 chi2(s_c - 1)", sse, stats.gamma((inside - 1) / 2, scale=2 * sigma2)),
        ("s_sse", "corrected", "gamma, truncated moments", sse, stats.gamma((inside - 1) * second / beta, scale=beta)),
    ]
    rows = []
    for statistic, variant, name, values, law in laws:
        row = {"statistic": statistic, "variant": variant, "law": name, "data_sets": data_sets}
        row |= {"mean": values.mean(), "law_mean": np.mean(law.mean()), "sd": values.std(), "law_sd": _sd(law)}
        row["p_value"] = stats.kstest(_uniform(values, law, rng), "uniform").pvalue
        # nearly normal distributions: if a mean of m sds increases by a proportion x, the cdf changes by x m phi(0); if
        # an sd does, by x phi(1)
        centred = statistic == "s_mean"
        per_unit = stats.norm.pdf(1) if centred else stats.norm.pdf(0) * np.mean(law.mean()) / max(_sd(law), 1e-300)
        rows.append(row | {"seen": power.kolmogorov(per_unit, data_sets, LEVEL / 2)})
    return pd.DataFrame(rows)


def _sd(law) -> float:
    """Return the standard deviation of a statistic under an equally weighted mixture, which has one component per data
    set.
    """
    return float(np.sqrt(np.mean(law.var()) + np.var(law.mean())))


def _uniform(values: Array, law, rng: np.random.Generator) -> Array:
    if not hasattr(law, "pmf"):
        return law.cdf(values)
    return law.cdf(values - 1) + rng.random(len(values)) * law.pmf(values)


def counts_in_turn(
    *,
    z_mean: float, z_sse: float, z_low: float, z_high: float, n: int, lower: float, upper: float,
    delta_s: float, epsilon: float, draws: int, rng: np.random.Generator,
) -> pd.DataFrame:  # fmt: skip
    """Return the distribution of the number s_c of uncensored records, separately for two methods of drawing the
    counts. The distribution is conditional on theta = (0, 1) and the release. The counts are drawn sequentially, as in
    the slides, or jointly.

    Both distributions are computed by enumeration of all (s_low, s_high) under the slides' model. In addition, the
    first sweep of the sampler ``as_written`` is drawn `draws` times.

    Returns
    -------
    DataFrame with the columns s_c, in_turn and joint (probabilities), drawn (number of draws) and wider (in_turn with
        noise that is 1 % wider).
    """
    scale = delta_s / epsilon
    k = np.arange(n + 1)
    inside = n - k[:, None] - k  # rows s_low, columns s_high
    low, high, in_turn = _in_turn(Laplace(scale=scale), z_low, z_high, n, lower, upper)
    wider = _in_turn(Laplace(scale=1.01 * scale), z_low, z_high, n, lower, upper)[2]
    psi = np.full(n + 1, -np.inf)
    reached = np.unique(inside[in_turn > -40])
    reached = reached[reached >= LEAST_COUNT]
    psi[reached] = [_log_psi(int(c), z_mean, z_sse, scale) for c in reached]
    joint = high + low + np.where(inside >= 0, psi[np.maximum(inside, 0)], -np.inf)
    joint -= logsumexp(joint)
    laws = [_of_inside(law, inside, n) for law in (in_turn, joint, wider)]
    model: dict[str, Any] = {"n": n, "lower": lower, "upper": upper, "scale": scale, "initial": (0.0, 1.0)}
    size: dict[str, Any] = {"method": "as_written", "draws": 1, "burn_in": 0, "rng": rng}
    release = (z_mean, z_sse, z_low, z_high)
    drawn = [n - censored_normal.chain(release, **model, **size).draws[0, 4:6].sum() for _ in range(draws)]
    counts = np.bincount(np.array(drawn, dtype=int), minlength=n + 1)
    table = pd.DataFrame({"s_c": k, "in_turn": laws[0], "joint": laws[1], "drawn": counts, "wider": laws[2]})
    return table[(table[["in_turn", "joint"]].max(axis=1) > 1e-12) | (table["drawn"] > 0)].reset_index(drop=True)


def _in_turn(
    noise: Laplace, z_low: float, z_high: float, n: int, lower: float, upper: float
) -> tuple[Array, Array, Array]:
    """Return three arrays for sequential draws of s_high and s_low, the numbers of records censored from above and from
    below. The arrays are the log weights of s_low given s_high (one row per s_low), the log weights of s_high, and the
    log probabilities of both counts.
    """
    k = np.arange(n + 1)
    q_low, q_high = np.asarray(stats.norm.cdf([lower, -upper]))
    high = noise.log_weights(z_high, k) + stats.binom.logpmf(k, n, q_high)
    with np.errstate(divide="ignore"):
        low = noise.log_weights(z_low, k)[:, None] + stats.binom.logpmf(k[:, None], n - k, q_low / (1 - q_high))
    return low, high, high - logsumexp(high) + low - logsumexp(low, axis=0)


def _log_psi(count: int, z_mean: float, z_sse: float, scale: float) -> float:
    """Return the sum of the log normalising constants of the normal and the gamma statistic at theta = (0, 1). The sum
    is log psi_mean(s_c) + log psi_sse(s_c) for s_c uncensored records.
    """
    normal = ds.exact_normal(z_mean, mu=0.0, sigma2=1.0, count=count, scale=scale).log_normaliser
    gamma = ds.exact_gamma(z_sse, sigma2=1.0, count=count, scale=scale).log_normaliser
    return float(normal + 0.5 * np.log(count / (2 * np.pi)) + gamma)


def _of_inside(log_law: Array, inside: NDArray[np.int64], n: int) -> Array:
    good = inside >= 0
    sums = np.bincount(inside[good], np.exp(log_law[good]), minlength=n + 1)
    return cast(Array, sums)  # the type stub omits that sums of weights are float64


def privacy_loss(
    *, n: int, lower: float, upper: float, deltas: list[float], epsilon: float, draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the privacy loss for the pair of neighbouring data sets with the largest loss. Both data sets have n - 1
    records at the first limit. In one data set, the last record is at the second limit. In the other data set, the last
    record is beyond the second limit and is censored.

    Returns
    -------
    DataFrame with the columns delta_s; epsilon; change (L1, of the statistics); largest_loss (change x epsilon/delta_s,
        the supremum of the log ratio of densities); observed_largest (of `draws` releases); noise_p_value (of the noise
        compared with its Laplace distribution: twice the smaller p-value of Kolmogorov's test and a test of the mean
        absolute noise); and noise_sees (relative change of its scale that is rejected).
    """
    mechanism = CensoredStatistics(lower=lower, upper=upper)
    first = np.append(np.full(n - 1, upper), lower)
    second = np.append(np.full(n - 1, upper), lower - 1.0)
    first_noise, second_noise = mechanism.of(first), mechanism.of(second)
    change, rows = float(np.abs(first_noise - second_noise).sum()), []
    for delta in deltas:
        scale = delta / epsilon
        z = np.array([mechanism.release(first, epsilon=epsilon, sensitivity=delta, rng=rng) for _ in range(draws)])
        loss = (np.abs(z - second_noise) - np.abs(z - first_noise)).sum(axis=1) / scale
        noise = (z - first_noise).ravel()
        row = {"delta_s": delta, "epsilon": epsilon, "change": change, "largest_loss": change / scale}
        row |= {"observed_largest": loss.max(), "noise_p_value": _laplace_test(noise, scale)}
        # |noise|/scale is exponential, so each draw has one unit of information about log scale
        rows.append(row | {"noise_sees": power.normal(len(noise) ** 0.5, LEVEL / (2 * len(deltas)))})
    return pd.DataFrame(rows)


def _laplace_test(noise: Array, scale: float) -> float:
    """Return the p-value of two tests of Laplace noise, combined by a Bonferroni correction (twice the smaller
    p-value). The tests are a Kolmogorov-Smirnov test and a test of the mean absolute value of the noise.
    """
    z = (np.abs(noise).mean() / scale - 1) * len(noise) ** 0.5
    whole = float(stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue)
    return float(np.minimum(1.0, 2 * np.minimum(whole, 2 * stats.norm.sf(abs(z)))))
