"""What the figures of phi and of the privacy loss draw, against the slides' own formulas."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms.swapping import two_by_two

from ...verdicts import chi_squared
from ...verdicts.rows import claim
from . import drawn_formulas as formulas
from .settings import odds_ratio, table_of

Row = dict[str, Any]
_SOME = 12  # of so many points of a curve one is compared
_FEW = 20  # records whose derangements are counted
_SIGNS = np.array([[1, -1], [-1, 1]])


def rows(tables: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Rows of `agreement.ours`."""
    yield _densities(tables["phi_density"])
    yield _by_rate(tables["phi_by_rate"])
    yield _epsilon(tables["privacy_loss"])


def bars(rows: pd.DataFrame) -> float:
    """p value of a panel's drawn histogram against its drawn exact curve, as if it had one draw a swap."""
    drawn, exact = (rows[rows["kind"] == kind] for kind in ("swapped", "swapped exact"))
    swaps = rows.loc[rows["kind"] == "swaps", "y"].iloc[0]
    return chi_squared.histogram(drawn["x"], drawn["y"], exact["x"], exact["y"], swaps)


def _original(theta: str, total: int) -> np.ndarray:
    return table_of([float(share) for share in theta.strip("()").split(",")], int(total))


def _swapped(original: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Tables and probabilities after one swap."""
    if rate == 0:
        return original.reshape(1, 4), np.ones(1)
    row = two_by_two.row(original, rate=rate)
    return row.tables(original).reshape(-1, 4), np.exp(row.log_forward)


def _limit(original: np.ndarray, rate: float) -> float:
    """Of infinitely many records: the selected share has independent columns, the rest is as it was."""
    share = original / original.sum()
    return odds_ratio((1 - rate) * share + rate * np.outer(share.sum(axis=1), share.sum(axis=0)))


def _gap(curve: pd.DataFrame, model: tuple[np.ndarray, np.ndarray]) -> float:
    """Largest distance of a density of phi from that of the model, in units of its height."""
    some = curve.iloc[::_SOME]
    phi = some["x"].to_numpy(dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = formulas.log_phi_density(np.log(phi), *model) / phi
    return float(np.abs(some["y"] - wanted).max(skipna=False) / np.max(wanted))


def _densities(table: pd.DataFrame) -> Row:
    gaps: list[float] = []
    about = ("phi_density", "the drawn curves are the densities of phi")
    for (theta, total), of in table.groupby(["theta", "total"], sort=False):
        single = of[of["x"].isna()].set_index("kind")["y"]
        original = _original(str(theta), int(str(total)))
        if np.isnan(single["one swap x11"]):
            return claim(*about, np.nan, "=", 0, "a number is missing")
        once = original + int(single["one swap x11"] - original[1, 1]) * _SIGNS
        models = {
            "original": (original.reshape(1, 4), np.ones(1)),
            "swapped exact": _swapped(original, single["rate"]),
            "one swap": (once.reshape(1, 4), np.ones(1)),
        }
        gaps += [_gap(of[of["kind"] == kind], model) for kind, model in models.items()]
        gaps.append(abs(single["phi"] / odds_ratio(original) - 1))
        gaps.append(abs(single["limit"] / _limit(original, single["rate"]) - 1))
    note = "largest relative distance of densities, of the table's phi and of the limit from the slides' formulas"
    return claim(*about, gaps, "=", 0, note, rounding=1e-6)


def _by_rate(table: pd.DataFrame) -> Row:
    gaps = []
    for (theta, total, rate), of in table.groupby(["theta", "total", "rate"], sort=False):
        original, single = _original(str(theta), int(str(total))), of[of["x"].isna()].set_index("kind")["y"]
        model = _swapped(original, float(str(rate)))
        gaps.append(_gap(of[of["kind"] == "density"], model))
        gaps.append(abs(single["limit"] / _limit(original, float(str(rate))) - 1))
        gaps.append(_half(np.log(single["median"]), model))
    note = "largest relative distance of densities and limits, and of the probability below a median from one half"
    about = ("phi_by_rate", "the drawn densities, medians and limits are those of phi")
    return claim(*about, gaps, "=", 0, note, rounding=1e-6)


def _half(median: float, model: tuple[np.ndarray, np.ndarray]) -> float:
    """How far the probability below is from 1/2."""
    return abs(formulas.log_phi_excess(median, *model)) / 2 if np.isfinite(median) else np.nan


def _epsilon(table: pd.DataFrame) -> Row:
    """The theorem's epsilon, twice it, and the exact constant (1/2) ln(D_b/D_(b-2)) - ln(o) of b >= 4, p <= 1/2."""
    about = ("privacy_loss", "the drawn epsilon is ln(b + 1) - ln(o)")
    if table[["group", "x", "y"]].isna().any(axis=None):
        return claim(*about, np.nan, "=", 0, "a number is missing")
    stated = table[table["kind"] == "rate"]
    gaps = [np.abs(_differences(stated[stated["variant"] == "as_written"]))]
    audits = table[table["kind"] == "exchange"].rename(columns={"group": "x", "x": "group"})
    gaps.append(np.abs(_differences(audits[audits["variant"] == "as_written"])))
    twice = audits[audits["variant"] == "twice"]
    gaps.append(np.abs(_differences(twice.assign(y=twice["y"] / 2))))
    exact = stated[(stated["variant"] == "corrected") & (stated["group"] >= 4) & (stated["x"] <= 0.5)]
    ratio = np.array([_ratio(b) for b in exact["group"].astype(int)])
    gaps.append(np.abs(exact["y"] - np.log(ratio) / 2 + np.log(exact["x"] / (1 - exact["x"]))))
    left = table[table["kind"] == "association"]
    kept = exact.assign(left=_kept(exact["x"], exact["group"])).sort_values(["group", "left"])["left"]
    gaps.append(np.abs(kept.to_numpy() - left[left["group"] >= 4].sort_values(["group", "x"])["x"].to_numpy()))
    note = "largest distance of the drawn epsilon and of the association left from their formulas"
    return claim(*about, np.concatenate([np.asarray(gap, float) for gap in gaps]), "=", 0, note, rounding=1e-8)


def _differences(rows: pd.DataFrame) -> pd.Series:
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = np.log(rows["x"] / (1 - rows["x"]))
    return rows["y"] - np.maximum(np.log(rows["group"] + 1) - odds, odds)


def _ratio(b: int) -> float:
    """D_b/D_(b-2), D_b the permutations of b records that leave none at its place; b!/e to the last digit beyond 20."""
    counts = [1.0, 0.0]
    for k in range(2, min(b, _FEW) + 1):
        counts.append((k - 1) * (counts[-1] + counts[-2]))
    return counts[b] / counts[b - 2] if b <= _FEW else float(b * (b - 1))


def _kept(rate: pd.Series, size: pd.Series) -> pd.Series:
    """lambda_1 = 1 - E[K]/(b - 1), K binomial of b records, but never 1."""
    none = (1 - rate) ** (size - 1)
    return 1 - size / (size - 1) * rate * (1 - none) / (1 - size * rate * none)
