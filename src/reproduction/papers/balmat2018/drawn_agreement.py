"""The paper's printed statements about Figures 1 and 2, judged from the very columns that the figures draw."""

import math
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...verdicts import chi_squared, power
from ...verdicts.rows import claim, computed, law, not_run
from . import enumerated, laws
from .figure_2 import PROBABILITIES

Array = NDArray[np.float64]

Row = dict[str, Any]
_PANELS = "abcd"
_GIBBS_WORTH = 1 / 3  # of an independent draw, at the least (autocorrelation time 1.4 to 2.5)
_IMAGE = "the figure is an image without numbers, and the noise of the printed panels is not stated"
_AGAIN = 40  # triplets whose digits are computed anew
_GROUPS = 20  # of the triplets in their order, for standard errors
_DIP = (
    "difference of medians, 0.1 < p < 0.6 less p < 0.01 or > 0.95; half a printed digit and 3.5 standard errors allowed"
)


def rows(tables: dict[str, pd.DataFrame]) -> list[Row]:
    """Rows of `agreement.ours`."""
    found = [*_figure_1(tables["figure_1"], tables["figure_1_laws"]), *_modes(tables["figure_1_moments"])]
    total = int(tables["figure_2_digits"]["total"].iloc[0])
    return [*found, *_digits(tables["figure_2"], tables["figure_2_tiny_p"], total), *_triplets(tables["figure_2"])]


def _figure_1(drawn: pd.DataFrame, tests: pd.DataFrame) -> Iterator[Row]:
    """Every panel's draws: by the tests of long samples, and by the histogram that is drawn."""
    by_method = tests.set_index(["setting", "method"])
    named = (
        (laws.EXACT, "exact draws", laws.LISTING_52, 1.0),
        (laws.GIBBS, "Gibbs draws", laws.LISTING_64, _GIBBS_WORTH),
    )
    for method, name, listing, worth in named:
        for panel in _PANELS:
            about = ("figure_1", f"panel {panel}: r follows the posterior, {name}")
            if (panel, method) not in by_method.index or panel not in set(drawn["setting"]):
                yield not_run(*about, f"this run has no panel {panel}")
                continue
            long: Any = by_method.loc[(panel, method)]
            bars = _histogram(drawn[drawn["setting"] == panel], method, worth)
            note = (
                f"least of two p values, doubled: {long['draws']:,.0f} draws by enumeration {long['p_value']:.2g}, "
                f"drawn histogram against drawn curve {bars:.2g}; at noisy counts = counts, the panel's are unknown"
            )
            seen = power.words({enumerated.SCALE: long["sees_scale"], enumerated.ALPHA: long["sees_alpha"]})
            p_value = float(np.minimum(1.0, 2 * np.minimum(long["p_value"], bars)))
            yield law(*about, p_value, note, sees=seen)
            as_run: Any = by_method.loc[(panel, listing)]
            words = {enumerated.SCALE: as_run["sees_scale"], enumerated.ALPHA: as_run["sees_alpha"]}
            note = f"{listing} as R reads it, one run: its p never moves"
            yield law(*about, as_run["p_value"], note, "published", sees=power.words(words))
    kept = float(tests["kept"].iloc[0])
    typo = "1,001 through 4,000 are 3,000 rows; the listing's 1001:5000 and the text elsewhere say 4,000"
    yield computed("figure_1", "kept iterations", kept)
    yield computed("figure_1", "kept iterations, from the row numbers of section 6.4", kept, typo)
    yield _curve(drawn)


def _histogram(panel: pd.DataFrame, method: str, worth: float) -> float:
    bars, curve = (panel[panel["kind"] == kind] for kind in (method, "density"))
    return chi_squared.histogram(bars["x"], bars["y"], curve["x"], curve["y"], worth * bars["draws"].iloc[0])


def _curve(drawn: pd.DataFrame) -> Row:
    """The drawn density against enumeration, over all panels."""
    gaps = []
    for _, line in drawn[drawn["kind"] == "density"].groupby("setting"):
        counts = [float(count) for count in line["counts"].iloc[0].split(",")]
        model = {"total": int(sum(counts)), "scale": 2 / line["epsilon"].iloc[0]}
        gaps.append(np.abs(line["y"] - enumerated.density(line["x"].to_numpy(), counts, **model)).max(skipna=False))
    note = "largest distance of the drawn curve from enumeration, density per unit of r"
    return claim("figure_1", "the curves are the posterior's density", gaps, "=", 0, note, rounding=1e-8)


def _modes(moments: pd.DataFrame) -> Iterator[Row]:
    """Steps 7 and 8 of section 5.1: the mode of a histogram, which the panels show and the paper does not print."""
    of_r = moments[moments["quantity"] == "r"].set_index(["setting", "method"])["mode"]
    for panel in _PANELS:
        about = ("figure_1", f"panel {panel}: mode of r")
        if (panel, "gibbs") not in of_r:
            yield not_run(*about, f"this run has no panel {panel}")
            continue
        exact: Any = of_r[panel, "exact"]
        note = f"the five fullest of 250 cells, mean over chains (section 6.4); of the density {exact:.3f}; {_IMAGE}"
        yield computed(*about, of_r[panel, "gibbs"], note)


