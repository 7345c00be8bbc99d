"""The slides' mechanism, model and sampler judged from the tables of a run, as in `judgements`."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ...verdicts import power
from ...verdicts.chi_squared import pooled
from ...verdicts.rows import claim, computed, law, not_run
from .drawn_formulas import LEVEL
from .geweke_level import BATCHES
from .judgements import Row, jointly
from .noise_tests import LEAST_EXPECTED, chi_squared

FALSE_TURN = "erratum 2: total variation between the two laws of s_c, above 0.001; drawing in turn drops psi(s_c)"
FALSE_LAW = "erratum 3: uncensored records are truncated; the mean and sd of the table give the size of it"
FALSE_GIBBS = "erratum 3: as written the chain does not leave its model as it is; see gibbs_traces"


def mechanism(tables: dict[str, pd.DataFrame]) -> list[Row]:
    """Sensitivity, privacy and noise."""
    table, loss = tables["sensitivity"], tables["privacy_loss"]
    at = table[(table["lower"] == -2) & (table["upper"] == 2) & (table["n"] == 1000)]["exact"]
    note = "exact, replace-one; the slides use an upper bound without giving it (22 by adding up ranges)"
    tried = table[table["brute_force"].notna()]
    gap = (tried["exact"] - tried["brute_force"]).abs().max()
    largest = table.assign(width=table["upper"] - table["lower"]).groupby("width")["exact"].max()
    growth = np.diff(np.log(largest)) / np.diff(np.log(largest.index.to_numpy(dtype=float)))
    rows = [
        computed("sensitivity", "Delta_s", at.iloc[0], note)
        if len(at)
        else not_run("sensitivity", "Delta_s", "this run has no limits [-2, 2] with n = 1,000"),
        claim(
            *("sensitivity", "the largest change over all neighbours", gap, "=", 0),
            "largest difference from brute force",
            rounding=1e-9,
        ),
        claim(
            *("sensitivity", "an upper bound of it, by adding up ranges", table["exact"], "<=", table["range_bound"]),
            "where it comes nearest, over limits and n",
        ),
    ]
    quantity = "grows without bound with the limits"
    if len(growth):
        note = "least power of the width with which it grows"
        rows.append(claim("sensitivity", quantity, growth, ">", 0, note))
    else:
        rows.append(not_run("sensitivity", quantity, "this run has limits of one width only"))
    worst = loss[["largest_loss", "observed_largest"]].max(axis=1, skipna=False)
    note = "largest log ratio on the worst pair against epsilon; reached at the exact Delta_s"
    private = "the mechanism is epsilon-DP"
    rows.append(claim("privacy_loss", private, worst, "<=", loss["epsilon"], note, rounding=1e-9))
    p_value = jointly(loss["noise_p_value"])
    note = "Kolmogorov's test and mean absolute noise, least p value times their number"
    sees = power.words({"noise scale": loss["noise_sees"].max()})
    rows.append(law("privacy_loss", "the noise is Laplace", p_value, note, sees=sees))
    return rows


def statistics(table: pd.DataFrame) -> list[Row]:
    """The laws given to the statistics."""
    slides = table[table["variant"] == "as_written"].set_index("statistic")
    counts = slides.loc[["s_low", "s_high"], "p_value"]
    note = "Kolmogorov's test of s_u and of s_l given s_u, the lesser times two"
    seen: Any = slides["seen"]
    sees = power.words({"q_u": seen["s_high"], "q_l": seen["s_low"]})
    rows = [law("statistics_laws", "counts are multinomial", jointly(counts), note, sees=sees)]
    for name, quantity in (("s_mean", "s_mean is N(mu, sigma2/s_c)"), ("s_sse", "s_sse is sigma2 chi2(s_c - 1)")):
        row: Any = slides.loc[name]
        size = f"{FALSE_LAW}: sd {row['sd']:.4g} for {row['law_sd']:.4g}"
        words = power.words({"sigma" if name == "s_mean" else "sigma2": row["seen"]})
        rows.append(law("statistics_laws", quantity, row["p_value"], size, "as_written", sees=words))
    return rows


def counts(table: pd.DataFrame) -> list[Row]:
    """Counts drawn in turn: against their own law, and that law against the joint one."""
    size = table["drawn"].sum()
    p_value = chi_squared(table["drawn"].to_numpy(float), (table["in_turn"] * size).to_numpy())
    distance = 0.5 * (table["in_turn"] - table["joint"]).abs().sum(skipna=False)
    note = "chi-squared of the sampler's first sweeps against enumeration"
    kept = table[table["in_turn"] * size >= LEAST_EXPECTED]
    expected, wider = (size * kept[name].to_numpy(float) for name in ("in_turn", "wider"))
    per_unit = power.noncentrality(expected, wider) / 0.01**2
    seen = power.words({"noise scale": power.chi_squared(per_unit, max(len(kept) - 1, 1), LEVEL)})
    return [
        law("counts_in_turn", "counts by enumeration", p_value, note, "as_written", sees=seen),
        claim(
            *("counts_in_turn", "drawing in turn draws from the joint law", distance, "<", 0.001),
            FALSE_TURN,
            "as_written",
        ),
    ]


def gibbs(table: pd.DataFrame) -> list[Row]:
    """Geweke's test of the slides' sampler, with and without censoring."""
    groups = [of for _, of in table[table["method"] == "as_written"].groupby("limits", sort=False)]
    names = ("the Gibbs sampler has its posterior", "the Gibbs sampler has its posterior where nothing is censored")
    free = law("geweke", names[1], *_moments(groups[-1]), "as_written", sees=_moments_seen(groups[-1]))
    if len(groups) < 2:
        return [not_run("geweke", names[0], "this run has no as_written among the methods"), free]
    p_value = _moments(groups[0])[0]
    return [law("geweke", names[0], p_value, FALSE_GIBBS, "as_written", sees=_moments_seen(groups[0])), free]


def _moments(of: pd.DataFrame) -> tuple[float, str]:
    """p value of the drawn z of all moments together."""
    p_value = 2 * len(of) * stats.t.sf(of["z"].abs().max(skipna=False), BATCHES - 1)
    return float(np.minimum(1.0, p_value)), "Geweke's test, five moments together"


def _moments_seen(of: pd.DataFrame) -> str:
    """The moment that it sees least of, as a relative change."""
    needed = stats.t.isf(LEVEL / (2 * len(of)), BATCHES - 1) + stats.norm.ppf(power.SEEN)
    return power.words({"a moment": float((needed * of["se"] / of["expected"].abs()).max())})


def ignoring(table: pd.DataFrame) -> list[Row]:
    """The naive analysis misses the truth far more often than it says."""
    quantity = "ignoring the noise distorts results"
    naive = table[(table["method"] == "naive") & (table["epsilon"] == table["epsilon"].min())]
    if not len(naive):
        return [not_run("coverage", quantity, "this run has no naive among the methods")]
    best = naive.loc[naive["coverage"].idxmax()]
    note = f"coverage of the better of both parameters, {best['data_sets']:.0f} data sets"
    error = (best["coverage_upper"] - best["coverage_lower"]) / 3.92
    return [claim("coverage", quantity, best["coverage"], "<", 0.95, note, mc_se=error)]


def other_noises(table: pd.DataFrame) -> list[Row]:
    """Other additive mechanisms through the same direct sampler."""
    rows = []
    for noise in ("Gaussian", "two-sided geometric", "discrete Gaussian"):
        of = table[table["noise"] == noise]
        found = [*of.loc[of["statistic"] == "p_value", "y"], *(_bars(bars) for _, bars in of.groupby("target"))]
        note = "draws of both targets against their law by summation or quadrature, and the drawn bars against it: "
        sees = power.words({"noise's width": of.loc[of["statistic"] == "sees", "y"].min()})
        p_value = jointly(pd.Series(found))
        rows.append(law("other_noises", f"{noise} noise: draws are exact", p_value, f"{note}least of four", sees=sees))
    return rows


def _bars(of: pd.DataFrame) -> float:
    """p value of a drawn histogram: the law's share of every bin is beside it."""
    bars, inside = of[of["kind"] == "histogram"], of.loc[of["statistic"] == "inside", "y"].iloc[0]
    seen = bars["y"].to_numpy()[:-1] * np.diff(bars["x"]) * inside
    return pooled(seen, bars["expected"].to_numpy()[:-1] * inside, inside)
