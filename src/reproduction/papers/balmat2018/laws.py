"""Test the draws in the histograms of Figure 1 and the triplets of Figure 2 against their exact distributions, by
Kolmogorov-Smirnov tests.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial

from ...verdicts import power
from .algorithms import enumerated
from .algorithms.composition_tables import last_move as _last_move
from .figure_1 import share

Array = NDArray[np.float64]
EXACT, GIBBS = "exact draws", "gibbs"
LISTING_52, LISTING_64 = "listing 5.2", "listing 6.4"
VARIANTS = {EXACT: "corrected", GIBBS: "corrected", LISTING_52: "published", LISTING_64: "published"}
LEVEL = 1e-4  # level of every test of Figure 1 (published.tsv)


def figure_1_laws(
    *,
    settings: dict[str, list[int]],
    total: int,
    epsilon: float,
    exact_draws: int,
    draws: int,
    burn_in: int,
    chains: int,
    thin: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Test draws of the share r against the posterior of r, which is computed by enumeration (`enumerated`). The noisy
    counts equal the true counts.

    Each sample has three tests: Kolmogorov's test, and score tests of the noise scale and of the concentration of the
    prior.

    Returns
    -------
    DataFrame with the columns setting; method (exact draws: `exact_draws` draws; gibbs: `chains` chains of `draws`
        draws, of which Kolmogorov's test uses every `thin`-th; the two listings as R reads them, one run each);
        variant; total; kept (iterations of a chain); draws; distance (Kolmogorov's); p_distance; z_scale and z_alpha
        (of the mean scores; for chains, from the spread over chains; missing for the listings); p_value (Bonferroni);
        sees_scale and sees_alpha (relative changes that are rejected at level `LEVEL` with probability 0.9).
    """
    scale = Laplace.calibrated(epsilon, sensitivity=2.0).scale
    model: dict[str, Any] = {"total": total, "scale": scale, "alpha": 1.0}
    chain: dict[str, Any] = {"draws": draws, "burn_in": burn_in, "rng": rng}
    rows = []
    for setting, counts in settings.items():
        law = enumerated.posterior(counts, total=total, scale=scale)
        about = {"setting": setting, "total": total, "kept": draws}
        exact = share(laplace_multinomial.exact(counts, **model).sample(exact_draws, rng=rng))
        rows.append(about | {"method": EXACT} | _tests(law, exact, [exact]))
        runs = [share(laplace_multinomial.gibbs(counts, **model, **chain)) for _ in range(chains)]
        rows.append(about | {"method": GIBBS} | _tests(law, np.concatenate([run[::thin] for run in runs]), runs))
        # Without its Laplace term, listing 5.2 draws S given only its first p, which is the distribution under infinite
        # noise.
        first, silent = rng.dirichlet(counts), model | {"scale": 1e12}
        lost = laplace_multinomial.conditional(counts, probabilities=first, **silent).sample(draws, rng=rng)
        rows.append(about | {"method": LISTING_52} | _tests(law, share(lost), []))
        frozen = laplace_multinomial.gibbs(counts, **model, **chain, frozen=True)
        rows.append(about | {"method": LISTING_64} | _tests(law, share(frozen), []))
    return pd.DataFrame(rows).assign(variant=lambda table: table["method"].map(VARIANTS))


def _tests(law: enumerated.Posterior, sample: Array, runs: list[Array]) -> dict[str, Any]:
    """Return the result of a Kolmogorov-Smirnov test of a sample. If runs are given, also return the results of score
    tests, which are based on the mean scores of the runs.
    """
    test = kolmogorov(sample, *law.at(sample))
    p_values, z, sees = [test["p_value"]], {}, {}
    tests, parameters = 1 + 2 * bool(runs), (enumerated.SCALE, enumerated.ALPHA)
    scores = [law.at(run, parameters) for run in runs]
    for i, (name, short) in enumerate(zip(parameters, ("scale", "alpha"), strict=True)):
        per_unit = law.shift(name)
        sees[f"sees_{short}"] = power.kolmogorov(per_unit, len(sample), LEVEL / tests)
        if runs:
            mean, error, degrees = _mean_score(law, name, [both[i] for both in scores])
            with np.errstate(divide="ignore", invalid="ignore"):  # identical runs have no spread
                z[f"z_{short}"], per_unit = np.divide([mean, law.information(name)], error)
            p_values.append(float(2 * scipy.stats.t.sf(abs(z[f"z_{short}"]), degrees)))
            by_score = power.normal(per_unit, LEVEL / tests)
            sees[f"sees_{short}"] = min(sees[f"sees_{short}"], by_score)
    joint = {"p_value": float(np.minimum(1.0, tests * np.min(p_values)))}
    return {"draws": test["draws"], "distance": test["distance"], "p_distance": test["p_value"]} | z | joint | sees


