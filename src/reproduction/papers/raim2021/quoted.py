"""Define the numbers that methods.md and errata.md quote, and the tables from which these numbers follow."""

import pandas as pd

from ...verdicts.quotes import Quote, at, told

GIVEN = {  # the accuracy of a test, the limits, sizes and levels of Geweke's test, and printed or chosen statistics
    "methods.md": (r"3 \cdot 10^{-13}", "0.01", "3.27", "40,000", "000"),
    "errata.md": ("600", "400"),
}


def _longest_apart(table: pd.DataFrame) -> list[float]:
    lengths = table.pivot_table(index=["epsilon", "parameter"], columns="method", values="length")
    return [max(abs(lengths["corrected"] / lengths["exact"] - 1))]


def _longer(table: pd.DataFrame) -> list[float]:
    def length(epsilon: float, method: str) -> float:
        return at(table, "length", epsilon=epsilon, method=method, parameter="sigma2")

    return [length(e, "corrected") / length(e, "statistics") - 1 for e in (2.0, 34.0)]


def _largest_z(table: pd.DataFrame) -> list[float]:
    largest = table[table["limits"] == "[-2, 2]"].assign(z=lambda t: t["z"].abs()).groupby("method")["z"].max()
    return [max(largest["exact"], largest["slides_model"]), largest["corrected"]]


def _mass_in_turn(table: pd.DataFrame) -> list[float]:
    return [abs(table["in_turn"] - table["joint"]).sum() / 2]


QUOTES = [
    Quote("methods.md", "differ by at most {{7.2 %}}", "coverage", _longest_apart),
    Quote(
        "methods.md",
        r"is {{26 %}} longer than the interval from the exact posterior at $\varepsilon = 2$ and {{17 %}} longer "
        "at",
        "coverage_asymmetric",
        _longer,
    ),
    Quote(
        "methods.md",
        "is at most {{1.3}} for `exact` and `slides_model`. The variant `corrected` fails the test, with a largest "
        "$|z|$ of {{3.7}}.",
        "geweke",
        _largest_z,
    ),
    Quote(
        "methods.md",
        "$w = 4$, the sensitivity is {{16.988}}",
        "sensitivity",
        lambda t: [at(t, "exact", lower=-2, upper=2, n=1000)],
    ),
    Quote("errata.md", "log u_L ≈ {{−5·10⁷}}", "errata", lambda t: told(t, 6, r"log u_L is (-[\d.]+(?:e\+?\d+)?)")),
    Quote("errata.md", "{{19 %}} at z_sse = 600", "errata", lambda t: told(t, 8, r"([\d.]+) at z_sse = 600")),
    Quote("errata.md", "{{16.988}} is the exact", "sensitivity", lambda t: [at(t, "exact", lower=-2, upper=2, n=1000)]),
    # the gamma distribution of s_sse has shape 949/2 and scale 2; at its kink, the slope of its log density is 1/L,
    # with L = Delta_s/2
    Quote("errata.md", "for any Δ_s below {{18.49}}", "", lambda _: [2 / ((949 / 2 - 1) / 778.56 - 1 / 2)]),
    Quote("errata.md", "their total variation distance is {{0.18}}", "counts_in_turn", _mass_in_turn),
]
