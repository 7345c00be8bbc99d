"""Privacy loss of swapping (the epsilon of the theorem, the exact constant, and the cost of one exchange), and the
association that remains after swapping.
"""

import numpy as np
import pandas as pd

from dpmultinomial._accounting import swapping
from dpmultinomial._mechanisms.swapping import swapping as mechanism

from .algorithms import swapping_audit

ALL_CLASSES = (
    # largest number of records for which all classes of 2 x 2 tables are enumerated; above it, the audit is a lower
    # bound
    20
)


def epsilon_table(*, sizes: list[int], rates: list[float]) -> pd.DataFrame:
    """Return the epsilon of swapping per unit of Hamming distance, by stratum size and swap rate.

    The columns are size, rate, variant (``as_written``: the theorem; ``corrected``: the exact constant), epsilon and
    best_rate (the rate with the smallest epsilon for this size).
    """
    rows = []
    for size in sizes:
        best, _ = swapping.best_rate(size)
        for rate in rates:
            stated, exact = swapping.epsilon(size, rate=rate), swapping.exact_epsilon(size, rate=rate)
            for variant, value in (("as_written", stated), ("corrected", exact)):
                rows.append({"size": size, "rate": rate, "variant": variant, "epsilon": value, "best_rate": best})
    return pd.DataFrame(rows)


def privacy_loss(*, sizes: list[int], audit_sizes: list[int], audit_rates: list[float]) -> pd.DataFrame:
    """Return the curves of the privacy-loss figure in long format, with the columns kind, group, x, variant and y.

    The kinds are ``rate``: stated and exact epsilon against the swap rate (x), with one group per stratum size;
    ``exchange``: exact loss of one exchange in 2 x 2 tables, epsilon and twice epsilon, against the number of records
    (x), with one group per rate; ``association``: exact epsilon against lambda_1, the proportion of the association
    that remains after a swap (x), with one group per stratum size.
    """
    rows: list[tuple[str, float, float, str, float]] = []
    grid = np.linspace(0.01, 0.99, 99)
    for size in sizes:
        for rate in grid:
            stated, exact = swapping.epsilon(size, rate=rate), swapping.exact_epsilon(size, rate=rate)
            rows.append(("rate", size, rate, "as_written", stated))
            rows.append(("rate", size, rate, "corrected", exact))
            if rate <= 0.5:
                rows.append(("association", size, mechanism.attenuation(size, rate=rate)[0], "corrected", exact))
    for rate in audit_rates:
        for n in audit_sizes:
            audit = swapping_audit.two_by_two(n, rate=rate, classes=_classes(n))
            rows.append(("exchange", rate, n, "corrected", audit.per_exchange))
            rows.append(("exchange", rate, n, "as_written", audit.claimed))
            rows.append(("exchange", rate, n, "twice", 2 * audit.claimed))
    return pd.DataFrame(rows, columns=["kind", "group", "x", "variant", "y"])


def _classes(n: int) -> str:
    return "all" if n <= ALL_CLASSES else "extreme"


def exchange_audit(*, audit_sizes: list[int], audit_rates: list[float]) -> pd.DataFrame:
    """Return the largest privacy loss due to an exchange of two records in a 2 x 2 table, for every swap rate and
    number of records. In addition, return whether the loss is at most epsilon, or at most twice epsilon.

    The columns are size, rate, classes, variant, per_exchange, per_unit, epsilon, covered_by_epsilon, covered_by_twice,
    margins, originals and output (last cells).
    """
    rows = []
    for rate in audit_rates:
        for n in audit_sizes:
            classes = _classes(n)
            audit = swapping_audit.two_by_two(n, rate=rate, classes=classes)
            rows.append({
                "size": n, "rate": rate, "classes": classes, "variant": "corrected", "per_exchange": audit.per_exchange,
                "per_unit": audit.per_unit, "epsilon": audit.claimed, "covered_by_epsilon": audit.holds_per_exchange,
                "covered_by_twice": audit.holds, "margins": f"{audit.margins[0]}, {audit.margins[1]}",
                "originals": f"{audit.pair[0]}, {audit.pair[1]}", "output": audit.output,
            })  # fmt: skip
    return pd.DataFrame(rows)
