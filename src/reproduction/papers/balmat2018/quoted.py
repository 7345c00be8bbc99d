"""Define the numbers that methods.md and errata.md quote, each with the table or the arithmetic expression from which
it follows.
"""

import sys
from itertools import count
from math import comb, factorial

import pandas as pd

from ...verdicts.quotes import Quote, at

GIVEN = {  # sections, an exponent of a model; sections, numbers of draws and rows of the listings, and their footnotes
    "methods.md": ("5.1", "-1600"),
    "errata.md": ("5.2", "6.4", "4,000", "5,000", "1,001", "1001", "5000"),
}


def _overflow() -> int:
    """Return the smallest total M at which M times a multinomial coefficient exceeds the range of float64. The product
    is M times the largest multinomial coefficient for M - 1 records in three categories.
    """
    for total in count(600):
        parts = [(total - 1 + i) // 3 for i in range(3)]
        largest = factorial(total - 1) // (factorial(parts[0]) * factorial(parts[1]) * factorial(parts[2]))
        if total * largest > sys.float_info.max:
            return total
    raise AssertionError


def _model_and_equation(table: pd.DataFrame) -> list[float]:
    def value(law: str, quantity: str, way: str = "quadrature") -> float:
        return at(table, "value", law=law, quantity=quantity, way=way)

    mean, given = "mean of r", "mean of r given S"
    return [
        *(value("equation (3)", mean), value("model", mean)),
        *(value("equation (3)", given), value("model", given)),
        value("equation (3)", "distance of the laws of S"),
    ]


def _trapped(table: pd.DataFrame) -> list[float]:
    return [at(table, column, setting=s, alpha=0.0) for s in ("a", "b") for column in ("trapped", "chains")]


QUOTES = [
    Quote(
        "methods.md",
        r"require {{5,355}} multiplications, whereas the list of compositions has {{3,478,761}} rows. At $k = 10$, the "
        r"list of compositions would have ${{1.3 \cdot 10^{10}}}$ rows",
        "",
        # k - 2 convolutions on 0..50 and one value at 50 of the last convolution; compositions of 50 into 6 and into 10
        # parts
        lambda _: [4 * 51 * 52 // 2 + 51, comb(55, 5), comb(59, 9)],
    ),
    Quote(
        "methods.md",
        r"exact up to $M = {{37}}$",
        "table_1_accuracy",
        lambda t: [t[(t["method"] == "recurrence") & t["all_exact"]]["total"].max()],
    ),
    Quote(
        "methods.md",
        r"coefficients for $M = 50$ is ${{6 \cdot 10^{-16}}}$",
        "table_1_accuracy",
        lambda t: [at(t, "largest_error", method="recurrence", total=50)],
    ),
    Quote("methods.md", "$M = {{648}}$", "", lambda _: [_overflow()]),
    Quote("methods.md", r"below ${{2.2 \cdot 10^{-308}}}$ is not assessed", "", lambda _: [sys.float_info.min]),
    Quote("errata.md", "overflows from M = {{648}} on", "", lambda _: [_overflow()]),
    Quote(
        "errata.md",
        "in {{10}} of {{10}} chains at (5, 40, 5), and in {{4}} of {{10}} chains within",
        "trapped",
        _trapped,
    ),
    Quote(
        "errata.md",
        "E r is {{0.500}} instead of {{0.128}}. Given S = (5, 40, 5), E r is {{0.178}} instead of {{0.128}}. The "
        "distributions of S differ by {{0.767}} in total variation",
        "equation_3",
        _model_and_equation,
    ),
]
