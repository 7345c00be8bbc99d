"""The slides' method judged from the tables of a run: one function a table, rows of `verdicts.rows`."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ...verdicts import power
from ...verdicts.rows import claim, computed, law, not_run
from .drawn_formulas import LEVEL, WORDS, Target

Row = dict[str, Any]
FALSE_CONDITIONAL = "erratum 1: the slide lacks n before t_mean; taken literally mu is drawn near 0 whatever the data"
FALSE_ENVELOPE = "erratum 7: P(A_u) is largest below u_L, h* stays at P(A_uL); with P(A_0) there it is an envelope"


def jointly(p_values: pd.Series) -> float:
    """Bonferroni: the least of several p values times their number, at most 1; NaN if one of them is NaN."""
    return float(np.minimum(1.0, len(p_values) * p_values.min(skipna=False)))


def formulas(table: pd.DataFrame) -> list[Row]:
    """Every formula against its independent evaluation, within the tolerance of its row."""
    rows = []
    row: Any
    for row in table.itertuples():
        literal = row.formula == "mean of the full conditional of mu"
        note = FALSE_CONDITIONAL if literal else "largest difference from an independent evaluation"
        variant = "as_written" if literal else "corrected"
        rows.append(claim("formulas", row.formula, row.gap, "=", 0, note, variant, rounding=row.tolerance))
    return rows


def descent(table: pd.DataFrame) -> list[Row]:
    """P(A_u) falls, and is constant up to the u_L of floating point."""
    rises, before = [], []
    for _, of in table.groupby("target"):
        area = of[of["curve"] == "area"].sort_values("log_u")
        rises.append(area["y"].diff().max())
        end = of[of["curve"] == "u_L machine"]["log_u"].iloc[0]
        before.append(1 - area[area["log_u"] < end]["y"].min())
    note = "largest rise"
    other = "what P(A_u)/P(A_0) loses below u_L; u_H = 1 by definition"
    return [
        claim("descent", "P(A_u) never rises", max(rises), "<=", 0, note, rounding=1e-9),
        claim("descent", "P(A_u) = P(A_0) below u_L", max(before), "=", 0, other, "as_written", rounding=1e-9),
    ]


def step_functions(table: pd.DataFrame) -> list[Row]:
    """The envelope above and below u_L, and what more knots do."""
    area = table[table["kind"] == "area"]
    above, below, bounds = [], [], []
    for _, steps in table[table["kind"] == "step"].groupby("knots"):
        steps = steps.sort_values("u")
        u, y = steps["u"].to_numpy(), steps["y"].to_numpy()
        first = steps[steps["order"] == 0].iloc[0]
        height = y[np.searchsorted(u, area["u"], side="right") - 1]
        inside = area["u"] >= first["u"]
        above.append((height - area["y"])[inside].min())
        below.append((first["y"] - area["y"])[~inside].min())
        bounds.append(steps["bound"].iloc[0])
    with np.errstate(divide="ignore", invalid="ignore"):  # a bound of 0 or NaN is judged, not hidden
        fall = float(np.min(-np.diff(np.log(bounds)))) if len(bounds) > 1 else np.nan
    rows = [
        claim(
            *("step_functions", "h* >= P(A_u) on [u_L, 1]", min(above), ">=", 0),
            "least h* less P(A_u)",
            rounding=1e-9,
        ),
        claim("step_functions", "h* >= P(A_u) below u_L", min(below), ">=", 0, FALSE_ENVELOPE, "as_written"),
    ]
    quantity = "the bound falls with N"
    if len(bounds) < 2:
        return [*rows, not_run("step_functions", quantity, "this run has one N only")]
    note = "least fall of its logarithm from one N to the next"
    return [*rows, claim("step_functions", quantity, fall, ">", 0, note)]


def accept_reject(table: pd.DataFrame) -> list[Row]:
    """Accepted candidates: how many, and where."""
    kinds = dict(iter(table.groupby("kind")))
    area, step = (kinds[name].sort_values("u") for name in ("area", "step"))
    envelope = float(np.sum(np.diff(step["u"]) * step["y"].to_numpy()[:-1]))
    cumulated = np.concatenate([[0.0], np.cumsum(np.diff(area["u"]) * (area["y"].to_numpy()[1:] + area["y"][:-1]) / 2)])
    accepted = kinds["accepted"]["u"].to_numpy()
    tried = len(accepted) + len(kinds.get("rejected", ()))
    share = stats.binomtest(len(accepted), tried, min(1.0, cumulated[-1] / envelope)).pvalue
    test = stats.kstest(accepted, lambda u: np.interp(u, area["u"], cumulated / cumulated[-1]))
    note = "binomial test against the ratio of the areas under P(A_u) and h*"
    odds = min(1.0, cumulated[-1] / envelope) / max(1 - cumulated[-1] / envelope, 1e-12)
    wider = _cumulated(table.assign(scale=1.01 * table["scale"]), area["u"])
    shift = float(np.abs(wider - cumulated / cumulated[-1]).max() / 0.01)
    seen = power.words({"acceptance": power.normal(np.sqrt(tried * odds), LEVEL)})
    base = power.words({"base's scale": power.kolmogorov(shift, max(len(accepted), 1), LEVEL)})
    return [
        law("accept_reject", "share of accepted candidates", share, note, sees=seen),
        law("accept_reject", "accepted u follow p(u)", float(test.pvalue), "Kolmogorov's test", sees=base),
    ]


def _cumulated(table: pd.DataFrame, u: pd.Series) -> np.ndarray:
    """Distribution function of u by the formulas of the slides, at other settings than were drawn."""
    first = table.iloc[0]
    area = Target("xi_mean", first["z"], 0.0, first["sigma2"], 1.0, first["scale"]).area(u)
    cumulated = np.concatenate([[0.0], np.cumsum(np.diff(u) * (area[1:] + area[:-1]) / 2)])
    return cumulated / cumulated[-1]


def weights(table: pd.DataFrame) -> list[Row]:
    """Modes and maxima of both weights, from the parabola through the curve's three highest points."""
    rows, artefact = [], "weight_functions"
    for target, name in (("xi_mean", "normal"), ("xi_sse", "gamma")):
        curve = table[(table["target"] == target) & (table["curve"] == "weight")]
        x, log_y = curve["xi"].to_numpy(), np.log(curve["y"].to_numpy())
        at = slice(int(np.argmax(log_y)) - 1, int(np.argmax(log_y)) + 2)
        square, slope, height = np.polyfit(x[at] - x[at][1], log_y[at], 2)
        top = np.exp(height - slope**2 / (4 * square) + curve["log_maximum"].iloc[0])
        mode = x[at][1] - slope / (2 * square)
        rows.append(computed(artefact, f"largest value of the {name} weight", top, "vertex of a parabola"))
        rows.append(computed(artefact, f"xi at the {name} weight's maximum", mode, "vertex of a parabola"))
    return rows


