"""Regression of rates or shares on covariates, given privacy-protected counts. The log posterior of the
hyperparameters, its gradient and its Hessian are computed by exact sums over the counts, and the mode by Newton's
method.

    rates:  theta_i ~ Gamma(a, mean mu_i), log mu_i = x_i'b;  D_i ~ Poisson(theta_i E_i)
    shares: p_i ~ Beta(a mu_i, a (1 - mu_i)), logit mu_i = x_i'b;  D_i ~ Binomial(N_i, p_i)

with log a ~ N(centre, sd), b ~ N(0, sd) and values y_i that are released from D_i by any mechanism. With the score l'
and the Hessian l'' of log p(D_i | a, b), the log evidence has the gradient E[l'] and the Hessian E[l''] + Var[l'] over
the posterior of D_i (and of the exposure, if the exposure is uncertain), given y_i (Louis, 1982, J. R. Stat. Soc. B 44,
226-233).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, polygamma, psi

from ..._printing import steps
from . import _rate_sums
from .likelihoods import Likelihoods

Array = NDArray[np.float64]
_STEPS = 100
_GAIN = 1e-9  # the search ends if the predicted gain of a Newton step is below this
_LARGEST = 40.0  # larger values of |log a| and |x'b| are not evaluated
_FARTHEST = 300.0  # limit of |x'b| at the nodes of a quadrature rule


@dataclass(frozen=True)
class Prior:
    """Independent normal priors of the hyperparameters (log a, b) of a regression.

    Parameters
    ----------
    centre, sd : mean and standard deviation of log a; sd may be infinite.
    slopes : standard deviation of the coefficients b.
    """

    centre: float
    sd: float
    slopes: float

    def terms(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the log prior density of the hyperparameters, its gradient and the diagonal of its Hessian. An
        improper part of the prior contributes 0.
        """
        gaps = parameters - np.r_[self.centre, np.zeros(len(parameters) - 1)]
        precision = np.r_[self.sd, np.full(len(parameters) - 1, self.slopes)] ** -2.0
        constant = np.log(precision[precision > 0] / (2 * np.pi)).sum() / 2
        return float(constant - (precision * gaps**2).sum() / 2), -precision * gaps, -precision


@dataclass(frozen=True)
class Terms:
    """Log evidence of every area of a regression, with the first and second derivatives of the log evidence.

    Parameters
    ----------
    log_evidence : float64 (n,).
    shape, mean : float64 (n,), derivatives with respect to log a and x_i'b.
    shape_shape, shape_mean, mean_mean : float64 (n,), second derivatives.
    """

    log_evidence: Array
    shape: Array
    mean: Array
    shape_shape: Array
    shape_mean: Array
    mean_mean: Array


