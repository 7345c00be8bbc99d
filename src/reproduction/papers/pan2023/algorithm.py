"""Compare runs of the permutation algorithm with the exact distribution of its results, and compute worked examples.
The comparison covers the selection, the permutation and the invariants.

Source: slides "Data Swapping", "The Permutation Algorithm" and "Swapping on the Multinomial Example".
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import permutations, product
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._mechanisms.swapping import exact_swapping, swapping
from dpmultinomial._mechanisms.swapping import permutation_swaps as kernel

RECORDS = pd.DataFrame(
    {
        "Name": ["John Smith", "Ava Chen", "Zoe Kim", "Leo Park"],
        "Sect": ["01", "02", "01", "02"],
        "Role": ["Teacher", "Student", "Observer", "Student"],
        "#Attend": [14, 14, 14, 13],
    }
)
SWAPPED_NAMES = ["Zoe Kim", "Ava Chen", "John Smith", "Leo Park"]
ANSWERS = [
    (1, 0),
    (1, 0),
    (0, 1),
    (1, 1),
    (0, 0),
]  # (V1, V2), and values printed after the swap: "1 - 1" and "0 + 1" in V1
ANSWERS_AFTER = [(0, 0), (1, 1), (1, 1), (1, 1), (0, 0)]


def swap_example(*, rate: float, rng: np.random.Generator) -> pd.DataFrame:
    """Return the worked example of a swap: the original table, the roles of the columns, and the swapped table. The
    result is given as printed and as computed by one run of the algorithm.

    The columns are step, variant, match, followed by the columns of the slides. The slides do not state which columns
    form V_Match. For the printed pair, both Sect and #Attend agree, so both are run.
    """
    roles = pd.DataFrame({"Name": ["swap"], "Sect": ["hold"], "Role": ["hold"], "#Attend": ["hold"]})
    parts = [
        RECORDS.assign(step="1 original", variant="published", match=""),
        roles.assign(step="2 partition", variant="published", match=""),
        roles.assign(**{"Sect": "hold, match"}, step="3 match", variant="as_written", match="Sect"),
        roles.assign(**{"#Attend": "hold, match"}, step="3 match", variant="as_written", match="#Attend"),
        RECORDS.assign(Name=SWAPPED_NAMES, step="4 swap", variant="published", match=""),
    ]
    for match in ("Sect", "#Attend"):
        swapped = swapping.permutation_swap(RECORDS, swap="Name", match=match, rate=rate, rng=rng)
        parts.append(swapped.assign(step="4 swap", variant="corrected", match=match))
    table = pd.concat(parts, ignore_index=True)
    return table[["step", "variant", "match", "Name", "Sect", "Role", "#Attend"]]


def record_example() -> pd.DataFrame:
    """Return the printed example of a swap, with one row for each of the five records. Each row contains the answers
    before and after the printed swap, whether V2 is unchanged, and the answers that the algorithm would produce.

    The columns are record, V1, V2, V1_printed, V2_printed, held (V2 unchanged), and V1_corrected and V2_corrected (V1
    of records 1 and 3 exchanged, with V2 held as in the algorithm).
    """
    before, after = np.array(ANSWERS), np.array(ANSWERS_AFTER)
    corrected = before[:, 0].copy()
    corrected[[0, 2]] = corrected[[2, 0]]
    return pd.DataFrame(
        {
            **{"record": np.arange(1, 6), "V1": before[:, 0], "V2": before[:, 1]},
            **{"V1_printed": after[:, 0], "V2_printed": after[:, 1], "held": before[:, 1] == after[:, 1]},
            **{"V1_corrected": corrected, "V2_corrected": before[:, 1]},
        }
    )


def phi_examples(*, thetas: list[list[float]], rates: list[float]) -> pd.DataFrame:
    """Return, for each theta on the slides of Pan, Li and Li (2023), the odds ratio phi and its limit after swapping.
    The limit is for an increasing number of records.

    The columns are theta1..theta4, rate, variant, phi and association.
    """
    rows = []
    for theta in thetas:
        for rate in rates:
            phi = swapping.limit_odds_ratio(theta, rate=rate)
            kind = "none" if abs(phi - 1) < 1e-12 else "positive" if phi > 1 else "negative"
            cells = {f"theta{i + 1}": t for i, t in enumerate(theta)}
            rows.append(cells | {"rate": rate, "variant": "corrected", "phi": phi, "association": kind})
    return pd.DataFrame(rows)


class Rules:
    """Names of the counts that are compared in the check of the swapping rules."""

    HELD, CROSSED = "held values changed", "records that crossed strata"
    MARGINS, MOVED = "marginal totals altered", "names moved"


_COLUMNS = ("check", "outcome", "printed", "simulated", "expected", "moved")
STEP = -0.01  # relative change of the rate


def algorithm(*, runs: int, rate: float, records: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the outcomes of `runs` runs of the swapping algorithm at one rate, with the expected number of runs for
    each outcome.

    Returns
    -------
    DataFrame with columns check, outcome, printed (whether the slides print this outcome), simulated, expected (number
        of runs), moved (number of runs expected at a rate that is 1 % smaller). The checks are ``worked example,
        <match>`` (names after the swap); ``record example`` (V1 after the swap); ``permutations of 4 records``;
        ``selected of <records>``; ``rules`` (number of violations of each rule, expected 0, and number of names that
        moved).
    """
    example = [_worked(match, runs, rate, rng) for match in ("Sect", "#Attend")]
    answers = _answers(runs, rate, rng)
    parts = [example[0][0], example[1][0], answers[0], _permutations(runs, rate, rng)]
    parts.append(_selected(records, runs, rate, rng))
    broken: Counter[str] = Counter()
    for part in (example[0][1], example[1][1], answers[1]):
        broken.update(part)
    rules = [{"outcome": name, "simulated": number, "expected": 0.0} for name, number in broken.items()]
    return pd.concat([*parts, pd.DataFrame(rules).assign(check="rules", printed=False)], ignore_index=True)[
        list(_COLUMNS)
    ]


