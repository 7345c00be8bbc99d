"""Compare the computing times of the compiled release algorithms and of the exact posteriors with the computing times
of the procedures in the paper. The procedures are implemented as written.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms import additive_counts as mechanism
from dpmultinomial._posteriors.additive import additive_counts

from . import examples, literal


def _median(function: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return float(np.median(times))


def timings(
    *,
    epsilon: float,
    support: int,
    releases: int,
    literal_releases: int,
    window: int,
    literal_window: int,
    repeats: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the median computing times of releases and posteriors. The columns are task, method, seconds, baseline,
    baseline_seconds, ratio and note.

    A baseline that was run at a smaller size is scaled to the full size (proportional to the number of releases, or to
    the fourth power of the window). The note states this.
    """
    counts, pair = examples.example_2(), [250, 357]
    model: dict[str, Any] = {"epsilon": epsilon, "support": support, "rng": rng}
    fast = _median(lambda: mechanism.release_all(counts, size=releases, **model), repeats)
    slow = _median(lambda: [literal.release(counts.tolist(), **model) for _ in range(literal_releases)], 1)
    rows = [_row(f"{releases} releases by all four algorithms, Example 2", fast, "one by one in Python",
                 slow * releases / literal_releases, f"baseline {literal_releases} releases, scaled")]  # fmt: skip
    shape: dict[str, Any] = {"epsilon": epsilon, "algorithm": "2", "window": window}
    fast = _median(lambda: additive_counts.posterior(pair, **shape), 10 * repeats)
    slow = _median(lambda: literal.pair_table(pair, epsilon=epsilon, window=literal_window), 1)
    scale = ((2 * window + 1) / (2 * literal_window + 1)) ** 4
    note = "" if window == literal_window else f"baseline at +-{literal_window}, scaled by {scale:.0f}"
    rows.append(_row(f"posterior of two counts, window +-{window}", fast, "four-fold loop", slow * scale, note))
    for name in ("1-independent", "2", "3"):
        released = additive_counts.release(counts, algorithm=name, size=1, **model)[0]
        law: dict[str, Any] = {"epsilon": epsilon, "support": support, "algorithm": name, "window": None}
        seconds = _median(partial(additive_counts.posterior, released, **law), repeats)
        rows.append(_row(f"exact posterior of 50 counts, algorithm {name}", seconds, "", np.nan, ""))
    return pd.DataFrame(rows)


def _row(task: str, seconds: float, baseline: str, baseline_seconds: float, note: str) -> dict[str, Any]:
    named = {"task": task, "seconds": seconds, "baseline": baseline, "baseline_seconds": baseline_seconds}
    return named | {"ratio": baseline_seconds / seconds, "note": note}
