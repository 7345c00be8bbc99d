"""Errata of Balmat, Barrientos and Reiter (2018), each with evidence that a run produces.

``python -m reproduction.evidence balmat2018 N`` shows erratum N, and ``errata`` makes the whole table. If Rscript is
found, facts about the R language are also run in R.
"""

import shutil
import subprocess
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, xlogy

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial
from dpmultinomial._seeding import stream

from ... import evidence
from . import beyond, laws
from .algorithms import composition_tables
from .figure_1 import SHARE
from .tables import exact_coefficients

COUNTS, TOTAL, EPSILON = (5, 40, 5), 50, 1.0
_MODEL: dict[str, Any] = {"total": TOTAL, "scale": 2 / EPSILON, "alpha": 1.0}


# The logic of the listings in R at M = 10, rewritten; the positions of the assignments and of the line break are as
# printed.
R_ROWS = "M <- 10; rows <- do.call(rbind, lapply(0:M, function(a) cbind(a, 0:(M - a), (M - a):0))); "
R_LOOP = (
    R_ROWS + "gamma3 <- function(a) { g <- rgamma(3, a); g / sum(g) }; set.seed(1); "
    "loop <- function(carried) { p <- gamma3(c(1, 1, 1)); length(unique(sapply(1:50, function(i) { first <- p[1]; "
    "w <- apply(rows, 1, function(s) dmultinom(s, prob = p)) * exp(-rowSums(abs(sweep(rows, 2, c(2, 6, 2)))) / 2); "
    "s <- rows[sample(nrow(rows), 1, prob = w), ]; "
    "if (carried) p <<- gamma3(1 + s) else p <- gamma3(1 + s); first }))) }; "
)
R_BREAK = (
    R_ROWS + "draws <- function(noisy) { set.seed(1); p <- c(0.2, 0.6, 0.2); "
    "noise <- -rowSums(abs(sweep(rows, 2, noisy))) / 2; sapply(1:50, function(i) { "
    "prob <- apply(rows, 1, function(s) dmultinom(s, prob = p, log = TRUE))\n + noise\n prob <- exp(prob - max(prob)); "
    "sample(nrow(rows), 1, prob = prob) }) }; "
)


def _distinct_p(rng: np.random.Generator, runs: int) -> str:
    seen, p = set(), rng.dirichlet(np.ones(3))

    def iteration() -> np.ndarray:
        seen.add(tuple(p))
        return laplace_multinomial.gibbs(COUNTS, **_MODEL, draws=1, burn_in=0, rng=rng, initial=p)[0]

    for _ in range(runs):
        iteration()  # inner function of the listing, whose new p remains local
    frozen = len(seen)
    for _ in range(runs):
        p = iteration()
    modes = [
        laplace_multinomial.conditional(COUNTS, probabilities=rng.dirichlet(np.ones(3)), **_MODEL).mode(**SHARE)
        for _ in range(5)
    ]
    truth = laplace_multinomial.exact(COUNTS, **_MODEL).mode(**SHARE)
    shown = ", ".join(f"{m:.3f}" for m in modes)
    return (
        f"Of {runs} iterations, the number with a distinct p at the start is {frozen} as written and "
        f"{len(seen) - frozen + 1} if p is carried over. The modes of r in five runs as written are {shown}, whereas "
        f"the posterior mode is {truth:.3f}."
    )


def _dropped_laplace(rng: np.random.Generator, runs: int) -> str:
    p = rng.dirichlet(COUNTS)
    rows = compositions.compositions(TOTAL)
    multinomial = (gammaln(TOTAL + 1) - gammaln(rows + 1).sum(axis=1)) + xlogy(rows, p).sum(axis=1)
    same = {}
    for reading, share in (
        ("as printed", 0.0),
        ("with the lines joined", 1.0),
    ):  # smallest size of the Laplace term that is counted
        outputs = []
        for noisy in ((2.0, 6.0, 42.0), (900.0, -700.0, 33.0)):
            prob = multinomial - share * np.abs(np.array(noisy) - rows).sum(axis=1) * EPSILON / 2
            weights = np.exp(prob - prob.max())
            outputs.append(stream(1, "same stream").choice(len(rows), size=runs, p=weights / weights.sum()))
        same[reading] = float(np.mean(outputs[0] == outputs[1]))
    shown = " and ".join(f"{100 * part:.0f} % {reading}" for reading, part in same.items())
    return (
        f"With the same random numbers, {runs} draws are made for the noisy counts (2, 6, 42) and for the noisy counts "
        f"(900, -700, 33). The proportion of equal draws is {shown}."
    )


