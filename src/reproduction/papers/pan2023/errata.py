"""Errata and ambiguities of the slides by Pan, Li and Li (2023), each with evidence that a run produces.

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
    sentences = []
    for total in (100, 300):
        table = table_of(_POSITIVE, total)
        medians = [
            np.exp(float(law.quantile(0.5)))
            for law in (LogOddsMixture(1 + table.reshape(1, 4)), swapped_law(table, 0.5))
        ]
        away = exact_share(table, 0.5)["farther"]
        sentences.append(
            f"For n = {total}, the median of phi is {medians[0]:.3f} before a swap and {medians[1]:.3f} after a swap. "
            f"A single swap moves phi away from 1 with probability {away:.2f}."
        )
    return " ".join(sentences)


def _parameter_or_share(rng: np.random.Generator, runs: int) -> str:
    law = swapped_table.naive([[0, 3], [4, 3]]).log_odds()
    return (
        "For the table (0, 3, 4, 3), phi of the observed shares is 0, whereas the posterior median of phi is "
        f"{np.exp(float(law.quantile(0.5))):.3f}."
    )


def _column_heads(rng: np.random.Generator, runs: int) -> str:
    phi = swapping.limit_odds_ratio([0.3, 0.2, 0.2, 0.3], rate=0)
    return (
        "The column headings V1 = 0 and V2 = 0 must be V2 = 0 and V2 = 1. With the correct headings, phi is an odds "
        f"ratio, and phi = {phi:g} at (0.3, 0.2, 0.2, 0.3)."
    )


def _margins(rng: np.random.Generator, runs: int) -> str:
    law = swapped_table.exact(_SLIDES, rate=0.1)
    share = len(law.tables) / comb(13, 3)
    return (
        "If only the row and column totals were compared, the acceptance probability would be "
        f"{share:.4f} for any p, and each original table would have the weight {1 / len(law.tables):g}. If the four "
        f"cells are compared, the acceptance probability is {law.acceptance:.6f}, and the original tables have the "
        f"weights {np.round(law.weights, 4).tolist()}."
    )


def _held(rng: np.random.Generator, runs: int) -> str:
    table = record_example()
    broken = table[~table["held"]].iloc[0]
    before, after = (f"({broken['V1' + s]}, {broken['V2' + s]})" for s in ("", "_printed"))
    return f"On the slide, record {broken['record']} changes from {before} to {after}."


def _two_meanings(rng: np.random.Generator, runs: int) -> str:
    audit = swapping_audit.two_by_two(10, rate=0.1)
    return (
        "In the theorem, 'Mult' denotes the multiplicative distance. For 2 x 2 tables of ten records, this distance is "
        f"at most {audit.per_unit:.4f} per record."
    )


def _infinite_mean(rng: np.random.Generator, runs: int) -> str:
    naive, aware = swapped_table.naive(_SLIDES), swapped_table.exact(_SLIDES, rate=0.1)
    return (
        f"The posterior mean of phi is {naive.log_odds().mean_odds():.4f} if the swapping is ignored, and it is "
        f"{aware.log_odds().mean_odds()} for swapping at p = 0.1."
    )


def _uniform(rng: np.random.Generator, runs: int) -> str:
    table = table_of([0.7, 0.1, 0.1, 0.1], 1000)
    shares = swapping.expected_table(table, rate=0.5).ravel() / 1000
    before, after = (-(s * np.log(s)).sum() for s in (table.ravel() / 1000, shares))
    return (
        f"After a swap at p = 0.5, the expected shares for (0.7, 0.1, 0.1, 0.1) are {np.round(shares, 3).tolist()}. "
        f"The shares under independence are (0.64, 0.16, 0.16, 0.04). The entropy increases from {before:.3f} to "
        f"{after:.3f} nats, where the maximum is ln 4 = {np.log(4):.3f}, but the last share moves away from 1/4."
    )


def _distance(rng: np.random.Generator, runs: int) -> str:
    audit = swapping_audit.two_by_two(10, rate=0.1)
    return (
        "Consider 2 x 2 tables with n = 10 and p = 0.1, in which the numbers of records with V1 = 1 and with V2 = 1 "
        f"are {audit.margins}. For the original tables with last cells {audit.pair}, the privacy loss at the output "
        f"{audit.output} is {audit.per_exchange:.5f}. The value of epsilon is {audit.claimed:.5f}, and the bound for "
        f"one exchange is {2 * audit.claimed:.5f}."
    )


def _selection(rng: np.random.Generator, runs: int) -> str:
    none = 0.9**10 / (1 - 10 * 0.1 * 0.9**9)
    table = np.array(_SLIDES)
    same = (kernel.tables(table, runs, rate=0.1, rng=rng) == table).all(axis=(1, 2)).mean()
    exact = swapping.swap_law(table, rate=0.1)
    stays = exact[1][(exact[0] == table).all(axis=(1, 2))].item()
    return (
        f"For n = 10 and p = 0.1, the probability that no record is selected is {none:.4f}, and the probability that "
        f"the table does not change is {stays:.4f} (simulated {same:.3f})."
    )


def _images(rng: np.random.Generator, runs: int) -> str:
    return (
        "The slides contain no numbers for a comparison. The panels of log_phi, privacy_loss and coverage were "
        "designed by this project."
    )


def _range(rng: np.random.Generator, runs: int) -> str:
    rate, least = accounting.best_rate(10)
    stated = accounting.epsilon(10, rate=0.5)
    return (
        f"For b = 10, epsilon is {stated:.4f} at p = 0.5, and the smallest epsilon is {least:.4f} at p = {rate:.4f}, "
        "where the odds are o = sqrt(b + 1)."
    )


ERRATA: evidence.Errata = {
    1: (
        "The slides state neither n in the Findings nor whether a curve shows one swap or an average over swaps.",
        _sample_size,
    ),
    2: ("The definition theta_i = [#]/n does not distinguish parameter and observed share.", _parameter_or_share),
    3: ("The column headings of the interpretation table are wrong.", _column_heads),
    4: ("The term 'marginal table' in the acceptance criterion must mean the four cells.", _margins),
    5: ("The five-record example changes the value of a held variable.", _held),
    6: ("'Mult' denotes both the multinomial distribution and the multiplicative distance.", _two_meanings),
    7: ("The posterior mean of phi is infinite if the analysis takes swapping into account.", _infinite_mean),
    8: ("'More uniform' should read 'closer to independence with the same margins'.", _uniform),
    9: ("Epsilon refers to a Hamming distance of one record, but an exchange changes two records.", _distance),
    10: (
        "The command 'go to line 5' repeats the selection for the whole stratum, and the selection can be empty.",
        _selection,
    ),
    11: ("Two slides are images without text.", _images),
    12: ("The condition p <= 0.5 is not necessary for the theorem.", _range),
}


def errata(*, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("pan2023", ERRATA, rng=rng, size=runs)