def exact_law(
    strata: Sequence[Hashable], values: Sequence[Hashable], *, rate: float
) -> dict[tuple[Hashable, ...], float]:
    """Return the probability of every arrangement of `values` after one run of the swapping algorithm. It is computed
    by enumeration of the permutations within strata.

    A permutation of the n records of a stratum that moves k of them has probability b_k/(C(n, k) D_k); strata of one
    record are unchanged.
    """
    groups = [[i for i, s in enumerate(strata) if s == name] for name in dict.fromkeys(strata)]
    laws = []
    for group in groups:
        n = len(group)
        logs = exact_swapping.log_permutation_weights(n, rate=rate) if n > 1 else np.zeros(1)
        orders = permutations(range(n))
        laws.append([(order, float(np.exp(logs[sum(i != j for i, j in enumerate(order))]))) for order in orders])
    probabilities: dict[tuple[Hashable, ...], float] = {}
    for chosen in product(*laws):
        after, probability = list(values), 1.0
        for group, (order, weight) in zip(groups, chosen, strict=True):
            probability *= weight
            for place, source in enumerate(order):
                after[group[place]] = values[group[source]]
        probabilities[tuple(after)] = probabilities.get(tuple(after), 0.0) + probability
    return probabilities


def _both(
    strata: Sequence[Hashable], values: Sequence[Hashable], rate: float
) -> tuple[dict[tuple[Hashable, ...], float], dict[tuple[Hashable, ...], float]]:
    """Return the distribution of the arrangement of the values after swapping, for the given swap rate and for a
    slightly lower rate. The second rate is (1 + `STEP`) times the given rate.
    """
    return exact_law(strata, values, rate=rate), exact_law(strata, values, rate=(1 + STEP) * rate)


def _compared(
    check: str,
    outcomes: Counter[tuple[Hashable, ...]],
    laws: tuple[dict[tuple[Hashable, ...], float], dict[tuple[Hashable, ...], float]],
    printed: object,
    runs: int,
) -> pd.DataFrame:
    law, moved = laws
    rows = [
        {
            "check": check,
            "outcome": ", ".join(map(str, outcome)),
            "printed": outcome == printed,
            "simulated": outcomes[outcome],
            "expected": runs * law.get(outcome, 0.0),
            "moved": runs * moved.get(outcome, 0.0),
        }
        for outcome in dict.fromkeys([*law, *outcomes])
    ]
    return pd.DataFrame(rows)


