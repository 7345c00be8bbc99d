"""The worked examples of the slides, as printed and as the algorithm makes them."""

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms.swapping import swapping

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
]  # (V1, V2), and as printed after the swap: "1 - 1" and "0 + 1" in V1
ANSWERS_AFTER = [(0, 0), (1, 1), (1, 1), (1, 1), (0, 0)]


def swap_example(*, rate: float, rng: np.random.Generator) -> pd.DataFrame:
    """Original table, roles of its columns, and the swap step: as printed, and one run of the algorithm.

    Columns step, variant, match, then those of the slides. Which columns form V_Match is not said; Sect and #Attend
    both agree for the printed pair, so each is run.
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
    """The five answer pairs before and after the printed swap, whether V2 was held, and the 2 x 2 tables.

    Columns record, V1, V2, V1_printed, V2_printed, held (V2 unchanged), V1_corrected (V1 of records 1 and 3
    exchanged, V2 held as the algorithm does).
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
    """phi of the slides' theta and what swapping leaves of it in the limit.

    Columns theta1..theta4, rate, variant, phi, association.
    """
    rows = []
    for theta in thetas:
        for rate in rates:
            phi = swapping.limit_odds_ratio(theta, rate=rate)
            kind = "none" if abs(phi - 1) < 1e-12 else "positive" if phi > 1 else "negative"
            cells = {f"theta{i + 1}": t for i, t in enumerate(theta)}
            rows.append(cells | {"rate": rate, "variant": "corrected", "phi": phi, "association": kind})
    return pd.DataFrame(rows)
