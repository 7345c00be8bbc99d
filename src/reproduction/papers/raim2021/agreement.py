"""The slides' printed numbers, as this run gives them."""

from typing import Any

import numpy as np
import pandas as pd

from ...agreement import computed


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows artefact, quantity, variant, ours, mc_se, note; one or more variants for every published quantity."""
    rows = [*_figures(tables), *_weights(tables["weight_functions"]), *_laws(tables["exact_laws"])]
    rows += [*_sampler(tables["sampler_accuracy"]), *_gibbs(tables)]
    return pd.DataFrame(rows)


def _figures(tables: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    rows = []
    for target in ("xi_mean", "xi_sse"):
        first = tables[target][tables[target]["variant"] == "as_written"]
        steps = first[(first["kind"] == "step") & (first["delta_s"] == first["delta_s"].iloc[0])]
        histogram = first[(first["kind"] == "histogram") & (first["delta_s"] == first["delta_s"].iloc[0])]
        knots = "the number of intervals is a setting"
        rows.append(computed(target, "N of the step function", len(steps) - 1, knots))
        mass = (histogram["y"] * histogram["bin_width"]).sum()
        rows.append(computed(target, "probability under the histogram", mass))
    return rows


def _weights(table: pd.DataFrame) -> list[dict[str, Any]]:
    top = table.groupby("target")["log_maximum"].first()
    at = table[(table["target"] == "xi_mean") & (table["curve"] == "weight")]
    mode = at.loc[at["y"].idxmax(), "xi"]
    step = at["xi"].diff().max()
    return [
        computed("weight_functions", "largest value of the normal weight", np.exp(top["xi_mean"])),
        computed("weight_functions", "xi at the normal weight's maximum", mode, "on a grid", mc_se=step),
    ]


def _laws(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for target in ("xi_mean", "xi_sse"):
        law = table[table["target"] == target].iloc[0]
        note = f"exact mode at Delta_s = {law['delta_s']:g}; the figure prints no number and the slides no Delta_s"
        rows.append(computed("exact_laws", f"mode of {target}", law["mode"], note))
    return rows


def _sampler(table: pd.DataFrame) -> list[dict[str, Any]]:
    slides = table[(table["rule"] == "as on the slides") & (table["knots"] == 25)]
    rows = []
    for target in ("xi_mean", "xi_sse"):
        row = slides[slides["target"] == target]
        value = row["exact_rate"].iloc[0] if len(row) else np.nan
        note = "exact rejection rate; the slides print none" if len(row) else "this run has no N = 25"
        rows.append(
            computed("sampler_accuracy", f"rejection rate of {target} at N = 25", value, note, variant="as_written")
        )
    above = (table["bound"] + 1e-9 < table["exact_rate"]).sum()
    rows.append(computed("sampler_accuracy", "rejection rates above their bound", above))
    above = (table["bound"] + 1e-9 < table["total_variation"]).sum()
    rows.append(computed("sampler_accuracy", "total variation distances above their bound", above))
    return rows


def _gibbs(tables: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    exact = tables["sensitivity"]
    at = exact[(exact["lower"] == -2) & (exact["upper"] == 2) & (exact["n"] == 1000)]["exact"]
    note = "exact, replace-one; the slides use an upper bound without giving it (22 by adding up ranges)"
    rows = [
        computed("sensitivity", "Delta_s", at.iloc[0] if len(at) else np.nan, note if len(at) else "not in this run")
    ]
    table = tables["gibbs_posteriors"]
    for parameter in ("mu", "sigma2"):
        of = table[(table["statistic"] == "mean") & (table["parameter"] == parameter)].set_index("method")
        note = "the slides print no posterior; as written the chain leaves the data's range (gibbs_traces, geweke)"
        value, error = (of[c].get("exact", np.nan) for c in ("y", "mc_se"))
        rows.append(computed("gibbs_posteriors", f"posterior mean of {parameter}", value, note, mc_se=error))
    return rows