def draws(tables: dict[str, pd.DataFrame]) -> list[Row]:
    """The settings of the slides' two figures; what they draw is in `drawn_judgements`."""
    rows = []
    for target in ("xi_mean", "xi_sse"):
        table = tables[target]
        first = table[(table["variant"] == "as_written") & (table["delta_s"] == table["delta_s"].iloc[0])]
        rows.append(computed(target, "N of the step function", (first["kind"] == "step").sum() - 1, "a setting"))
        rows.append(computed(target, "draws", first["draws"].iloc[0], "a setting"))
        rows.append(computed(target, "s_c", first["count"].iloc[0], "n - s_l - s_u"))
    return rows


def laws(table: pd.DataFrame) -> list[Row]:
    """The modes that the figures show and do not print."""
    rows = []
    for target in ("xi_mean", "xi_sse"):
        law = table[table["target"] == target].iloc[0]
        note = f"exact mode at Delta_s = {law['delta_s']:g}; the figure prints no number and the slides no Delta_s"
        rows.append(computed("exact_laws", f"mode of {target}", law["mode"], note))
    return rows


def sampler(table: pd.DataFrame) -> list[Row]:
    """Bounds, exactness of the draws, rejections, adaptive knots."""
    rows, artefact = [], "sampler_accuracy"
    fixed = table[table["mc_se"].notna()]
    for column, quantity in (
        ("exact_rate", "probability of a rejection at most its bound"),
        ("total_variation", "total variation at most its bound"),
    ):
        note = "where it comes nearest to its bound, over rules and N"
        rows.append(claim(artefact, quantity, table[column], "<=", table["bound"], note, rounding=1e-9))
    for target, of in table.groupby("target"):
        p_value = jointly(pd.concat([of["ks_p"], of["serial_p"]]))
        note = f"Kolmogorov's test and correlation of neighbours, least of {len(of)} rules and N times their number"
        least = power.words({WORDS[str(target)]: of["seen"].max()})
        rows.append(law(artefact, f"draws of {target} are exact", p_value, note, sees=least))
    z = (fixed["observed_rate"] - fixed["exact_rate"]) / fixed["mc_se"]
    p_value = stats.chi2.sf((z**2).sum(skipna=False), len(z)) if len(z) else np.nan
    seen = power.chi_squared(((fixed["exact_rate"] / fixed["mc_se"]) ** 2).min(), max(len(z), 1), LEVEL)
    note = "chi-squared over rules and N"
    sees = power.words({"one probability": seen})
    rows.append(law(artefact, "rejections have their exact probability", p_value, note, sees=sees))
    return [*rows, *_rules(table), *_adaptive(table)]


