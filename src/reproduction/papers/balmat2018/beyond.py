"""Extensions of the paper: the choice of epsilon, the realised share, more categories, the privacy of the releases, and
equations (3) and (4).

p is never simulated. Equation (3) multiplies the distribution of S given p, equation (1), by the prior of p. Given the
release, the prior must be weighted by Z(p), the denominator of (1). Without this weight, the distribution of p is the
prior for every release.
"""

from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, xlogy

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial

from .figure_1 import SHARE


def choosing_epsilon(
    *, totals: list[int], epsilons: list[float], probabilities: list[float], releases: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the posterior standard deviation of the share r = p1/(p1 + p0) for each total and epsilon, averaged over
    random releases.

    The columns are total, epsilon (infinite if there is no noise), sd, sd_se (simulation error over `releases` counts
    and noise values), and `relative`, the sd relative to the sd without noise.
    """
    rows = []
    for total in totals:
        counts = rng.multinomial(total, probabilities, releases)
        for epsilon in [*epsilons, np.inf]:
            scale = 1e-9 if np.isinf(epsilon) else Laplace.calibrated(epsilon, sensitivity=2.0).scale
            noise = rng.laplace(0.0, scale, counts.shape) if np.isfinite(epsilon) else np.zeros(counts.shape)
            sds = [
                laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=1.0).variance(**SHARE) ** 0.5
                for noisy in counts + noise
            ]
            se = np.std(sds, ddof=1) / np.sqrt(releases)
            rows.append({"total": total, "epsilon": epsilon, "sd": np.mean(sds), "sd_se": se})
    table = pd.DataFrame(rows)
    clean = table[np.isinf(table["epsilon"])].set_index("total")["sd"]
    return table.assign(relative=table["sd"] / table["total"].map(clean))


def realised_share(*, settings: dict[str, list[int]], total: int, epsilon: float) -> pd.DataFrame:
    """Return the posteriors of the realised share S1/(S1 + S0) and of r = p1/(p1 + p0). The realised share is the
    confidential value.

    The table is in long format, with the columns setting, kind, x, y and counts (of the setting, as text). Kinds:
    ``share``, the probability of each value; ``r``, the distribution function on a grid; and single numbers at x = NaN:
    ``share_mean``, ``share_sd``, ``r_mean``, ``r_sd`` and ``unknown``, the probability that S1 + S0 = 0.
    """
    scale = Laplace.calibrated(epsilon, sensitivity=2.0).scale
    grid = np.linspace(0, 1, 401)
    parts = []
    for setting, counts in settings.items():
        posterior = laplace_multinomial.exact(counts, total=total, scale=scale, alpha=1.0)
        values, weights = posterior.share_of_counts(**SHARE)
        known = np.isfinite(values)
        v, w = values[known], weights[known] / weights[known].sum()
        mean = w @ v
        single = {
            **{"share_mean": mean, "share_sd": np.sqrt(w @ (v - mean) ** 2), "unknown": weights[~known].sum()},
            **{"r_mean": posterior.mean(**SHARE), "r_sd": posterior.variance(**SHARE) ** 0.5},
        }
        about = {"setting": setting, "counts": ", ".join(map(str, counts))}
        parts.append(pd.DataFrame(about | {"kind": "share", "x": v, "y": w}))
        parts.append(pd.DataFrame(about | {"kind": "r", "x": grid, "y": posterior.cdf(grid, **SHARE)}))
        parts.append(pd.DataFrame(about | {"kind": list(single), "x": np.nan, "y": list(single.values())}))
    return pd.concat(parts, ignore_index=True)


def six_categories(*, counts: list[int], epsilon: float, rng: np.random.Generator) -> pd.DataFrame:
    """Return the exact posterior of every share for more than three categories, given one release of `counts`.

    The table is in long format, with the columns category, kind, x and y. Kinds: ``density`` on a grid, and single
    numbers at x = NaN: ``count``, ``noisy``, ``mean``, ``sd``, ``lower`` and ``upper``, where the last two are the ends
    of the central 95 % interval. A table of all compositions would have C(M + k - 1, k - 1) rows.
    """
    mechanism = Laplace.calibrated(epsilon, sensitivity=2.0)
    noisy = mechanism.sample(counts, rng=rng)
    posterior = laplace_multinomial.exact(noisy, total=sum(counts), scale=mechanism.scale, alpha=1.0)
    grid = np.linspace(0, 1, 501)
    parts = []
    for i, count in enumerate(counts):
        low, high = posterior.quantile([0.025, 0.975], category=i)
        single = {
            **{"count": count, "noisy": noisy[i], "lower": low, "upper": high},
            **{"mean": posterior.mean(category=i), "sd": posterior.variance(category=i) ** 0.5},
        }
        density = posterior.pdf(grid, category=i)
        parts.append(pd.DataFrame({"category": i + 1, "kind": "density", "x": grid, "y": density}))
        parts.append(pd.DataFrame({"category": i + 1, "kind": list(single), "x": np.nan, "y": list(single.values())}))
    return pd.concat(parts, ignore_index=True)


TEXT, LISTINGS, FIRST_P = "noise of the text", "noise of the listings", "first p from the counts"
_DISTANCE = {TEXT: 1.0, LISTINGS: 2.0}  # scale times epsilon as printed
KEPT = 4000


def privacy(*, settings: dict[str, list[int]], epsilon: float) -> pd.DataFrame:
    """Return the largest log ratio of the densities of a release for two neighbouring data sets. Neighbouring data sets
    differ in the category of one partition.

    The columns are release, scale, claimed (epsilon) and lost (the largest log ratio found, which is a lower bound on
    the true epsilon). For the noise, the maximum is over all neighbours of the settings and over outputs beyond them in
    every direction, at which the ratio is largest. For listing 5.2, the first p ~ Dirichlet(true counts) never changes:
    the event that all draws have Serr = 0 is certain at (s1, s0, 0), and its complement has probability 0 there, so no
    epsilon bounds the ratio.
    """
    rows = []
    for release, times in _DISTANCE.items():
        mechanism = Laplace(scale=times / epsilon)
        lost = max(_log_ratio(mechanism, counts) for counts in settings.values())
        rows.append({"release": release, "scale": mechanism.scale, "claimed": epsilon, "lost": lost})
    total = sum(next(iter(settings.values())))
    lost = -log_all_zero(KEPT * total, total - 1)
    rows.append({"release": FIRST_P, "scale": 2 / epsilon, "claimed": epsilon, "lost": lost})
    return pd.DataFrame(rows)


def _log_ratio(mechanism: Laplace, counts: list[int]) -> float:
    counts_now, log_ratios = np.array(counts, dtype=float), [0.0]
    for source, target in permutations(range(len(counts)), 2):
        if counts[source]:
            counts_next = counts_now.copy()
            counts_next[source] -= 1
            counts_next[target] += 1
            for signs in product((-1, 1), repeat=len(counts)):
                output = counts_now + 2 * np.array(signs)
                densities = [np.log(mechanism.pdf(output - centre)).sum() for centre in (counts_now, counts_next)]
                log_ratios.append(abs(float(densities[0] - densities[1])))
    return max(log_ratios)


def log_all_zero(draws: int, rest: int) -> float:
    """Return log E[(1 - q)^draws] for a probability q ~ Beta(1, rest), given the integers draws and rest. The result is
    the log of the probability that a category with a count of 1 is never drawn.

    E = B(1, rest + draws)/B(1, rest) = rest/(rest + draws).
    """
    return float(betaln(1, rest + draws) - betaln(1, rest))


Array = NDArray[np.float64]
MODEL, EQUATION = "model", "equation (3)"
_NODES = 64  # number of nodes in each direction; exact for polynomials of degree 127
_CHUNK = 2000


def equation_3(*, counts: list[int], epsilon: float, simulations: int, rng: np.random.Generator) -> pd.DataFrame:
    """Compare the model with equation (3) of the paper by the means of r and by the distribution of the counts S. The
    quantities are the mean of r, the mean of r given S = counts, and the distance between the distributions of S. The
    noisy counts are equal to the counts.

    Returns
    -------
    DataFrame with the columns law (model, equation (3)), quantity, way, value and se. The ways are ``quadrature`` of p
        over the simplex, which does not use conjugacy of the model; ``closed form``, the finite mixture; and
        ``simulation`` of p from its prior. The distance is the total variation distance between the distributions of S
        under the model and under equation (3).
    """
    total, scale = sum(counts), Laplace.calibrated(epsilon, sensitivity=2.0).scale
    rows = compositions.compositions(total)
    log_noise = -np.abs(np.array(counts) - rows).sum(axis=1) / scale
    position = int(np.flatnonzero((rows == counts).all(axis=1))[0])
    exact = laplace_multinomial.exact(counts, total=total, scale=scale, alpha=1.0)
    weights = np.exp(log_noise - log_noise.max())  # if alpha = 1, the Dirichlet-multinomial distribution is flat
    records: list[dict[str, Any]] = []

    def add(law: str, quantity: str, way: str, value: float, se: float = 0.0) -> None:
        records.append({"law": law, "quantity": quantity, "way": way, "value": value, "se": se, "total": total})

    r, p, prior = simplex_nodes()
    conditional, z = given_p(p, rows, log_noise)
    add(MODEL, "mean of r", "quadrature", float(np.sum(r * prior * z) / np.sum(prior * z)))
    add(MODEL, "mean of r", "closed form", float(exact.mean(**SHARE)))
    add(MODEL, "mean of r given S", "closed form", (1 + counts[0]) / (2 + counts[0] + counts[1]))
    joint_density = conditional[:, position] * z  # p(S | p) up to a constant factor
    add(
        MODEL,
        "mean of r given S",
        "quadrature",
        float(np.sum(r * prior * joint_density) / np.sum(prior * joint_density)),
    )
    _under_equation(add, "quadrature", r, prior, conditional, position, weights / weights.sum())
    p = rng.dirichlet(np.ones(3), simulations)
    conditional, _ = given_p(p, rows, log_noise)
    even = np.full(simulations, 1 / simulations)
    _under_equation(
        add, "simulation", p[:, 0] / (p[:, 0] + p[:, 1]), even, conditional, position, weights / weights.sum()
    )
    return pd.DataFrame(records)


def simplex_nodes() -> tuple[Array, Array, Array]:
    """Return the nodes and weights of a Gauss-Legendre rule for the uniform distribution on the simplex. The arrays are
    r of shape (n,), p of shape (n, 3), and weights of shape (n,) that sum to one.

    In the coordinates r = p1/(p1 + p0) and pe, the flat distribution has density 2 (1 - pe) on the unit square.
    """
    x, w = np.polynomial.legendre.leggauss(_NODES)
    x, w = (x + 1) / 2, w / 2
    r, pe = (side.ravel() for side in np.meshgrid(x, x))
    p = np.column_stack([r * (1 - pe), (1 - r) * (1 - pe), pe])
    return r, p, np.outer(w, w).ravel() * 2 * (1 - pe)


def given_p(p: Array, rows: NDArray[np.int64], log_noise: Array) -> tuple[Array, Array]:
    """Return the conditional probabilities of all vectors of counts S given each probability vector p, by equation (1).
    Also return the normalising denominators Z(p). They are float64 arrays of shape (n, rows) and (n,).
    """
    static = gammaln(rows[0].sum() + 1) - gammaln(rows + 1).sum(axis=1) + log_noise
    parts = [np.exp(static + sum(xlogy(rows[:, i], q[:, i, None]) for i in range(3))) for q in _chunks(p)]
    joint = np.concatenate(parts)
    z = joint.sum(axis=1)
    return joint / z[:, None], z


def _chunks(p: Array) -> list[Array]:
    return [p[i : i + _CHUNK] for i in range(0, len(p), _CHUNK)]


def _under_equation(add: Any, way: str, r: Array, prior: Array, conditional: Array, at: int, weights: Array) -> None:
    """Add to a table the results that follow from equation (3) as printed in the paper. The printed equation is the
    prior times the conditional distribution of S, summed over p.
    """
    mass = prior[:, None] * conditional
    mass /= mass.sum()
    mean = float(np.sum(r[:, None] * mass))
    normalised = mass[:, at] / mass[:, at].sum()
    given = float(r @ normalised)
    simulated = way == "simulation"
    se = float(np.sqrt(np.sum((r - mean) ** 2)) / len(r)) if simulated else 0.0
    se_given = float(np.sqrt(np.sum((normalised * (r - given)) ** 2))) if simulated else 0.0
    add(EQUATION, "mean of r", way, mean, se)
    add(EQUATION, "mean of r given S", way, given, se_given)
    add(EQUATION, "distance of the laws of S", way, float(np.abs(mass.sum(axis=0) - weights).sum() / 2))
