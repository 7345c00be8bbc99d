"""Compare the statements on the slides of Raim (2021) about the mechanism, the statistics, the samplers and the models
with the results of the run.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ...verdicts import power
from ...verdicts.draw_tests import pooled
from ...verdicts.rows import claim, computed, law, not_run
from . import figure_checks
from .beyond import LEAST_EXPECTED, chi_squared
from .gibbs import BATCHES
from .statistics_laws import LEVEL, WORDS, Target

Row = dict[str, Any]

ALIKE = 0.15  # largest difference, in posterior standard deviations, that counts as equal
FALSE_TURN = (
    "The left side is the total variation distance between the distribution of s_c under sequential drawing and the "
    "joint distribution of the model. Sequential drawing omits the factors psi(s_c) (erratum 2)."
)
FALSE_LAW = "The uncensored records have a truncated distribution (erratum 3)."
FALSE_GIBBS = (
    "The chain of the sampler as written does not have the distribution of its model as its stationary distribution "
    "(erratum 3). The figure gibbs_traces shows its first sweeps."
)


def mechanism(tables: dict[str, pd.DataFrame]) -> list[Row]:
    """Return the rows of the agreement table for the sensitivity, the privacy and the noise of the mechanism."""
    table, loss = tables["sensitivity"], tables["privacy_loss"]
    exact_values = table[(table["lower"] == -2) & (table["upper"] == 2) & (table["n"] == 1000)]["exact"]
    note = (
        "The value is the exact sensitivity if one record is replaced. The slides use an upper bound, but they do not "
        "state its value. The sum of the ranges is 22."
    )
    tried = table[table["brute_force"].notna()]
    gap = (tried["exact"] - tried["brute_force"]).abs().max()
    largest = table.assign(width=table["upper"] - table["lower"]).groupby("width")["exact"].max()
    growth = np.diff(np.log(largest)) / np.diff(np.log(largest.index.to_numpy(dtype=float)))
    rows = [
        computed("sensitivity", "Delta_s", exact_values.iloc[0], note)
        if len(exact_values)
        else not_run("sensitivity", "Delta_s", "This run does not include the limits [-2, 2] with n = 1,000."),
        claim(
            *("sensitivity", "Delta_s is the largest change over all neighbours", gap, "=", 0),
            "The left side is the largest difference between the formula and a brute-force search.",
            rounding=1e-9,
        ),
        claim(
            *(
                "sensitivity",
                "the sum of the ranges is an upper bound of Delta_s",
                table["exact"],
                "<=",
                table["range_bound"],
            ),
            "The left side is the exact sensitivity, and the right side is the sum of the ranges. The row shows the "
            "smallest difference over all limits and n.",
        ),
    ]
    quantity = "Delta_s grows without bound with the limits"
    if len(growth):
        note = (
            "The left side is the smallest exponent of the power law by which the sensitivity grows with the width of "
            "the limits."
        )
        rows.append(claim("sensitivity", quantity, growth, ">", 0, note))
    else:
        rows.append(not_run("sensitivity", quantity, "This run includes only limits with the same width."))
    worst = loss[["largest_loss", "observed_largest"]].max(axis=1, skipna=False)
    note = (
        "The left side is the largest log ratio of densities for the least favourable pair of data sets, and the right "
        "side is epsilon. Both sides are equal if Delta_s is the exact sensitivity."
    )
    private = "the mechanism is epsilon-DP"
    rows.append(claim("privacy_loss", private, worst, "<=", loss["epsilon"], note, rounding=1e-9))
    p_value = jointly(loss["noise_p_value"])
    note = (
        "The noise is tested by Kolmogorov-Smirnov tests and by tests of its mean absolute value. The reported p-value "
        "is the smallest p-value times the number of tests."
    )
    sees = power.words({"noise scale": loss["noise_sees"].max()})
    rows.append(law("privacy_loss", "the noise is Laplace", p_value, note, sees=sees))
    return rows


def statistics(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for the distributions of the four released statistics."""
    slides = table[table["variant"] == "as_written"].set_index("statistic")
    counts = slides.loc[["s_low", "s_high"], "p_value"]
    note = (
        "Kolmogorov-Smirnov tests compare s_u, and s_l given s_u, with their distributions. The reported p-value is "
        "twice the smaller of the two p-values."
    )
    seen: Any = slides["seen"]
    sees = power.words({"q_u": seen["s_high"], "q_l": seen["s_low"]})
    rows = [law("statistics_laws", "counts are multinomial", jointly(counts), note, sees=sees)]
    for name, quantity in (("s_mean", "s_mean is N(mu, sigma2/s_c)"), ("s_sse", "s_sse is sigma2 chi2(s_c - 1)")):
        row: Any = slides.loc[name]
        size = (
            f"{FALSE_LAW} The standard deviation of {name} is {row['sd']:.4g} in simulated samples and "
            f"{row['law_sd']:.4g} under the printed distribution."
        )
        words = power.words({"sigma" if name == "s_mean" else "sigma2": row["seen"]})
        rows.append(law("statistics_laws", quantity, row["p_value"], size, "as_written", sees=words))
    return rows