def _adaptive(table: pd.DataFrame) -> list[Row]:
    artefact, quantity = "sampler_accuracy", "adding rejected u improves the envelope"
    key = ["target", "delta_s", "knots"]
    pair = table[table["rule"] == "efficient, adaptive"].merge(
        table[table["rule"] == "efficient"], on=key, suffixes=("_adaptive", "")
    )
    adaptive, fixed = pair["observed_rate_adaptive"].mean(), pair["exact_rate"].mean()
    error = np.sqrt((pair["mc_se"] ** 2).sum()) / len(pair)
    return [claim(artefact, quantity, adaptive, "<", fixed, "mean shares of rejections", mc_se=error)]


def _rules(table: pd.DataFrame) -> list[Row]:
    artefact, rows = "sampler_accuracy", []
    at = table[table["knots"] == 25].set_index(["rule", "target", "delta_s"])
    quantity = "small rectangles against equal spacing, N = 25"
    cost = "cost of small rectangles over equal spacing, searches for the largest"
    names = [f"rejection rate of {target} at N = 25" for target in ("xi_mean", "xi_sse")]
    if not len(at):
        return [not_run(artefact, name, "this run has no N = 25") for name in (quantity, cost, *names)]
    slides, small, equal = (at.loc[rule] for rule in ("as on the slides", "efficient", "equal spacing"))
    ratio = float(np.log10(equal["bound"] / small["bound"]).min())
    rows.append(claim(artefact, quantity, ratio, ">", 0, "least log10 ratio of the bounds, both from the same u_L"))
    note = "both evaluate P(A_u) N + 1 times; rectangles are searched N - 1 times; N = 25, no number is printed"
    rows.append(computed(artefact, cost, at["knots"].iloc[0] - 1, note, "as_written"))
    for target, name in zip(("xi_mean", "xi_sse"), names, strict=True):
        value = slides.loc[target]["exact_rate"].iloc[0]
        rows.append(computed(artefact, name, value, "exact; the slides print none", "as_written"))
    return rows