def _mean_score(law: enumerated.Posterior, name: str, scores: list[Array]) -> tuple[float, float, float]:
    """Return the mean of the scores minus their exact posterior mean, the standard error of this difference, and the
    degrees of freedom of the standard error. They are computed from the spread over runs or from the information of
    single draws.
    """
    centre = law.mean(law.scores[name])
    if len(scores) == 1:
        return float(scores[0].mean() - centre), float(np.sqrt(law.information(name) / len(scores[0]))), np.inf
    means = np.array([score.mean() for score in scores]) - centre
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means))), len(means) - 1


def figure_2_laws(table: pd.DataFrame, *, total: int) -> pd.DataFrame:
    """Test each of the three probabilities in the random triplets against the distribution that follows from the three
    stages of footnote 13.

    The columns are name, draws, distance and p_value, and `below` and `above`, the numbers of triplets with the p below
    1/4 and above 3/4.
    """
    rows = []
    for name in ("p1", "p0", "perr"):
        p = table[name].to_numpy()
        counted = {"below": int((p < 0.25).sum()), "above": int((p > 0.75).sum())}
        rows.append({"name": name} | kolmogorov(p, three_stages(p)) | counted)
    return pd.DataFrame(rows)


def three_stages(x: ArrayLike, width: float = 1.0) -> Array:
    """Return the distribution function of a value p that is selected at random from the three probabilities in footnote
    13. With probability 1/3 each, p is p1 (uniform on (0, 1)), p2 (uniform on (0, 1 - p1)), or 1 - p1 - p2.

    P(second <= x) = E min(1, x/(1 - first)) = x (1 - log x), and the rest has the same distribution as the second
    value. With a `width` w below 1, the second value is uniform on the first proportion w of the remainder: its
    distribution function is x/w (1 - log(x/w)) up to w. The rest is at most x with probability x (1 - log x) - (1 - w)
    (y - y log y)/w, y = min(1, x/(1 - w)), over w.
    """
    x = np.asarray(x, dtype=float)
    if width == 1:
        return np.asarray(x / 3 + 2 * (x - xlogy(x, x)) / 3)
    second, left = np.minimum(x / width, 1), np.minimum(x / (1 - width), 1)
    rest = (x - xlogy(x, x) - (1 - width) * (left - xlogy(left, left))) / width
    return np.asarray((x + second - xlogy(second, second) + rest) / 3)


def kolmogorov(sample: Array, levels: Array) -> dict[str, Any]:
    """Return the sample size, and the statistic and the p-value of the Kolmogorov-Smirnov test of the sample. The exact
    distribution function at the points of the sample is given by `levels`.
    """
    u, n = np.sort(levels), len(sample)
    distance = float(max((np.arange(1, n + 1) / n - u).max(), (u - np.arange(n) / n).max()))
    return {"draws": n, "distance": distance, "p_value": float(scipy.stats.kstwo.sf(distance, n))}


def trapped(
    *,
    settings: dict[str, list[int]],
    total: int,
    epsilon: float,
    chains: int,
    iterations: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the numbers of chains that end at a vertex of the probability simplex, for two variants of step 6.4. The
    variants are the step as written, p ~ Dirichlet(S), and the step in which alpha = 1 is added to S.

    The columns are setting, alpha, chains, iterations, trapped and median_iteration (of the trapped chains).
    """
    scale = Laplace.calibrated(epsilon, sensitivity=2.0).scale
    rows, log_coefficients = compositions.log_multinomial_table(total)
    records = []
    for setting, counts in settings.items():
        static = log_coefficients - np.abs(np.array(counts) - rows).sum(axis=1) / scale
        for alpha in (0.0, 1.0):
            ends = [_last_move(rows, static, alpha, iterations, rng) for _ in range(chains)]
            absorbed = [end for end in ends if end is not None]
            about = {"setting": setting, "alpha": alpha, "total": total, "chains": chains, "iterations": iterations}
            records.append(
                about | {"trapped": len(absorbed), "median_iteration": np.median(absorbed) if absorbed else np.nan}
            )
    return pd.DataFrame(records)