def _initial_from_truth(rng: np.random.Generator, runs: int) -> str:
    draws = 4000 * 50
    zero = np.mean((1 - rng.beta(1, 49, 2_000_000)) ** draws)
    return (
        "The first p is drawn from Dirichlet(true counts). At the counts (10, 40, 0), all draws have Serr = 0 with "
        f"probability 1. At the neighbouring counts (10, 39, 1), this probability is {49 / (49 + draws):.2e} "
        f"(simulated {zero:.1e}), and the complement has probability 0 at (10, 40, 0). Therefore, no epsilon bounds "
        "the ratio of the probabilities. If a true count is 0, the corresponding element of p is exactly 0."
    )


def _absorbed(rng: np.random.Generator, runs: int) -> str:
    settings = {"(5, 40, 5)": [5, 40, 5], "(15, 30, 5)": [15, 30, 5]}
    chains = laws.trapped(settings=settings, total=TOTAL, epsilon=EPSILON, chains=8, iterations=2 * runs, rng=rng)
    without = chains[chains["alpha"] == 0]
    shown = " and ".join(f"{row.trapped} of {row.chains} chains at {row.setting}" for row in without.itertuples())
    with_alpha = chains.loc[chains["alpha"] == 1, "trapped"].sum()
    return (
        f"Without alpha, {shown} end at a vertex within {2 * runs} iterations. The number of such chains with alpha is "
        f"{with_alpha}."
    )


def _not_the_joint(rng: np.random.Generator, runs: int) -> str:
    table = beyond.equation_3(counts=list(COUNTS), epsilon=EPSILON, simulations=20 * runs, rng=rng)
    value = table.set_index(["law", "quantity", "way"])["value"]
    parts = []
    for name in ("mean of r", "mean of r given S"):
        under, again = (value[beyond.EQUATION, name, way] for way in ("quadrature", "simulation"))
        model = value[beyond.MODEL, name, "quadrature"]
        mixture = value[beyond.MODEL, name, "closed form"]
        parts.append(
            f"The {name} is {under:.4f} under (3) ({again:.4f} by simulation) and {model:.4f} under the model "
            f"({mixture:.4f} by the finite mixture)."
        )
    apart = value[beyond.EQUATION, "distance of the laws of S", "quadrature"]
    return (
        f"The noisy counts are (5, 40, 5), and epsilon is 1. {' '.join(parts)} The total variation distance between "
        f"the two distributions of S is {apart:.3f}."
    )


def _scale(rng: np.random.Generator, runs: int) -> str:
    text, code = (Laplace.calibrated(EPSILON, sensitivity=s) for s in (1.0, 2.0))
    return (
        f"For epsilon = {EPSILON:g}, the scale is {text.scale:g} (variance {text.variance():g}) in the text and "
        f"{code.scale:g} (variance {code.variance():g}) in the listings. If one partition moves to another category, "
        f"two counts change. Therefore, the privacy cost is {text.epsilon(sensitivity=2.0):g} for the scale in the "
        f"text and {code.epsilon(sensitivity=2.0):g} for the scale in the listings."
    )


def _matrix_or_vector(rng: np.random.Generator, runs: int) -> str:
    try:
        np.array([5.0, 40.0, 5.0])[0, :]
    except IndexError as error:
        return (
            "Listing 5.2 contains the index nS[1,], whereas listing 6.4 contains nS[1]. With a vector, the first index "
            f"raises the error '{error}'."
        )
    raise AssertionError("indexing a vector as a matrix must raise IndexError, got no error")


def _small_m(rng: np.random.Generator, runs: int) -> str:
    tables = [compositions.multinomial_table(m)[1].tolist() for m in (0, 1)]
    return (
        f"The sequence 2:M counts down at M = 1 and at M = 0. The table of this project is {tables[0]} for M = 0 and "
        f"{tables[1]} for M = 1."
    )


def _zero_log_zero(rng: np.random.Generator, runs: int) -> str:
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.exp(0 * np.log(np.float64(0.0)))
    return (
        f"For S = 0 and p = 0, the formula exp(0 log 0) gives {value}, although the probability is 1. This project "
        f"computes {np.exp(xlogy(0, 0.0)):g}."
    )


def _underflow(rng: np.random.Generator, runs: int) -> str:
    sentences = []
    for total, p1 in ((50, 1e-8), (200, 1e-2)):
        counts, table = compositions.multinomial_table(total)
        p = np.array([p1, (1 - p1) / 2, (1 - p1) / 2])
        logs = counts @ np.log(p)
        lost = np.sum((np.exp(logs) < 2.3e-308) & (np.log(table) + logs > np.log(2.3e-308)))
        digits, _ = composition_tables.fewest_digits(counts, table, exact_coefficients(counts), p[None, :])
        sentences.append(
            f"For M = {total} and p1 = {p1:g}, exp(.) is 0 or subnormal in {lost} rows, although the probability of "
            "each of these rows is a normal floating-point number. The smallest number of correct digits is "
            f"{max(0.0, digits[0, 1]):.1f} for the table and {digits[0, 2]:.1f} for the lgamma formula."
        )
    return " ".join(sentences)


