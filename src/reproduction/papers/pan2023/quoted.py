"""Define the numbers that methods.md and errata.md quote, each with the table or the arithmetic expression from which
it follows.
"""

from math import comb, e, log, log2

from ...verdicts.quotes import Quote

GIVEN = {  # size and rate of an example, slides that state the theorem, and a proportion with which tables are compared
    "errata.md": ("1000", "100", "0.1", "0.5"),
}


def _derangements(b: int) -> int:
    return sum((-1) ** i * comb(b, i) * _factorial(b - i) for i in range(b + 1))


def _factorial(n: int) -> int:
    return n * _factorial(n - 1) if n else 1


def _excess(b: int = 400) -> float:
    """Return b times the difference between the theorem's epsilon and the exact epsilon for a stratum of b records. The
    difference is ln(b + 1) - ln(D_b/D_(b-2))/2.
    """
    return b * (log(b + 1) - 0.5 * log(_derangements(b) / _derangements(b - 2)))


QUOTES = [
    # the terms of the sum grow as e^n, while its value is below 1
    Quote("methods.md", r"up to about ${{1.4}}\,n$ bits", "", lambda _: [log2(e)]),
    Quote("methods.md", r"larger than this smallest $\varepsilon$ by about ${{1.5}}/b$", "", lambda _: [_excess()]),
]
