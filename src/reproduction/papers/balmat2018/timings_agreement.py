"""The paper's printed statements about time, as this run measured them: Table 2, footnote 11, Figure 3."""

from typing import Any, cast

import numpy as np
import pandas as pd

from ...verdicts.rows import NOT_RUN, claim, computed, not_run
from .r_baseline import NOT_FOUND

_TICK = "this run measured times below the tick of the clock, one millisecond"
_NO_C = "this R could not compile C"
_STANDARD, _IMPROVED = "standard (R dmultinom)", "table (R and C)"
_SAME = {"standard": (_STANDARD, "standard (Python)"), "improved": (_IMPROVED, "table (compiled)")}
_LARGEST_EFFECT = 0.15  # of epsilon on time that counts as none
_MACHINE = "a ratio of CPU times: it depends on machine and versions, which the paper does not state"


def rows(tables: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Rows of `agreement.ours`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [*_table_2(tables["table_2"]), *_calls(tables["r_timings"]), *_figure_3(tables["figure_3"])]
        found += _growth(tables["figure_3_growth"])
    if (tables["r_timings"]["seconds"] == 0).any():  # a ratio to 0 says nothing
        found = [row if np.isfinite([row["ours"], row["mc_se"]]).all() else _too_short(row) for row in found]
    return found


def _too_short(row: dict[str, Any]) -> dict[str, Any]:
    return row if row["variant"] == NOT_RUN else not_run(row["artefact"], row["quantity"], _TICK)


def _table_2(table: pd.DataFrame) -> list[dict[str, Any]]:
    own_p = table[(table["setup"] == "own p") & (table["environment"] == "R")].set_index("method")
    names = [f"method {method} relative to method 1" for method in (2, 3)]
    claims = ["logarithms are faster than powers", "compiled C is faster than both R methods"]
    if not {2, 3} <= set(own_p.index):
        reason = NOT_FOUND if own_p.empty else _NO_C
        return [not_run("table_2", name, reason) for name in (*names, *claims)]
    two, three = (cast("pd.Series", own_p.loc[method]) for method in (2, 3))
    errors = [1.2533 * row["sd"] / np.sqrt(row["repeats"]) for row in (two, three)]  # of medians
    best, error = (1.0, 0.0) if two["ratio"] > 1 else (two["ratio"], errors[0])
    how = "vectorised in R, its own p for every product; median of the repeats"
    return [
        computed("table_2", names[0], two["ratio"], f"{_MACHINE}; {how}", "as_written", errors[0]),
        computed("table_2", names[1], three["ratio"], f"{_MACHINE}; {how}", "as_written", errors[1]),
        claim("table_2", claims[0], two["ratio"], "<", 1, f"ratio of times; {how}", "as_written", errors[0]),
        claim(
            *("table_2", claims[1], three["ratio"], "<", best),
            f"ratio of C against that of the better R method; {how}",
            "as_written",
            float(np.hypot(errors[1], error)),
        ),
    ]


def _calls(timings: pd.DataFrame) -> list[dict[str, Any]]:
    """Footnote 11 and two comments of the listings, from the least times over the repeats."""
    calls = timings[(timings["what"] == "calls") & timings["seconds"].notna()].groupby("method")["seconds"]
    least = calls.min()
    error: pd.Series = calls.std(ddof=1) / np.sqrt(calls.size())
    wanted = {
        "dmultinom takes longer than the bare product": ("dmultinom", "product"),
        "coefficients are the intensive part of dmultinom": ("coefficient", "dmultinom"),
        "in C exp of logs is faster than powers": ("weights in C by powers", "weights in C"),
        "weights in C over apply": ("weights by apply", "weights in C"),
    }
    rows = []
    for quantity, (above, below) in wanted.items():
        if not {above, below} <= set(least.index):
            rows.append(not_run("r_timings", quantity, NOT_FOUND if least.empty else _NO_C))
            continue
        ratio = least[above] / least[below]
        relative = float(np.hypot(error[above] / least[above], error[below] / least[below]))
        if quantity == "weights in C over apply":
            rows.append(computed("r_timings", quantity, ratio, _MACHINE, "as_written", ratio * relative))
        elif above == "coefficient":
            note = f"share of its time, {ratio:.2f}: the rest is checks and the interpreter"
            rows.append(claim("r_timings", quantity, ratio, ">", 0.5, note, "as_written", ratio * relative))
        else:
            note = f"log of the ratio of times, {ratio:.3g}"
            rows.append(claim("r_timings", quantity, np.log(ratio), ">", 0, note, "as_written", relative))
    return rows


def _figure_3(table: pd.DataFrame) -> list[dict[str, Any]]:
    measured = table[table["median"].notna()]
    wide = measured.pivot_table(index=["total", "epsilon"], columns="method", values="median")
    about, faster = "standard over improved algorithm at M = 50", "the improved algorithm is faster at every M"
    always = [*_longer(measured), *_seconds(measured)]
    vectors = computed("figure_3", "random count vectors", measured["runs"].max())
    if not {_STANDARD, _IMPROVED} <= set(wide.columns):
        found = table.loc[table["method"].isin([_STANDARD, _IMPROVED]), "note"]
        reason = next((note for note in found if note), _NO_C)
        return [vectors, *always, *(not_run("figure_3", name, reason) for name in (about, faster))]
    ratio = wide[_STANDARD] / wide[_IMPROVED]
    if not wide[_IMPROVED].min() > 0:
        return [vectors, *always, *(not_run("figure_3", name, _TICK) for name in (about, faster))]
    errors = measured.assign(e=1.2533 * measured["sd"] / np.sqrt(measured["runs"]) / measured["median"])
    error = errors.pivot_table(index=["total", "epsilon"], columns="method", values="e", dropna=False)
    relative = np.hypot(error[_STANDARD], error[_IMPROVED])
    worst: Any = ratio.idxmin()
    note = f"log of the least ratio, {ratio[worst]:.1f} at M = {worst[0]:g}, epsilon = {worst[1]:g}"
    rows = [vectors, *always]
    rows += [claim("figure_3", faster, np.log(ratio[worst]), ">", 0, note, "as_written", relative[worst])]
    at = ratio[ratio.index.get_level_values("total") == 50]
    if at.empty:
        return [*rows, not_run("figure_3", about, "this run has no M = 50")]
    others = measured[measured["total"] == 50].groupby("method")["median"].median()
    more = [f"{others[_STANDARD] / others[m]:.0f} over {m}" for m in ("table (compiled)", "exact draws") if m in others]
    note = f"{_MACHINE}; median over epsilons; R's standard algorithm is also {', '.join(more)}"
    spread = at.median() * np.sqrt(np.mean(relative[at.index] ** 2) / len(at))
    return [*rows, computed("figure_3", about, at.median(), note, "as_written", spread)]


def _of(measured: pd.DataFrame, name: str) -> pd.DataFrame:
    """An algorithm's drawn medians: in R where it was measured, else of the same algorithm here."""
    for method in _SAME[name]:
        if (measured["method"] == method).any():
            return measured[measured["method"] == method]
    return measured.iloc[:0]


def _longer(measured: pd.DataFrame) -> list[dict[str, Any]]:
    """Median over epsilons of the drawn seconds, from one M to the next."""
    quantity, steps = "both algorithms take longer as M grows", []
    for name in _SAME:
        by_total = _of(measured, name).groupby("total")["median"].median()
        steps += list(np.diff(np.log(by_total[by_total > 0])))
    if not steps:
        return [not_run("figure_3", quantity, "this run has one M only")]
    note = "least rise of the log of the median time from one M to the next, in R or of the same algorithms here"
    return [claim("figure_3", quantity, steps, ">", 0, note, "as_written")]


def _seconds(measured: pd.DataFrame) -> list[dict[str, Any]]:
    """What an analysis takes; the printed figure is an image without numbers."""
    quantity = "from many minutes to seconds, seconds at M = 50"
    found = {name: _of(measured, name) for name in _SAME}
    at = {name: rows.loc[rows["total"] == 50, "median"].median() for name, rows in found.items()}
    if np.isnan(at["improved"]):
        return [not_run("figure_3", quantity, "this run has no M = 50")]
    note = f"of the improved algorithm; the standard took {at['standard']:.3g}; Figure 3 is an image without numbers"
    return [computed("figure_3", quantity, at["improved"], note, "as_written")]


def _growth(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Curves and the effect of epsilon: in R where it was measured, else of the same algorithm here."""
    by_method = table.set_index("method")
    rows = []
    for name, curve in (("standard", "exponential"), ("improved", "linear")):
        grows = f"the {name} algorithm's time grows {curve}ly in M"
        same = f"epsilon has no effect on the {name} algorithm"
        method = next((m for m in _SAME[name] if m in by_method.index), None)
        if method is None:
            rows += [not_run("figure_3_growth", q, "this run has fewer than three M") for q in (grows, same)]
            continue
        one = cast("pd.Series", by_method.loc[method])
        note = (
            f"{method}: relative misfit of the line in table rows, {one['rows_misfit']:.3f}, less that of the "
            f"{curve} curve, {one[f'{curve}_misfit']:.3f}: growth is quadratic in M"
        )
        margin, error = one[f"{curve}_margin"], one[f"{curve}_se"]
        rows.append(claim("figure_3_growth", grows, margin, ">", 0, note, "as_written", error))
        effect, error = one["epsilon_effect"], one["epsilon_effect_se"]
        if np.isnan(error):
            rows.append(not_run("figure_3_growth", same, f"{method}: one count vector only, no error to judge by"))
            continue
        note = f"{method}: largest difference between epsilons, {effect:.1%}, at the largest M; 15 % counts as none"
        rows.append(claim("figure_3_growth", same, effect, "<", _LARGEST_EFFECT, note, "as_written", error))
    return rows
