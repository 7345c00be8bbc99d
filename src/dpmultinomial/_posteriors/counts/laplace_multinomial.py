"""Exact posterior distribution of multinomial probabilities given counts with Laplace noise, in the model of Balmat et
al. (2018).

Model: p ~ Dirichlet(alpha), S | p ~ Multinomial(M, p), noisy count i = S_i + Laplace(scale). By conjugacy, only S has
to be summed over: p | noisy counts is a mixture of the distributions Dirichlet(alpha + S), and the weight of S given
its sum is a product of the factors a_i(s) = Gamma(s + alpha_i)/s! exp(-|noisy_i - s|/scale). No MCMC is needed
(derivation: methods of Balmat et al., 2018, in the documentation).

The release is epsilon-DP if the scale is 2/epsilon, because moving one partition changes two counts by one each. The
paper uses 1/epsilon in the text and 2/epsilon in the listings. Two-sided geometric noise on the integers has the same
posterior, with weights exp(-|x|/scale).
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
    """Compute the exact posterior distribution of the multinomial probabilities p given counts with Laplace noise.

    Parameters
    ----------
    noisy_counts : float (k,), k >= 2; any finite numbers, which may be negative or above the total, and need not sum to
        it.
    total : integer >= 0, the public number of partitions M.
    scale : Laplace scale of the noise, > 0; one number or one number per category. For epsilon-DP, the scale is
        2/epsilon.
    alpha : Dirichlet prior, > 0; one number or one number per category.

    Returns
    -------
    DirichletMixture Means and variances have a relative error of 1e-10. At a quantile, the smaller tail probability has
        a relative error of 1e-11 if the counts are listed, and otherwise the error that the share states
        (`BetaMixture`, `ShareLaw`).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    Cost: O(k M^2) time and O(k M) memory up to M = 10,000, compared with C(M + k - 1, k - 1) rows of a table; for
    larger M, O(k w log w) time and O(k w) memory for windows of w counts, as wide as the noise (`windowed_sum`). The
    method does not overflow for any M and any noise, because the factors are tilted so that their free sum has mean M
    (`_fixed_sum`). Shares among some categories (`given`) use the list of pairs of counts with non-negligible weight if
    it is short; otherwise, their density is interpolated and the error is stated (`share_law`). At M = 1,000,000,
    moments take less than a second, and quantiles a few seconds.
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
    """Return the distribution of the multinomial probabilities p after one Gibbs iteration that starts at a fixed p.
    The iteration draws counts S by equation (1) of Balmat et al., and then p from Dirichlet(alpha + S).

    Both printed listings sample from this distribution after their random initial p. The reason is that the loop
    assigns the new p inside a function and does not use it in the next iteration.

    Parameters
    ----------
    probabilities : float (k,), the fixed p; non-negative, divided by their sum, at least one positive.
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
    """Generate correlated draws of the multinomial probabilities p by Gibbs sampling, as described in sections 5.1 and
    6 of Balmat et al. Each iteration starts from the p of the previous iteration.

    Parameters
    ----------
    noisy_counts, total, scale, alpha : as in `exact`.
    draws, burn_in : integers; the paper keeps 4,000 draws after 1,000 draws of burn-in.
    rng : numpy Generator.
    kernel : ``"convolution"`` (O(k M^2) per iteration) or ``"table"`` (the paper's method: one weight for every
        composition).
    initial : first p; None draws it from the prior, as in section 6.4.
    frozen : True uses the first p in all iterations, as both printed listings do. The draws are then independent draws
        of `conditional`, not of the posterior.

    Returns
    -------
    float64 (draws, k). 4,000 draws have an effective sample size of 1,400 to 2,900 (`exact(..).sample` gives
        independent draws).
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
        raise ValueError(f"scale must be >= 1e-100 times the total ({total}), got {scales.min()}")
    return noisy, total, scales, _checks.positives("alpha", alpha, len(noisy))


def _probabilities(name: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
    p = _checks.reals(name, values)
    if p.shape != (size,) or p.min() < 0 or not p.sum() > 0:
        raise ValueError(f"{name} must contain {size} numbers >= 0 with a positive sum, got {values!r}")
    return np.asarray(p / p.sum())


def _log_noise(noisy: NDArray[np.float64], s: NDArray[np.int64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log Laplace density of each of k noisy counts given each true count in s, up to a constant, as a
    float64 array of shape (k, len(s)).

    Outside 0..M, the distances to all s increase by the same amount, so a noisy count can be replaced by the nearest
    end of the range.
    """
    return np.asarray(-np.abs(np.clip(noisy, s[0], s[-1])[:, None] - s) / scale[:, None])


def _log_noise_within(
    total: int, noisy: NDArray[np.float64], scale: NDArray[np.float64], s: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the log Laplace density of one noisy count, given each of several true counts between 0 and `total`, up to
    a constant.
    """
    return np.asarray(-np.abs(np.clip(noisy, 0, total) - s) / scale)
