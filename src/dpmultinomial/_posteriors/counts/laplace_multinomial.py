"""Posterior of multinomial probabilities from counts with Laplace noise, in the model of Balmat et al. (2018).

p ~ Dirichlet(alpha), S | p ~ Multinomial(M, p), noisy count i = S_i + Laplace(scale). Conjugacy leaves S as the only
unknown: p | noisy counts is a mixture of Dirichlet(alpha + S), and S has independent factors given its sum,
a_i(s) = Gamma(s + alpha_i)/s! exp(-|noisy_i - s|/scale). No MCMC is needed (derivation: methods of Balmat et al., 2018,
in the documentation).

The scale that makes the release epsilon-DP is 2/epsilon: moving one partition changes two counts by one each. The
paper's text writes 1/epsilon, its listings 2/epsilon. Two-sided geometric noise on integers has the same posterior with
exp(-|x|/scale) as its weights.
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

from ... import _checks
from . import _fixed_sum, compositions
from .dirichlet_mixture import DirichletMixture
from .noisy_counts import DIRECT_TOTAL, law_of_counts
from .noisy_counts import posterior as noisy_counts_posterior
from .windowed_sum import WindowedSumLaw, windows_of

KERNELS = ("convolution", "table")


def exact(noisy_counts: ArrayLike, *, total: int, scale: ArrayLike, alpha: ArrayLike) -> DirichletMixture:
    """Compute the exact posterior of the multinomial probabilities p given counts with Laplace noise.

    Parameters
    ----------
    noisy_counts : float (k,), k >= 2; any finite numbers, also negative, above the total, or not adding up to it.
    total : integer >= 0, the public number of partitions M.
    scale : Laplace scale of the noise, > 0; one number or one per category. 2/epsilon for epsilon-DP.
    alpha : Dirichlet prior, > 0; one number or one per category.

    Returns
    -------
    DirichletMixture
        Means and variances to 1e-10; at a quantile the nearer tail has a relative error of 1e-11 if counts are listed,
        else the one that the share states (`BetaMixture`, `ShareLaw`).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    O(k M^2) time and O(k M) memory up to M = 10,000, against C(M + k - 1, k - 1) table rows; beyond, O(k w log w) and
    O(k w) for windows of w counts, as wide as the noise (`windowed_sum`). Safe at any M and any noise: the factors are
    tilted so that their free sum has its mean at M (`_fixed_sum`). Shares among some categories (`given`) list the
    pairs of counts that carry weight where these are few, else they interpolate their density and state the error
    (`share_law`): at M = 1,000,000 moments take under a second, quantiles a few seconds.
    """
    noisy, total, scales, prior = _checked(noisy_counts, total, scale, alpha)
    if total > DIRECT_TOTAL:
        rows = zip(noisy[:, None], scales[:, None], strict=True)
        likelihoods = [partial(_log_noise_within, total, *row) for row in rows]
        return DirichletMixture(prior, WindowedSumLaw(windows_of(likelihoods, prior, total), total))
    return noisy_counts_posterior(_log_noise(noisy, np.arange(total + 1), scales), prior)


def conditional(
    noisy_counts: ArrayLike, *, probabilities: ArrayLike, total: int, scale: ArrayLike, alpha: ArrayLike
) -> DirichletMixture:
    """Return the distribution of Dirichlet(alpha + S), where S is drawn given a fixed p: equation (1) of Balmat et al.,
    then one Dirichlet step.

    This distribution is what both printed listings sample after their random initial p: the assignment of the new p
    inside the loop's function never reaches the next iteration.

    Parameters
    ----------
    probabilities : float (k,), the fixed p; non-negative, scaled to 1, positive somewhere.
    noisy_counts, total, scale, alpha : as in `exact`.

    Returns
    -------
    DirichletMixture
    """
    noisy, total, scales, prior = _checked(noisy_counts, total, scale, alpha)
    p = _probabilities("probabilities", probabilities, len(noisy))
    s = np.arange(total + 1)
    return DirichletMixture(prior, law_of_counts(xlogy(s, p[:, None]) - gammaln(s + 1) + _log_noise(noisy, s, scales)))


def gibbs(
    noisy_counts: ArrayLike,
    *,
    total: int,
    scale: ArrayLike,
    alpha: ArrayLike,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    kernel: str = "convolution",
    initial: ArrayLike | None = None,
    frozen: bool = False,
) -> NDArray[np.float64]:
    """Generate correlated draws of the multinomial probabilities p by Gibbs sampling (sections 5.1 and 6 of Balmat et
    al., where each iteration starts from the p of the previous one).

    Parameters
    ----------
    noisy_counts, total, scale, alpha : as in `exact`.
    draws, burn_in : integers; the paper keeps 4,000 after 1,000.
    rng : numpy Generator.
    kernel : ``"convolution"`` (O(k M^2) an iteration) or ``"table"`` (the paper's: a weight for every composition).
    initial : first p; None draws it from the prior, as in section 6.4.
    frozen : True keeps the first p for all iterations, as both printed listings do. The draws are then independent
        draws of `conditional`, not of the posterior.

    Returns
    -------
    float64 (draws, k). 4,000 draws are worth 1,400 to 2,900 independent ones (`exact(..).sample` gives those).
    """
    noisy, total, scales, prior = _checked(noisy_counts, total, scale, alpha)
    _checks.one_of("kernel", kernel, KERNELS)
    _checks.generator(rng)
    p = rng.dirichlet(prior) if initial is None else _probabilities("initial", initial, len(noisy))
    draws, burn_in = _checks.integer("draws", draws), _checks.integer("burn_in", burn_in)
    if frozen:
        law = conditional(noisy, probabilities=p, total=total, scale=scales, alpha=prior)
        return law.sample(burn_in + draws, rng=rng)[burn_in:]
    if kernel == "convolution":
        s = np.arange(total + 1)
        static = _log_noise(noisy, s, scales) - gammaln(s + 1)
        reference = prior + np.clip(noisy, 0, total)
        start = reference / reference.sum()
        return _fixed_sum.convolution_chain(static, prior, p, start, draws=draws, burn_in=burn_in, rng=rng)
    counts, log_coefficients = compositions.log_multinomial_table(total, len(noisy))
    static = log_coefficients + _log_noise(noisy, np.arange(total + 1), scales)[range(len(noisy)), counts].sum(axis=1)
    return _fixed_sum.table_chain(counts, static, prior, p, draws=draws, burn_in=burn_in, rng=rng)


def _checked(
    noisy_counts: ArrayLike, total: int, scale: ArrayLike, alpha: ArrayLike
) -> tuple[NDArray[np.float64], int, NDArray[np.float64], NDArray[np.float64]]:
    noisy = _checks.reals("noisy_counts", noisy_counts, least_size=2)
    total, scales = _checks.integer("total", total), _checks.positives("scale", scale, len(noisy))
    if scales.min() < 1e-100 * max(total, 1):
        raise ValueError(f"scale must be at least 1e-100 times the total, got {scales.min()}")
    return noisy, total, scales, _checks.positives("alpha", alpha, len(noisy))


def _probabilities(name: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
    p = _checks.reals(name, values)
    if p.shape != (size,) or p.min() < 0 or not p.sum() > 0:
        raise ValueError(f"{name} must contain {size} numbers >= 0 with a positive sum, got {values!r}")
    return np.asarray(p / p.sum())


def _log_noise(noisy: NDArray[np.float64], s: NDArray[np.int64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log Laplace density of every noisy count given every true count, up to a constant, float64 (k,
    len(s)).

    Beyond 0..M the distance to every s grows by the same amount, so the noisy count can be moved to the end of the
    range.
    """
    return np.asarray(-np.abs(np.clip(noisy, s[0], s[-1])[:, None] - s) / scale[:, None])


def _log_noise_within(
    total: int, noisy: NDArray[np.float64], scale: NDArray[np.float64], s: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return one row of `_log_noise` for some of the true counts 0..total."""
    return np.asarray(-np.abs(np.clip(noisy, 0, total) - s) / scale)