def _digits(drawn: pd.DataFrame, tiny: pd.DataFrame, total: int) -> Iterator[Row]:
    names = ["all differences are beyond the twelfth digit, no p below 1e-6"]
    names += [f"dip near the end points of {p}, digits" for p in PROBABILITIES]
    ordinary = drawn.loc[drawn[list(PROBABILITIES)].min(axis=1) > 1e-6, "pair"]
    if total != 50:
        yield from (not_run("figure_2", name, f"this run computed M = {total}") for name in names)
    else:
        below = int((drawn["pair"] < 12).sum())
        note = f"fewest digits; over all triplets {drawn['pair'].min():.2f}, {below} below 12"
        yield claim("figure_2", names[0], ordinary.min(skipna=False), ">", 12, note)
        for name, p in zip(names[1:], PROBABILITIES, strict=True):
            columns = drawn[p].to_numpy(dtype=float), drawn["pair"].to_numpy(dtype=float)
            dip, error = _dip(*columns), _dip_error(*columns)
            allowed = f", {0.05 / error + 3.5:.0f} of them in all" if error > 0 else ""
            yield computed("figure_2", name, dip, f"{_DIP}{allowed}", mc_se=error)
    yield computed("figure_2", "random triplets", len(drawn))
    apart = np.abs(drawn[list(PROBABILITIES)].sum(axis=1, skipna=False) - 1)
    yield claim("figure_2", "every triplet adds up to one", apart, "=", 0, "largest distance from one", rounding=1e-12)
    yield _footnote_12(drawn[drawn[list(PROBABILITIES)].min(axis=1) > 1e-6].head(_AGAIN), total)
    least: Any = tiny["pair"].idxmin()
    worst = tiny.loc[least]
    note = f"fewest digits, at p1 = {worst['p1']:g}: exp(.) underflows before the coefficient lifts it"
    quantity = "all differences are beyond the twelfth digit, at any p"
    yield claim("figure_2_tiny_p", quantity, worst["pair"], ">", 12, note, "as_written")


def _footnote_12(points: pd.DataFrame, total: int) -> Row:
    """Digits of some triplets anew, from integers, logarithms and the log gamma function of Python's library."""
    gaps = []
    for p, digits in zip(points[list(PROBABILITIES)].to_numpy().tolist(), points["pair"], strict=True):
        gaps.append(_fewest(total, tuple(p)) - digits)
    worst = float(max(np.max(np.abs(gaps)), 2 * abs(np.mean(gaps)))) if gaps else np.nan
    note = (
        f"largest difference of drawn digits from digits computed anew, {len(gaps)} triplets, or twice the mean one; "
    )
    note += "0.3 for other rounding"
    return claim("figure_2", "the digits are those of footnote 12", worst, "=", 0, note, "as_written", rounding=0.3)


@cache
def _fewest(total: int, p: tuple[float, ...]) -> float:
    """Fewest digits of the product of coefficient and powers beside dmultinom's formula, over all compositions."""
    gammas, fewest = [math.lgamma(k + 1) for k in range(total + 1)], math.inf
    first, second, third = ([k * math.log(x) for k in range(total + 1)] for x in p)
    one, two, three = ([x - g for x, g in zip(logs, gammas, strict=True)] for logs in (first, second, third))
    for s1, s0, s2, coefficient in _compositions(total):
        product = coefficient * math.exp(first[s1] + second[s0] + third[s2])
        gap = abs(product - math.exp(gammas[total] + (one[s1] + two[s0] + three[s2])))
        if gap and product > sys.float_info.min:
            fewest = min(fewest, math.log10(product) - math.log10(gap))
    return fewest


@cache
def _compositions(total: int) -> list[tuple[int, int, int, int]]:
    """All of three parts, with the multinomial coefficient."""
    return [
        (s1, s0, total - s1 - s0, math.comb(total, s1) * math.comb(total - s1, s0))
        for s1 in range(total + 1)
        for s0 in range(total + 1 - s1)
    ]


def _dip(points: Array, digits: Array) -> float:
    """Median digits in the middle less those near the end points: the paper's bias."""
    outer = (points < 0.01) | (points > 0.95)
    middle = (points >= 0.1) & (points <= 0.6)
    return _median(digits[middle]) - _median(digits[outer])


def _median(values: Array) -> float:
    """Of those that are there; NaN of none."""
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else np.nan


def _dip_error(points: Array, digits: Array) -> float:
    """Its standard error, from its spread over groups of triplets; missing with fewer than two usable groups."""
    groups = zip(np.array_split(points, _GROUPS), np.array_split(digits, _GROUPS), strict=True)
    dips = np.array([_dip(*group) for group in groups])
    usable = dips[np.isfinite(dips)]
    return float(usable.std(ddof=1) / np.sqrt(len(usable))) if len(usable) > 1 else np.nan


def _triplets(drawn: pd.DataFrame) -> Iterator[Row]:
    """Footnote 13's three stages, from the points that are drawn."""
    margins = {}
    for name in PROBABILITIES:
        p = drawn[name].to_numpy()
        found = laws.kolmogorov(p, laws.three_stages(p))
        shift = np.abs(laws.three_stages(_UNIT, width=0.99) - laws.three_stages(_UNIT)).max() / 0.01
        seen = power.words({"width of the second stage": power.kolmogorov(shift, len(p), laws.LEVEL)})
        yield law("figure_2_laws", f"{name} follows the three stages", found["p_value"], "Kolmogorov's test", sees=seen)
        margins[name] = ((p > 0.75).mean(), (p < 0.25).mean())
    nearest = min(margins, key=lambda name: margins[name][1] - margins[name][0])
    above, below = margins[nearest]
    error = np.sqrt((below + above) / len(drawn))
    note = f"share of triplets with p > 3/4 against that with p < 1/4, the nearest of the three p ({nearest})"
    yield claim("figure_2_laws", "points thin out as p rises", above, "<", below, note, mc_se=error)


_UNIT = np.linspace(0, 1, 1001)