class Model:
    """Log posterior of the hyperparameters (log a, b) of a regression of rates or shares.

    Parameters
    ----------
    table : likelihoods of the counts.
    exposure : float64 (n, nodes), > 0; 0 for areas without a measurement.
    log_node : float64 (n, nodes), log weights of the nodes.
    design : float64 (n, p), with a column of ones.
    prior : priors of the hyperparameters.
    shares : whether counts are binomial; if so, `exposure` (n, 1) contains the numbers of persons.
    """

    def __init__(
        self, table: Likelihoods, exposure: Array, log_node: Array, design: Array, prior: Prior, *, shares: bool
    ) -> None:
        self.table, self.exposure, self.log_node = table, np.ascontiguousarray(exposure), log_node
        self.design, self.prior, self.shares = np.ascontiguousarray(design), prior, shares

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def _all(self) -> tuple[Array, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        return self.table.of(slice(0, len(self.table)))

    def pair(self, parameters: Array, offset: Array | float = 0.0) -> tuple[Array, Array]:
        """Return the two hyperparameters of every area for the compiled kernel, as two float64 arrays of shape (n,).
        They are (a, mu) for rates, or (A, B) for shares. The `offset` is added to x_i'b. The sum is limited, so that
        the mean of an area and its square are neither 0 nor infinite.
        """
        a = np.exp(parameters[0])
        linear_predictor = np.clip(self.design @ parameters[1:] + offset, -_FARTHEST, _FARTHEST)
        if self.shares:
            return a * expit(linear_predictor), a * expit(-linear_predictor)
        return np.full(len(linear_predictor), a), np.exp(linear_predictor)

    def terms(self, parameters: Array) -> Terms:
        """Compute the log evidence of every area, and its derivatives.

        Parameters
        ----------
        parameters : float64 (p + 1,), log a and b.

        Returns
        -------
        Terms
        """
        first, second = self.pair(parameters)
        sums = _rate_sums.sums(*self._all, first, second, self.exposure, shares=self.shares)
        log, m1, m2, v11, v12, v22, t1, t2 = np.moveaxis(sums, 2, 0)
        if self.shares:
            scores, spread, curve = self._shares(first, second, m1, m2, v11, v12, v22, t1, t2)
        else:
            scores, spread, curve = self._rates(first, second, m1, m2, v11, v12, v22, t1)
        (s, e), (ss, se, ee), (curve_s, curve_se, curve_e) = scores, spread, curve
        joint = log + self.log_node
        evidence = logsumexp(joint, axis=1)
        w = np.exp(joint - evidence[:, None])

        def mean(x: Array) -> Array:
            return np.asarray((w * x).sum(axis=1))

        es, ee_ = mean(s), mean(e)
        return Terms(
            evidence + self.table.log_top,
            es,
            ee_,
            mean(curve_s + ss + s * s) - es * es,
            mean(curve_se + se + s * e) - es * ee_,
            mean(curve_e + ee + e * e) - ee_ * ee_,
        )

    def _rates(
        self, shape: Array, mu: Array, d: Array, u: Array, dd: Array, du: Array, uu: Array, t: Array
    ) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
        """Return, for every area, the posterior means and variances of the scores for the shape a and the prior mean mu
        of the rate. The scores are derivatives with respect to (log a, log mu). Also return the posterior means of the
        second derivatives.
        """
        a = shape[:, None]
        m = mu[:, None] * self.exposure
        q = a + m
        by_mean = a * (d - m) / q
        by_shape = a * (u + np.log(a / q) + 1 - (a + d) / q)
        spread = (
            # variance of the score with respect to log a, which is a (u - d/q) + constant
            a * a * (uu - 2 * du / q + dd / q**2),
            a * a * (du - dd / q) / q,
            a * a * dd / q**2,
        )
        curve = (
            by_shape + a * a * (t + 1 / a - 1 / q - (m - d) / q**2),
            by_mean * m / q,
            -(a + d) * m * a / q**2,
        )
        return (by_shape, by_mean), spread, curve

    def _shares(
        self, A: Array, B: Array, u: Array, v: Array, uu: Array, uv: Array, vv: Array, tu: Array, tv: Array
    ) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
        """Return the posterior means and variances of the scores for every area, and the posterior means of the second
        derivatives. The scores are derivatives with respect to (log a, logit mu).
        """
        A, B = A[:, None], B[:, None]
        a, n = A + B, self.exposure
        mu = A / a
        c = a * mu * (1 - mu)
        rest = psi(a) - psi(a + n)
        curve_rest = polygamma(1, a) - polygamma(1, a + n)
        by_shape, by_mean = A * u + B * v + a * rest, c * (u - v)
        spread = (
            A * A * uu + 2 * A * B * uv + B * B * vv,
            c * (A * (uu - uv) + B * (uv - vv)),
            c * c * (uu - 2 * uv + vv),
        )
        curve = (
            by_shape + A * A * tu + B * B * tv + a * a * curve_rest,
            by_mean + c * (A * tu - B * tv),
            c * c * (tu + tv) + c * (1 - 2 * mu) * (u - v),
        )
        return (by_shape, by_mean), spread, curve

    def value(self, parameters: Array) -> float:
        """Return the unnormalised log posterior of the hyperparameters: the log prior density plus the log evidence of
        all areas.
        """
        if not self._inside(parameters):
            return -np.inf
        return self.prior.terms(parameters)[0] + float(self.log_evidence(parameters).sum())

    def log_evidence(self, parameters: Array) -> Array:
        """Return the log evidence of every area given hyperparameters (log a, b), as a float64 array of shape (n,)."""
        first, second = self.pair(parameters)
        sums = _rate_sums.sums(*self._all, first, second, self.exposure, shares=self.shares, moments=False)
        return np.asarray(logsumexp(sums[:, :, 0] + self.log_node, axis=1) + self.table.log_top)

    def _inside(self, parameters: Array) -> bool:
        linear_predictor = self.design @ parameters[1:]
        return bool(abs(parameters[0]) <= _LARGEST and np.abs(linear_predictor).max(initial=0.0) <= _LARGEST)

    def objective(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the log posterior of the hyperparameters (log a, b), its gradient and its Hessian."""
        if not self._inside(parameters):
            size = len(parameters)
            return -np.inf, np.zeros(size), np.zeros((size, size))
        terms = self.terms(parameters)
        value, slope, curve = self.prior.terms(parameters)
        hessian = np.diag(curve)
        hessian[0, 0] += terms.shape_shape.sum()
        cross = self.design.T @ terms.shape_mean
        hessian[0, 1:] += cross
        hessian[1:, 0] += cross
        hessian[1:, 1:] += (self.design * terms.mean_mean[:, None]).T @ self.design
        gradient = slope + np.r_[terms.shape.sum(), self.design.T @ terms.mean]
        return value + float(terms.log_evidence.sum()), gradient, hessian

    def start(self, crude: float) -> Array:
        """Return the starting point of the search for the posterior mode. It consists of log a from the prior and of
        coefficients b that give the same rate in all areas.
        """
        level = np.log(crude / (1 - crude)) if self.shares else np.log(crude)
        b = np.linalg.lstsq(self.design, np.full(len(self.design), level), rcond=None)[0]
        return np.asarray(np.r_[self.prior.centre, b])

    def fit(self, start: Array, *, fixed: bool = False, gain: float = _GAIN) -> "Fit":
        """Compute the mode of the log posterior of the hyperparameters by Newton's method with step halving.

        Parameters
        ----------
        start : float64 (p + 1,), hyperparameters.
        fixed : whether log a is fixed.
        gain : the search ends if the predicted gain of a step is smaller.

        Returns
        -------
        Fit
        """
        current = np.array(start, dtype=np.float64)
        free = np.arange(int(fixed), len(current))
        value, gradient, hessian = self.objective(current)
        done, taken = False, 0
        for _ in steps(range(_STEPS), _STEPS, "Newton steps at most"):
            roots, vectors = np.linalg.eigh(-hessian[np.ix_(free, free)])
            step = vectors @ ((vectors.T @ gradient[free]) / np.maximum(np.abs(roots), 1e-8))
            expected = float(gradient[free] @ step)
            if expected < gain:
                done = bool(roots.min() > 0)
                break
            size = min(1.0, 2.0 / np.abs(step).max())
            slack = 1e-13 * abs(value)
            while True:
                new = current.copy()
                new[free] += size * step
                new_objective = self.objective(new)
                if new_objective[0] >= value - slack or size < 1e-8:
                    break
                size /= 2
            taken += 1
            if size < 1e-8:
                done = expected < 1e-6
                break
            current, (value, gradient, hessian) = new, new_objective
        return Fit(current, value, -hessian[np.ix_(free, free)], taken, done)


@dataclass(frozen=True)
class Fit:
    """Mode of the log posterior of the hyperparameters.

    Parameters
    ----------
    parameters : float64 (p + 1,), log a and b.
    value : log posterior at the mode.
    information : float64, negative Hessian, without log a if log a was fixed.
    steps : number of Newton steps.
    done : whether the search ended at a mode.
    """

    parameters: Array
    value: float
    information: Array
    steps: int
    done: bool

    @cached_property
    def covariance(self) -> Array:
        """Approximate posterior covariance matrix of the hyperparameters, computed as the inverse of the information
        matrix.
        """
        return np.asarray(np.linalg.inv(self.information))

    @property
    def log_marginal(self) -> float:
        """Log of the marginal posterior density of the fixed parameters. All other parameters are integrated out by
        Laplace's method.
        """
        return float(self.value - np.linalg.slogdet(self.information / (2 * np.pi))[1] / 2)
