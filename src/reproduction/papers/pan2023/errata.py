"""Errata and ambiguities of the slides, each with evidence that a run produces.

``python -m reproduction.evidence pan2023 N`` shows erratum N, and ``errata`` makes the whole table.
"""

from math import comb

import numpy as np
import pandas as pd

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._mechanisms.swapping import permutation_swaps as kernel
from dpmultinomial._mechanisms.swapping import swapping
from dpmultinomial._posteriors.swapping import swapped_table
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture

from ... import evidence
from .algorithm import record_example
from .algorithms import swapping_audit
from .phi_by_rate import exact_share
from .phi_density import swapped_law
from .settings import table_of

_SLIDES = [[1, 2], [3, 4]]
_POSITIVE = [0.27, 0.23, 0.23, 0.27]


def _sample_size(rng: np.random.Generator, runs: int) -> str:
    found = []
    for total in (100, 300):
        table = table_of(_POSITIVE, total)
        medians = [
            np.exp(float(law.quantile(0.5)))
            for law in (LogOddsMixture(1 + table.reshape(1, 4)), swapped_law(table, 0.5))
        ]
        away = exact_share(table, 0.5)["farther"]
        found.append(
            f"n = {total}: median phi {medians[0]:.3f} -> {medians[1]:.3f}, one swap moves away from 1 with {away:.2f}"
        )
    return "; ".join(found)


def _parameter_or_share(rng: np.random.Generator, runs: int) -> str:
    law = swapped_table.naive([[0, 3], [4, 3]]).log_odds()
    return f"table (0, 3, 4, 3): phi of the shares is 0, posterior median of phi {np.exp(float(law.quantile(0.5))):.3f}"


def _column_heads(rng: np.random.Generator, runs: int) -> str:
    phi = swapping.limit_odds_ratio([0.3, 0.2, 0.2, 0.3], rate=0)
    return (
        f"heads V1 = 0, V2 = 0 must be V2 = 0, V2 = 1; only then is phi = {phi:g} at (0.3, 0.2, 0.2, 0.3) an odds ratio"
    )


def _margins(rng: np.random.Generator, runs: int) -> str:
    law = swapped_table.exact(_SLIDES, rate=0.1)
    share = len(law.tables) / comb(13, 3)
    return (
        f"row and column totals alone would accept {share:.4f} of all iterations whatever p, each original with weight "
        f"{1 / len(law.tables):g}; the four cells accept {law.acceptance:.6f} with weights "
        f"{np.round(law.weights, 4).tolist()}"
    )


def _held(rng: np.random.Generator, runs: int) -> str:
    table = record_example()
    broken = table[~table["held"]].iloc[0]
    before, after = (f"({broken['V1' + s]}, {broken['V2' + s]})" for s in ("", "_printed"))
    return f"record {broken['record']} goes from {before} to {after}"


def _two_meanings(rng: np.random.Generator, runs: int) -> str:
    audit = swapping_audit.two_by_two(10, rate=0.1)
    return f"as the theorem's multiplicative distance: at most {audit.per_unit:.4f} per record in 2 x 2 tables of ten"


def _infinite_mean(rng: np.random.Generator, runs: int) -> str:
    naive, aware = swapped_table.naive(_SLIDES), swapped_table.exact(_SLIDES, rate=0.1)
    return f"E phi: naive {naive.log_odds().mean_odds():.4f}, after swapping at p = 0.1 {aware.log_odds().mean_odds()}"


def _uniform(rng: np.random.Generator, runs: int) -> str:
    table = table_of([0.7, 0.1, 0.1, 0.1], 1000)
    shares = swapping.expected_table(table, rate=0.5).ravel() / 1000
    before, after = (-(s * np.log(s)).sum() for s in (table.ravel() / 1000, shares))
    return (
        f"shares (0.7, 0.1, 0.1, 0.1) go to {np.round(shares, 3).tolist()} on average at p = 0.5, towards "
        f"(0.64, 0.16, 0.16, 0.04): entropy rises from {before:.3f} to {after:.3f} nats of ln 4 = {np.log(4):.3f}, but "
        "the smallest share moves away from 1/4"
    )


def _distance(rng: np.random.Generator, runs: int) -> str:
    audit = swapping_audit.two_by_two(10, rate=0.1)
    return (
        f"2 x 2, n = 10, p = 0.1, #V1 = 1 and #V2 = 1 equal to {audit.margins}: originals with last cells {audit.pair} "
        f"at output {audit.output} lose {audit.per_exchange:.5f}; epsilon is {audit.claimed:.5f}, the bound for one "
        f"exchange {2 * audit.claimed:.5f}"
    )


def _selection(rng: np.random.Generator, runs: int) -> str:
    none = 0.9**10 / (1 - 10 * 0.1 * 0.9**9)
    table = np.array(_SLIDES)
    same = (kernel.tables(table, runs, rate=0.1, rng=rng) == table).all(axis=(1, 2)).mean()
    exact = swapping.swap_law(table, rate=0.1)
    stays = exact[1][(exact[0] == table).all(axis=(1, 2))].item()
    return f"n = 10, p = 0.1: nobody selected with {none:.4f}, table unchanged with {stays:.4f} (simulated {same:.3f})"


def _images(rng: np.random.Generator, runs: int) -> str:
    return "no numbers to compare with; panels of log_phi, privacy_loss and coverage are this project's"


def _range(rng: np.random.Generator, runs: int) -> str:
    rate, least = accounting.best_rate(10)
    stated = accounting.epsilon(10, rate=0.5)
    return f"b = 10: epsilon {stated:.4f} at p = 0.5, least {least:.4f} at p = {rate:.4f} (o = sqrt(b + 1))"


ERRATA: evidence.Errata = {
    1: ("n of the Findings is not stated, nor whether one or many swaps stand behind a curve", _sample_size),
    2: ("theta_i = [#]/n mixes the parameter with the observed share", _parameter_or_share),
    3: ("column heads of the interpretation table", _column_heads),
    4: ("'marginal table' in the acceptance criterion must mean the four cells", _margins),
    5: ("the example changes a held value", _held),
    6: ("'Mult' is the multinomial and the multiplicative distance", _two_meanings),
    7: ("phi has no finite posterior mean once swapping is accounted for", _infinite_mean),
    8: ("'more uniform' should be 'closer to independence with the same margins'", _uniform),
    9: ("epsilon is per record of Hamming distance; one exchange is two records", _distance),
    10: ("'go to line 5' selects the whole stratum again; none selected is allowed and common", _selection),
    11: ("two slides are images without text", _images),
    12: ("p <= 0.5 is a branch of the formula, not a limit of validity", _range),
}


def errata(*, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("pan2023", ERRATA, rng=rng, size=runs)
