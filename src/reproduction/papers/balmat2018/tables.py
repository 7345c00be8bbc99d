"""Compute the multinomial coefficients in Table 1 by the recurrence, and measure the accuracy of the recurrence."""

from math import factorial, lgamma, log, prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._posteriors.counts import compositions


def exact_coefficients(counts: NDArray[np.int64]) -> list[int]:
    """Return the exact multinomial coefficient of each row of counts, as a Python integer."""
    total, triples = int(counts[0].sum()), counts.tolist()
    first = _binomials(total)
    second = {a: _binomials(total - a) for a in {a for a, _, _ in triples}}
    return [first[a] * second[a][b] for a, b, _ in triples]


def _binomials(n: int) -> list[int]:
    """Return the binomial coefficients C(n, k) for k = 0, 1, .., n, each of which is computed from the previous
    coefficient.
    """
    coefficients = [1]
    for b in range(n):
        coefficients.append(coefficients[-1] * (n - b) // (b + 1))
    return coefficients


def table_1(*, total: int) -> pd.DataFrame:
    """Return Table 1 for one total, with one row per composition in the paper's order. Each row contains the step of
    the recurrence.

    The columns are i, k, S1, S0 and Serr; `coefficient` by the recurrence; `exact` as an integer (string);
    `relative_error`; and the step coefficient[i] = coefficient[from] * multiplier/divisor.
    """
    counts, values = compositions.multinomial_table(total, 3)
    exact = exact_coefficients(counts)
    frame = pd.DataFrame(counts, columns=["S1", "S0", "Serr"])
    k = total - frame["S1"]
    frame.insert(0, "k", k)
    frame.insert(0, "i", np.arange(1, len(frame) + 1))
    last = frame["Serr"] == 0
    frame["coefficient"] = values
    frame["exact"] = [str(e) for e in exact]
    frame["relative_error"] = _relative_errors(values, exact)
    # The last row of a block is its mirror image: the unit comes from S0, while it comes from Serr in the first row.
    frame["from"] = np.where(frame["i"] == 1, 0, frame["i"] - k - last)
    frame["multiplier"] = np.where(frame["i"] == 1, 1, frame["S1"] + 1)
    frame["divisor"] = np.where(frame["i"] == 1, 1, np.where(last, frame["S0"], frame["Serr"]))
    return frame


def table_1_categories(*, total: int, categories: list[int]) -> pd.DataFrame:
    """Return, for each number of categories, the largest relative error in the table of multinomial coefficients. The
    columns are categories, total, rows and largest_error (relative).

    Section 6.1 extends the table by induction. The reference values are computed with integer factorials.
    """
    facts = [factorial(s) for s in range(total + 1)]
    rows = []
    for k in categories:
        counts, values = compositions.multinomial_table(total, k)
        exact = [facts[total] // prod(facts[s] for s in row) for row in counts.tolist()]
        largest = _relative_errors(values, exact).max()
        rows.append({"categories": k, "total": total, "rows": len(counts), "largest_error": largest})
    return pd.DataFrame(rows)


def table_1_accuracy(*, totals: list[int]) -> pd.DataFrame:
    """Return the largest errors in the complete table of multinomial coefficients, for each total and method.

    The columns are total, rows, method (``recurrence``, ``exp(lgamma)``: relative error; ``log table``, ``lgamma``:
    absolute error of the logarithm), largest_error, all_exact and note (behaviour at the limit of float64).
    """
    records = []
    for total in totals:
        counts, logs = compositions.log_multinomial_table(total, 3)
        exact = exact_coefficients(counts)
        gammas = np.array([lgamma(s + 1.0) for s in range(total + 1)])
        by_gamma = gammas[total] - gammas[counts].sum(axis=1)
        true_logs = np.array([_log(e) for e in exact])
        errors = {"log table": np.abs(logs - true_logs).max(), "lgamma": np.abs(by_gamma - true_logs).max()}
        note = ""
        try:
            errors["recurrence"] = _relative_errors(compositions.multinomial_table(total, 3)[1], exact).max()
            errors["exp(lgamma)"] = _relative_errors(np.exp(by_gamma), exact).max()
        except OverflowError as error:
            errors["recurrence"], note = np.nan, str(error)
        for method, largest in errors.items():
            records.append(
                {
                    **{"total": total, "rows": len(counts), "method": method, "largest_error": largest},
                    **{"all_exact": bool(largest == 0), "note": note if method == "recurrence" else ""},
                }
            )
    return pd.DataFrame(records)


def _relative_errors(values: NDArray[np.float64], exact: list[int]) -> NDArray[np.float64]:
    """Return the relative errors |value/exact - 1|, computed as correctly rounded quotients of integers."""
    ratios = map(float.as_integer_ratio, values.tolist())
    return np.array([abs(top - e * bottom) / (e * bottom) for (top, bottom), e in zip(ratios, exact, strict=True)])


def _log(value: int) -> float:
    """Return the log of an integer of any size. The log is correctly rounded except for the last bit."""
    shift = max(0, value.bit_length() - 1000)
    return log(value >> shift) + shift * log(2.0)
