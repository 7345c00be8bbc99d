"""Define the two data sets of the paper and their five representative components."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._seeding import stream

REPRESENTATIVES = ("N_min", "N_q1", "N_med", "N_q3", "N_max")
# order statistics 1, 12, 25, 38, 50: quantiles of type 3, which agree with the printed 2, 6, 11
_PLACES = (0, 11, 24, 37, 49)

# House seats by the 2010 census, states in alphabetical order. The printed table lacks one state with seven seats;
# Alabama, the first line of the list, is the natural candidate. The last component is the national total.
SEATS = {
    **{"Alaska": 1, "Arizona": 9, "Arkansas": 4, "California": 53, "Colorado": 7, "Connecticut": 5, "Delaware": 1},
    **{"Florida": 27, "Georgia": 14, "Hawaii": 2, "Idaho": 2, "Illinois": 18, "Indiana": 9, "Iowa": 4, "Kansas": 4},
    **{"Kentucky": 6, "Louisiana": 6, "Maine": 2, "Maryland": 8, "Massachusetts": 9, "Michigan": 14, "Minnesota": 8},
    **{"Mississippi": 4, "Missouri": 8, "Montana": 1, "Nebraska": 3, "Nevada": 4, "New Hampshire": 2},
    **{"New Jersey": 12, "New Mexico": 3, "New York": 27, "North Carolina": 13, "North Dakota": 1, "Ohio": 16},
    **{"Oklahoma": 5, "Oregon": 5, "Pennsylvania": 18, "Rhode Island": 2, "South Carolina": 7, "South Dakota": 1},
    **{"Tennessee": 9, "Texas": 36, "Utah": 4, "Vermont": 1, "Virginia": 11, "Washington": 10, "West Virginia": 3},
    **{"Wisconsin": 8, "Wyoming": 1, "United States": 435},
}
_TOTAL = 21249
_FREE = ((5, 15, 60), (12, 60, 382), (12, 382, 736), (11, 736, 977))  # number of counts in each range, and the range
_FIXED = (0, 0, 0, 1, 2, 3, 60, 382, 736, 977)


def example_1(vector: int) -> NDArray[np.int64]:
    """Return fifty simulated counts that satisfy every constraint on Example 1 that is stated in the paper. The paper
    does not publish the counts that it used.

    The counts are three 0, one each of 1, 2, 3, five in 15..60, and all others in 60..1000, with order statistics 0,
    60, 382, 736, 977 and sum 21249.

    Parameters
    ----------
    vector : integer >= 0 that selects one of the many such vectors.
    """
    rng = stream(vector, "wang2020", "example_1")
    low = np.concatenate([np.full(n, a) for n, a, _ in _FREE])
    high = np.concatenate([np.full(n, b) for n, _, b in _FREE])
    free = rng.integers(low, high + 1)
    while gap := _TOTAL - sum(_FIXED) - int(free.sum()):  # move single units until the sum equals the total
        i = rng.integers(len(free))
        free[i] = np.clip(free[i] + np.sign(gap), low[i], high[i])
    return rng.permutation(np.concatenate([_FIXED, free])).astype(np.int64)


def example_2() -> NDArray[np.int64]:
    """Return the numbers of House seats of the states from Alaska to Wyoming in alphabetical order, and the national
    total.
    """
    return np.array(list(SEATS.values()), dtype=np.int64)


def both(vector: int) -> dict[str, NDArray[np.int64]]:
    """Return a dictionary that maps the name of each example to its counts."""
    return {"example_1": example_1(vector), "example_2": example_2()}


def representatives(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the minimum, the quartiles and the maximum of fifty counts. They are order statistics of a
    stable sort.
    """
    return np.argsort(counts, kind="stable")[list(_PLACES)]


def figure_1(*, vector: int) -> pd.DataFrame:
    """Return the counts of Example 1 in increasing order, with the columns rank, count and representative. The column
    representative is empty for counts that are not representatives.
    """
    counts = np.sort(example_1(vector))
    names = dict(zip(_PLACES, REPRESENTATIVES, strict=True))
    representative = [names.get(i, "") for i in range(len(counts))]
    return pd.DataFrame({"rank": np.arange(1, len(counts) + 1), "count": counts, "representative": representative})


def table_2() -> pd.DataFrame:
    """Return the components of Example 2, grouped by count. The columns are `count`, `instances` (number of components
    with this count) and `components` (names of these components).
    """
    rows = pd.DataFrame({"count": SEATS.values(), "component": SEATS.keys()}).groupby("count")["component"]
    table = rows.agg(["size", ", ".join]).reset_index()
    table.columns = ["count", "instances", "components"]
    note = (
        "A state with seven seats is missing. The total of 863 = 428 + 435 consists of the seats of 49 states and of "
        "the national total 435."
    )
    return table.assign(note=np.where(table["count"] == 7, note, ""))
