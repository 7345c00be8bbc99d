"""The paper's claims about posteriors in words, each as a relation of numbers; what they are is stated in the note."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...verdicts.rows import claim

Row = dict[str, Any]
ONE = ("Algorithm 1 (ind)", "Algorithm 1 (summed)")
PAIR = (250, 357)


def of_pairs(name: str, table: pd.DataFrame) -> Iterator[Row]:
    """Section 4.2 in words, with windows as stated."""
    part = table[table["variant"] == "as_written"].sort_values("row")
    p, pairs = part["probability"].to_numpy(dtype=float), part[["N1", "N2"]].to_numpy(dtype=float)
    own, others = (p[0], p[1:].max()) if tuple(pairs[0]) == PAIR else (0.0, 1.0)
    note = "its probability against that of the next (0 against 1 if another pair comes first); windows of +-30"
    yield claim(name, "claim: the released pair is the most probable", own, ">", others, note, "as_written")
    far = float(np.abs(pairs - PAIR).max())
    note = "largest distance of one of the ten most probable pairs from the release; the window is 30"
    yield claim(name, "claim: probable pairs lie around the release", far, "<", 10, note, "as_written")
    if name == "table_4":
        note = "ratio of the first to the tenth"
        yield claim(name, "claim: the ten probabilities are very close", p[0] / p[-1], "<", 1.5, note, "as_written")
        wrong = int(np.sum(pairs.sum(axis=1) != sum(PAIR)))
        yield claim(name, "claim: all ten add up to 607", wrong, "<", 0.5, "how many do not", "as_written")
    else:
        note = "ratio of the first to the second"
        yield claim(name, "claim: the first stands out", p[0] / p[1:].max(), ">", 1.5, note, "as_written")


def of_posteriors(table: pd.DataFrame) -> Iterator[Row]:
    """Sections 2.2.2, 4.2, 5.2 and 5.3: how the posteriors compare, without windows; exact."""
    laws = table.groupby(["release", "quantity"])
    sd = laws.apply(_sd)

    def apart(one: str, other: str, quantity: str) -> float:
        of = table[table["quantity"] == quantity].pivot(index="value", columns="release", values="probability")
        both = of[one].fillna(0) - of[other].fillna(0)
        return float(0.5 * both.abs().sum()) if table["probability"].notna().all() else np.nan

    yield from _as_laws(table, laws)
    ind, summed = ONE
    note = "sd of the total given algorithm 1 (summed) against that given (ind)"
    improves = "claim: summed totals may improve what is known of the total"
    yield claim("precision", improves, sd[summed, "N"], "<", sd[ind, "N"], note)
    note = "ratio of its sd of N1 to that of algorithm 3"
    ratio = sd["Algorithm 2", "N1"] / sd["Algorithm 3", "N1"]
    yield claim("precision", "claim: the posterior of algorithm 2 is more spread out", ratio, ">", 2, note)
    note = "total variation of the laws of N1; centres agree, spreads differ tenfold, as it says next"
    between = apart("Algorithm 2", "Algorithm 3", "N1")
    yield claim("precision", "claim: algorithms 2 and 3 give similar posteriors", between, "<", 0.5, note)
    for quantity, what in (("N1", "a component"), ("N", "the total")):
        distances = [apart(one, "Algorithm 2", quantity) for one in ONE]
        note = "total variation, the larger of both algorithms 1"
        note += (
            ""
            if quantity == "N1"
            else "; they draw the total anew, algorithm 2 releases the noisy one: sd 1.9, 1.6, 1.4"
        )
        yield claim("precision", f"claim: algorithm 1 is similar to algorithm 2, {what}", distances, "<", 0.1, note)


def _sd(of: pd.DataFrame) -> float:
    """Standard deviation of a law from its values and probabilities; NaN if one is missing."""
    p, x = of["probability"].to_numpy(), of["value"].to_numpy()
    mean = np.sum(p * x)
    return float(np.sqrt(np.sum(p * (x - mean) ** 2)))


def _as_laws(table: pd.DataFrame, laws: Any) -> Iterator[Row]:
    """The drawn values and probabilities are laws of whole numbers, highest at what was released."""
    mass, note = (
        laws["probability"].apply(lambda p: p.sum(skipna=False)),
        "largest distance of a law's mass from one; 1e-12 a value is left out",
    )
    yield claim("precision", "posterior probabilities add up to one", np.abs(mass - 1), "=", 0, note, rounding=1e-9)
    algorithms = table[table["release"] != "noisy counts"]
    far = []
    for (_, quantity), of in algorithms.groupby(["release", "quantity"]):
        whole = of["probability"].notna().all()
        top = of["value"].iloc[int(np.argmax(of["probability"]))] if whole else np.nan
        far.append(abs(top - (sum(PAIR) if quantity == "N" else PAIR[0])))
    note = "distance of the most probable N1 and N from the released 250 and 607, all algorithms, no window"
    yield claim("precision", "claim: the most probable counts are those released", far, "<", 1, note)