def _overflow(rng: np.random.Generator, runs: int) -> str:
    try:
        compositions.multinomial_table(648)
    except OverflowError as error:
        finite = "are" if np.isfinite(compositions.multinomial_table(647)[1]).all() else "are not"
        largest = max(m for m in range(640, 660) if _largest_coefficient(m) < 2**1024)
        return (
            f"At M = 647, all coefficients {finite} finite. At M = 648, the table raises the error '{error}'. The "
            f"largest coefficient can be represented in float64 up to M = {largest}."
        )
    raise AssertionError("no overflow at M = 648")


def _largest_coefficient(total: int) -> int:
    share, extra = divmod(total, 3)
    return exact_coefficients(np.array([[share + (i < extra) for i in range(3)]]))[0]


def _empty_argument(rng: np.random.Generator, runs: int) -> str:
    return (
        "The call cbind(permS[order(..)], , mc = 0) contains an empty argument. The intended call is "
        "cbind(permS[order(..), ], mc = 0). This error can be demonstrated only in R."
    )


def _return_values(rng: np.random.Generator, runs: int) -> str:
    p = laplace_multinomial.gibbs(COUNTS, **_MODEL, draws=runs, burn_in=100, rng=rng)
    return (
        "Listing 5.2 returns S1, S0, Serr, r, 1 - r and perr, whereas listing 6.4 returns p1, p0 and perr. For the "
        f"same chain, the mean of r is {(p[:, 0] / (p[:, 0] + p[:, 1])).mean():.3f}, and the mean of p1 is "
        f"{p[:, 0].mean():.3f}."
    )


def _also_in_r(python: evidence.Evidence, snippet: str) -> evidence.Evidence:
    """Return the given evidence from Python and, if Rscript is found, append the output of an R snippet."""

    def both(rng: np.random.Generator, runs: int) -> str:
        text, rscript = python(rng, runs), shutil.which("Rscript")
        if not rscript:
            return text
        command = [
            rscript,
            "--vanilla",
            "--default-packages=stats",
            "-e",
            snippet,
        ]  # loading the other modules takes longer
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return f"{text} Output of R: {run.stdout.strip()}"

    return both


ERRATA: evidence.Errata = {
    1: (
        "In both listings, p is never updated.",
        _also_in_r(
            _distinct_p,
            R_LOOP
            + "cat(loop(carried = FALSE), 'distinct p in 50 iterations as written,', loop(carried = TRUE), 'if p is "
            "carried over')",
        ),
    ),
    2: (
        "In listing 5.2, a line break removes the Laplace term.",
        _also_in_r(
            _dropped_laplace,
            R_BREAK + "cat('equal draws, out of 50:', sum(draws(c(2, 6, 2)) == draws(c(900, -700, 33))))",
        ),
    ),
    3: ("The distribution of the first p depends on the confidential counts.", _initial_from_truth),
    4: ("Without alpha, the chain of step 6.4 is eventually absorbed at a vertex.", _absorbed),
    5: ("The Laplace scale is 1/epsilon in the text and 2/epsilon in the listings.", _scale),
    6: (
        "Listing 5.2 requires that S is a matrix, whereas listing 6.4 requires that S is a vector.",
        _also_in_r(
            _matrix_or_vector, "nS <- c(5, 40, 5); cat(tryCatch(nS[1, ], error = function(e) conditionMessage(e)))"
        ),
    ),
    7: (
        "The loop that fills the table fails at M = 1 and at M = 0.",
        _also_in_r(_small_m, "M <- 1; cat('2:M is', 2:M)"),
    ),
    8: (
        "The formula 0 log 0 gives NaN.",
        _also_in_r(
            _zero_log_zero,
            "cat('exp(0 log 0) is', exp(0 * log(0)), 'and dmultinom gives', dmultinom(c(0, 1), prob = c(0, 1)))",
        ),
    ),
    9: ("The product of coefficient and exp(.) underflows although the probability does not.", _underflow),
    10: ("The coefficient table overflows at M = 648.", _overflow),
    11: (
        "A call of cbind contains an empty argument.",
        _also_in_r(
            _empty_argument,
            R_ROWS
            + "cat(tryCatch(cbind(rows[order(rows[, 1]), ], , mc = 0), error = function(e) conditionMessage(e)))",
        ),
    ),
    12: ("The two listings return different quantities.", _return_values),
    13: ("Equations (3) and (4) are not the joint distribution of p and S given the release.", _not_the_joint),
}


def errata(*, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("balmat2018", ERRATA, rng=rng, size=runs)