def _worked(match: str, runs: int, rate: float, rng: np.random.Generator) -> tuple[pd.DataFrame, Counter[str]]:
    """Run the swapping algorithm once on a table that contains `runs` copies of the four records of the worked example.
    Each copy has separate strata.
    """
    copies = RECORDS.iloc[np.tile(np.arange(len(RECORDS)), runs)].reset_index(drop=True)
    copies["copy"] = np.repeat(np.arange(runs), len(RECORDS))
    swapped = swapping.permutation_swap(copies, swap="Name", match=["copy", match], rate=rate, rng=rng)
    names = swapped["Name"].to_numpy().reshape(runs, -1)
    law = _both(RECORDS[match].tolist(), RECORDS["Name"].tolist(), rate)
    comparison = _compared(f"worked example, {match}", Counter(map(tuple, names)), law, tuple(SWAPPED_NAMES), runs)
    held = [column for column in copies.columns if column != "Name"]
    home = copies.drop_duplicates("Name").set_index("Name")[match]
    crossed = swapped["Name"].map(home).to_numpy() != copies[match].to_numpy()
    changed = (swapped[held] != copies[held]).to_numpy()
    broken = {Rules.HELD: int(changed.sum()), Rules.CROSSED: int(crossed.sum())}
    return comparison, Counter(broken | {Rules.MOVED: int((swapped["Name"] != copies["Name"]).sum())})


def _answers(runs: int, rate: float, rng: np.random.Generator) -> tuple[pd.DataFrame, Counter[str]]:
    """Run the swapping algorithm on copies of the five printed pairs of answers. V1 is swapped within one stratum per
    copy.
    """
    before = np.array(ANSWERS)
    copies = pd.DataFrame(np.tile(before, (runs, 1)), columns=["V1", "V2"])
    copies["copy"] = np.repeat(np.arange(runs), len(before))
    swapped = swapping.permutation_swap(copies, swap="V1", match="copy", rate=rate, rng=rng)
    after = swapped["V1"].to_numpy().reshape(runs, -1)
    law = _both([0] * len(before), before[:, 0].tolist(), rate)
    printed = tuple(first for first, _ in ANSWERS_AFTER)
    comparison = _compared("record example", Counter(map(tuple, after.tolist())), law, printed, runs)
    rows = after.sum(axis=1) != before[:, 0].sum()
    columns = swapped["V2"].to_numpy().reshape(runs, -1).sum(axis=1) != before[:, 1].sum()
    return comparison, Counter({Rules.MARGINS: int(rows.sum() + columns.sum())})


def _sources(records: int, runs: int, rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return, for each record, the position of the record that provides the new value, as an array of shape (runs,
    records). Positions are counted within each copy of the records.
    """
    sources = kernel.sources(np.repeat(np.arange(runs), records), rate=rate, rng=rng).reshape(runs, records)
    return sources - records * np.arange(runs)[:, None]


def _permutations(runs: int, rate: float, rng: np.random.Generator) -> pd.DataFrame:
    law = _both([0] * 4, list(range(4)), rate)
    outcomes = Counter(map(tuple, _sources(4, runs, rate, rng).tolist()))
    return _compared("permutations of 4 records", outcomes, law, None, runs)


def _selected(records: int, runs: int, rate: float, rng: np.random.Generator) -> pd.DataFrame:
    """Return the observed and the expected frequency of each number of selected records in `runs` runs of the swapping
    algorithm. All selected records move in a derangement, and their number is binomial, conditioned on not being one.
    """
    moved = (_sources(records, runs, rate, rng) != np.arange(records)).sum(axis=1)
    law, other = _number(records, rate), _number(records, (1 + STEP) * rate)
    counted = np.bincount(moved, minlength=records + 1)
    rows = [
        {"outcome": str(k), "simulated": int(counted[k]), "expected": runs * law[k], "moved": runs * other[k]}
        for k in range(records + 1)
    ]
    return pd.DataFrame(rows).assign(check=f"selected of {records}", printed=False)


def _number(records: int, rate: float) -> NDArray[np.float64]:
    """Return the probability that exactly k records are selected for swapping, for every k from 0 to the number of
    records.
    """
    law = np.array([comb(records, k) * rate**k * (1 - rate) ** (records - k) for k in range(records + 1)])
    law[1] = 0
    return law / law.sum()