def counts(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for counts that are drawn sequentially. The draws are compared with
    their exact distribution, and this distribution is compared with the joint distribution.
    """
    size = table["drawn"].sum()
    p_value = chi_squared(table["drawn"].to_numpy(float), (table["in_turn"] * size).to_numpy())
    distance = 0.5 * (table["in_turn"] - table["joint"]).abs().sum(skipna=False)
    note = "A chi-squared test compares the first sweeps of the sampler with the distribution computed by enumeration."
    kept = table[table["in_turn"] * size >= LEAST_EXPECTED]
    expected, wider = (size * kept[name].to_numpy(float) for name in ("in_turn", "wider"))
    per_unit = power.noncentrality(expected, wider) / 0.01**2
    seen = power.words({"noise scale": power.chi_squared(per_unit, max(len(kept) - 1, 1), LEVEL)})
    return [
        law("counts_in_turn", "counts by enumeration", p_value, note, "as_written", sees=seen),
        claim(
            *("counts_in_turn", "sequential drawing gives the joint distribution", distance, "<", 0.001),
            FALSE_TURN,
            "as_written",
        ),
    ]


def gibbs(table: pd.DataFrame) -> list[Row]:
    """Return rows of the agreement table for Geweke's test of the sampler on the slides of Raim (2021), with and
    without censoring.
    """
    groups = [of for _, of in table[table["method"] == "as_written"].groupby("limits", sort=False)]
    names = (
        "the Gibbs sampler draws from the posterior",
        "the Gibbs sampler draws from the posterior if no record is censored",
    )
    free = law("geweke", names[1], *_moments(groups[-1]), "as_written", sees=_moments_seen(groups[-1]))
    if len(groups) < 2:
        return [not_run("geweke", names[0], "This run does not include the method 'as_written' with censoring."), free]
    p_value = _moments(groups[0])[0]
    return [law("geweke", names[0], p_value, FALSE_GIBBS, "as_written", sees=_moments_seen(groups[0])), free]


def corrected_samplers(moments: pd.DataFrame, posteriors: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table that concern the samplers of this package. They contain Geweke's test of
    the exact sampler, and the means of the corrected sampler, which is an approximation, compared with the means of the
    exact sampler.
    """
    name, exact = "the exact Gibbs sampler draws from the posterior", moments[moments["method"] == "exact"]
    rows = [not_run("geweke", name, "This run does not include the method 'exact'.")]
    if len(exact):
        sees = f"{_moments_seen(exact[exact['moment'] == 'sigma2'], len(exact), 'sigma2')}; {_moments_seen(exact)}"
        rows = [law("geweke", name, *_moments(exact), sees=sees)]
    summary = posteriors[posteriors["kind"] == "summary"].set_index(["method", "parameter", "statistic"])["y"]
    for parameter in ("mu", "sigma2"):
        about = ("gibbs_posteriors", f"the corrected and the exact sampler have the same mean of {parameter}")
        if not {"corrected", "exact"} <= set(posteriors["method"]):
            rows.append(not_run(*about, "This run does not include both of the methods 'corrected' and 'exact'."))
            continue
        mean, other = (summary[method, parameter, "mean"] for method in ("corrected", "exact"))
        spread = summary["exact", parameter, "sd"]
        error = np.sqrt(sum(1 / summary[method, parameter, "ess"] for method in ("corrected", "exact")))
        note = (
            f"The posterior mean of {parameter} is {mean:.4f} for the corrected sampler and {other:.4f} for the exact "
            f"sampler. The left side is their distance divided by the posterior standard deviation, {spread:.4f}. The "
            f"corrected sampler is an approximation, and this project accepts a distance of up to {ALIKE:g}."
        )
        rows.append(claim(*about, abs(mean - other) / spread, "<", ALIKE, note, mc_se=error))
    return rows


def _moments(of: pd.DataFrame) -> tuple[float, str]:
    """Return the joint p-value of the z scores of all simulated moments, and a note on this p-value."""
    p_value = 2 * len(of) * stats.t.sf(of["z"].abs().max(skipna=False), BATCHES - 1)
    return float(np.minimum(1.0, p_value)), "The p-value is that of a joint Geweke test of five moments."


def _moments_seen(of: pd.DataFrame, tests: int | None = None, name: str = "a moment") -> str:
    """Return the largest minimum detectable effect of tests of the given moments, as text. The limit is stated as a
    relative change. The limit holds for a joint test of `tests` moments.
    """
    needed = stats.t.isf(LEVEL / (2 * (tests or len(of))), BATCHES - 1) + stats.norm.ppf(power.SEEN)
    return power.words({name: float((needed * of["se"] / of["expected"].abs()).max())})


def ignoring(table: pd.DataFrame) -> list[Row]:
    """Return rows of the agreement table that concern the coverage of the naive analysis. Its intervals miss the true
    value far more often than their level allows.
    """
    quantity = "ignoring the noise distorts results"
    naive = table[(table["method"] == "naive") & (table["epsilon"] == table["epsilon"].min())]
    if not len(naive):
        return [not_run("coverage", quantity, "This run does not include the method 'naive'.")]
    best = naive.loc[naive["coverage"].idxmax()]
    note = (
        "The left side is the coverage of naive 95 % intervals for the parameter with the higher coverage, estimated "
        f"from {best['data_sets']:.0f} data sets."
    )
    error = (best["coverage_upper"] - best["coverage_lower"]) / 3.92
    return [claim("coverage", quantity, best["coverage"], "<", 0.95, note, mc_se=error)]


def other_noises(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for the direct sampler with other noise distributions."""
    rows = []
    for noise in ("Gaussian", "two-sided geometric", "discrete Gaussian"):
        of = table[table["noise"] == noise]
        p_values = [*of.loc[of["statistic"] == "p_value", "y"], *(_bars(bars) for _, bars in of.groupby("target"))]
        note = (
            "For both targets, the draws and the plotted histogram are compared with the distribution computed by "
            "summation or quadrature. The reported p-value is the smallest of four p-values times four."
        )
        sees = power.words({"width of the noise": of.loc[of["statistic"] == "sees", "y"].min()})
        p_value = jointly(pd.Series(p_values))
        rows.append(law("other_noises", f"{noise} noise: draws are exact", p_value, note, sees=sees))
    return rows


def _bars(of: pd.DataFrame) -> float:
    """Return the p-value of a test of a plotted histogram against the exact probability of every bin."""
    bars, inside = of[of["kind"] == "histogram"], of.loc[of["statistic"] == "inside", "y"].iloc[0]
    seen = bars["y"].to_numpy()[:-1] * np.diff(bars["x"]) * inside
    return pooled(seen, bars["expected"].to_numpy()[:-1] * inside, inside)


FALSE_CONDITIONAL = (
    "The printed formula lacks the factor n before t_mean, so that mu is drawn near 0 for any data (erratum 1)."
)
FALSE_ENVELOPE = (
    "The left side is the smallest difference between h* and P(A_u) below u_L. There, P(A_u) is larger than the "
    "printed h* = P(A_uL), whereas P(A_0) would be an envelope (erratum 7)."
)


def jointly(p_values: pd.Series) -> float:
    """Return the Bonferroni-corrected minimum of several p-values, or NaN if a p-value is NaN. This is the smallest
    p-value multiplied by the number of p-values, at most 1.
    """
    return float(np.minimum(1.0, len(p_values) * p_values.min(skipna=False)))


def formulas(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for all formulas on the slides of Raim (2021). Each formula is compared
    with an independent evaluation, within the tolerance of the formula.
    """
    rows = []
    row: Any
    for row in table.itertuples():
        literal = row.formula == "mean of the full conditional of mu"
        note = (
            FALSE_CONDITIONAL if literal else "The left side is the largest difference from an independent evaluation."
        )
        variant = "as_written" if literal else "corrected"
        rows.append(claim("formulas", row.formula, row.gap, "=", 0, note, variant, rounding=row.tolerance))
    return rows


def descent(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for P(A_u), the probability that the relative weight exceeds u. The
    probability P(A_u) decreases in u and is constant up to the floating-point value u_L.
    """
    rises, before = [], []
    for _, of in table.groupby("target"):
        area = of[of["curve"] == "area"].sort_values("log_u")
        rises.append(area["y"].diff().max())
        end = of[of["curve"] == "u_L machine"]["log_u"].iloc[0]
        before.append(1 - area[area["log_u"] < end]["y"].min())
    note = "The left side is the largest increase of P(A_u) between consecutive points."
    other = "The left side is the largest decrease of P(A_u)/P(A_0) below u_L. By definition, u_H = 1."
    return [
        claim("descent", "P(A_u) never increases", max(rises), "<=", 0, note, rounding=1e-9),
        claim("descent", "P(A_u) = P(A_0) below u_L", max(before), "=", 0, other, "as_written", rounding=1e-9),
    ]


def step_functions(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for the step function h*, above and below its lowest knot u_L, and for the
    effect of more knots.
    """
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
    with np.errstate(divide="ignore", invalid="ignore"):  # a bound of 0 or NaN is checked, not omitted
        fall = float(np.min(-np.diff(np.log(bounds)))) if len(bounds) > 1 else np.nan
    rows = [
        claim(
            *("step_functions", "h* >= P(A_u) on [u_L, 1]", min(above), ">=", 0),
            "The left side is the smallest difference h* - P(A_u).",
            rounding=1e-9,
        ),
        claim("step_functions", "h* >= P(A_u) below u_L", min(below), ">=", 0, FALSE_ENVELOPE, "as_written"),
    ]
    quantity = "the bound decreases with N"
    if len(bounds) < 2:
        return [*rows, not_run("step_functions", quantity, "This run includes only one value of N.")]
    note = "The left side is the smallest decrease of the logarithm of the bound from one N to the next."
    return [*rows, claim("step_functions", quantity, fall, ">", 0, note)]


def accept_reject(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for the proportion and the positions of the accepted candidates."""
    kinds = dict(iter(table.groupby("kind")))
    area, step = (kinds[name].sort_values("u") for name in ("area", "step"))
    envelope = float(np.sum(np.diff(step["u"]) * step["y"].to_numpy()[:-1]))
    cumulated = np.concatenate([[0.0], np.cumsum(np.diff(area["u"]) * (area["y"].to_numpy()[1:] + area["y"][:-1]) / 2)])
    accepted = kinds["accepted"]["u"].to_numpy()
    tried = len(accepted) + len(kinds.get("rejected", ()))
    share = stats.binomtest(len(accepted), tried, min(1.0, cumulated[-1] / envelope)).pvalue
    test = stats.kstest(accepted, lambda u: np.interp(u, area["u"], cumulated / cumulated[-1]))
    note = (
        "A binomial test compares the proportion of accepted candidates with the ratio of the areas under P(A_u) and "
        "h*."
    )
    tested = "The p-value is that of a Kolmogorov-Smirnov test."
    odds = min(1.0, cumulated[-1] / envelope) / max(1 - cumulated[-1] / envelope, 1e-12)
    wider = _cumulated(table.assign(scale=1.01 * table["scale"]), area["u"])
    shift = float(np.abs(wider - cumulated / cumulated[-1]).max() / 0.01)
    seen = power.words({"acceptance rate": power.normal(np.sqrt(tried * odds), LEVEL)})
    base = power.words({"scale of the base": power.kolmogorov(shift, max(len(accepted), 1), LEVEL)})
    return [
        law("accept_reject", "proportion of accepted candidates", share, note, sees=seen),
        law("accept_reject", "accepted u follow p(u)", float(test.pvalue), tested, sees=base),
    ]


def _cumulated(table: pd.DataFrame, u: pd.Series) -> np.ndarray:
    """Return the distribution function of the auxiliary variable u of the sampler, computed by the formulas of the
    slides. The settings may differ from the settings of the draws.
    """
    first = table.iloc[0]
    area = Target("xi_mean", first["z"], 0.0, first["sigma2"], 1.0, first["scale"]).area(u)
    cumulated = np.concatenate([[0.0], np.cumsum(np.diff(u) * (area[1:] + area[:-1]) / 2)])
    return cumulated / cumulated[-1]


def weights(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for the modes and the maxima of the normal and the gamma weight functions.
    They are computed from the parabola through the three highest points of each curve.
    """
    rows, artefact = [], "weight_functions"
    for target, name in (("xi_mean", "normal"), ("xi_sse", "gamma")):
        curve = table[(table["target"] == target) & (table["curve"] == "weight")]
        x, log_y = curve["xi"].to_numpy(), np.log(curve["y"].to_numpy())
        window = slice(int(np.argmax(log_y)) - 1, int(np.argmax(log_y)) + 2)
        square, slope, height = np.polyfit(x[window] - x[window][1], log_y[window], 2)
        top = np.exp(height - slope**2 / (4 * square) + curve["log_maximum"].iloc[0])
        mode = x[window][1] - slope / (2 * square)
        note = "The value is computed from the parabola through the three highest points of the curve."
        rows.append(computed(artefact, f"largest value of the {name} weight", top, note))
        rows.append(computed(artefact, f"xi at the {name} weight's maximum", mode, note))
    return rows


def draws(tables: dict[str, pd.DataFrame]) -> list[Row]:
    """Return the rows of the agreement table for the numbers of knots, draws and records in the two figures on the
    slides. The data plotted in the figures are compared by `figure_checks`.
    """
    rows = []
    for target in ("xi_mean", "xi_sse"):
        table = tables[target]
        first = table[(table["variant"] == "as_written") & (table["delta_s"] == table["delta_s"].iloc[0])]
        setting = "The value is a setting."
        rows.append(computed(target, "N of the step function", (first["kind"] == "step").sum() - 1, setting))
        rows.append(computed(target, "draws", first["draws"].iloc[0], setting))
        rows.append(computed(target, "s_c", first["count"].iloc[0], "The formula is s_c = n - s_l - s_u."))
    return rows


def laws(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table for the modes that are visible in the figures but are not printed as
    numbers on the slides.
    """
    rows = []
    for target in ("xi_mean", "xi_sse"):
        law = table[table["target"] == target].iloc[0]
        note = (
            f"The value is the exact mode at Delta_s = {law['delta_s']:g}. The figure contains no number, and the "
            "slides do not state Delta_s."
        )
        rows.append(computed("exact_laws", f"mode of {target}", law["mode"], note))
    return rows


def sampler(table: pd.DataFrame) -> list[Row]:
    """Return the rows of the agreement table that concern the direct sampler. The rows concern its bounds, the
    exactness of its draws, its rejections, and its adaptive knots.
    """
    rows, artefact = [], "sampler_accuracy"
    fixed = table[table["mc_se"].notna()]
    for column, quantity in (
        ("exact_rate", "the rejection probability is at most its bound"),
        ("total_variation", "the total variation distance is at most its bound"),
    ):
        note = "The right side is the bound. The row shows the smallest difference over all knot rules and N."
        rows.append(claim(artefact, quantity, table[column], "<=", table["bound"], note, rounding=1e-9))
    for target, of in table.groupby("target"):
        p_value = jointly(pd.concat([of["ks_p"], of["serial_p"]]))
        note = (
            f"For each of {len(of)} combinations of knot rule and N, the draws are tested by a Kolmogorov-Smirnov test "
            "and by a test of the correlation between consecutive draws. The reported p-value is the smallest p-value "
            "times the number of tests."
        )
        least = power.words({WORDS[str(target)]: of["seen"].max()})
        rows.append(law(artefact, f"draws of {target} are exact", p_value, note, sees=least))
    z = (fixed["observed_rate"] - fixed["exact_rate"]) / fixed["mc_se"]
    p_value = stats.chi2.sf((z**2).sum(skipna=False), len(z)) if len(z) else np.nan
    seen = power.chi_squared(((fixed["exact_rate"] / fixed["mc_se"]) ** 2).min(), max(len(z), 1), LEVEL)
    note = "The p-value is that of a chi-squared test over all knot rules and N."
    sees = power.words({"a rejection probability": seen})
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
    note = "The left side is the mean rejection rate with adaptive knots, and the right side is that with fixed knots."
    return [claim(artefact, quantity, adaptive, "<", fixed, note, mc_se=error)]


def _rules(table: pd.DataFrame) -> list[Row]:
    artefact, rows = "sampler_accuracy", []
    at_25 = table[table["knots"] == 25].set_index(["rule", "target", "delta_s"])
    quantity = "small rectangles are better than equal spacing, N = 25"
    cost = "additional cost of small rectangles: searches for the largest rectangle"
    names = [f"rejection rate of {target} at N = 25" for target in ("xi_mean", "xi_sse")]
    if not len(at_25):
        return [not_run(artefact, name, "This run does not include N = 25.") for name in (quantity, cost, *names)]
    slides, small, equal = (at_25.loc[rule] for rule in ("as on the slides", "efficient", "equal spacing"))
    ratio = float(np.log10(equal["bound"] / small["bound"]).min())
    note = (
        "The left side is the smallest log10 of the ratio between the bound with equally spaced knots and the bound "
        "with small rectangles. Both bounds use the same u_L."
    )
    rows.append(claim(artefact, quantity, ratio, ">", 0, note))
    note = (
        "Both rules evaluate P(A_u) N + 1 times. The rule of small rectangles additionally searches for the largest "
        "rectangle N - 1 times. The value is computed for N = 25, because the slides print no number."
    )
    rows.append(computed(artefact, cost, at_25["knots"].iloc[0] - 1, note, "as_written"))
    for target, name in zip(("xi_mean", "xi_sse"), names, strict=True):
        value = slides.loc[target]["exact_rate"].iloc[0]
        note = "The value is the exact rejection rate. The slides print no rejection rate."
        rows.append(computed(artefact, name, value, note, "as_written"))
    return rows


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the reproduced values as a table with the columns artefact, quantity, variant, ours, mc_se and note. Every
    published quantity has one row for each of its variants.
    """
    of_one = {
        "formulas": formulas,
        "descent": descent,
        "step_functions": step_functions,
        "accept_reject": accept_reject,
        "weight_functions": weights,
        "exact_laws": laws,
        "sampler_accuracy": sampler,
        "statistics_laws": statistics,
        "counts_in_turn": counts,
        "geweke": gibbs,
        "coverage": ignoring,
        "other_noises": other_noises,
    }
    rows = [row for name, judge in of_one.items() for row in judge(tables[name])]
    rows += [*draws(tables), *mechanism(tables), *figure_checks.rows(tables)]
    rows += corrected_samplers(tables["geweke"], tables["gibbs_posteriors"])
    return pd.DataFrame(rows)
