"""The numbers printed on the slides, as this run gives them."""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial.accounting import swapping as accounting

from ...agreement import computed

_IMAGE = "the slide is an image without numbers; n and the number of swaps are not stated"


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows artefact, quantity, variant, ours, mc_se, note; one or more variants for every published quantity."""
    rows = [*_examples(tables["swap_example"]), *_records(tables["record_example"]), *_phi(tables["phi_examples"])]
    rows += [*_findings(tables["phi_by_rate"], tables["closer_or_farther"]), *_theorem()]
    return pd.DataFrame([*rows, *_abc(tables["abc_checks"], tables["abc_posterior"], tables["posterior_summary"])])


def _examples(table: pd.DataFrame) -> list[dict[str, Any]]:
    swapped = table[(table["step"] == "4 swap") & (table["variant"] == "corrected") & (table["match"] == "Sect")]
    note = "held columns; the swap moves names only, among records that agree on V_Match"
    return [
        computed("swap_example", f"row {i + 1}: {column} after the swap", float(value), note)
        for column in ("Sect", "#Attend")
        for i, value in enumerate(swapped[column])
    ]


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for record in table.to_dict("records"):
        for column in ("V1", "V2"):
            slip = record[column + "_printed"] != record[column + "_corrected"]
            note = "V2 is held, but the printed record goes from (1, 0) to (1, 1)" if slip else ""
            quantity = f"record {record['record']}: {column} after the swap"
            rows.append(computed("record_example", quantity, record[column + "_corrected"], note))
    return rows


def _phi(table: pd.DataFrame) -> list[dict[str, Any]]:
    before = table[table["rate"] == 0]
    rows = []
    for theta, side in (((0.25, 0.25, 0.25, 0.25), ""), ((0.3, 0.2, 0.2, 0.3), "> 1"), ((0.2, 0.3, 0.3, 0.2), "< 1")):
        chosen = np.isclose(before[["theta1", "theta2", "theta3", "theta4"]], theta).all(axis=1)
        found = before.loc[chosen, "phi"]
        note = f"printed as phi {side}" if side else ""
        value = found.iloc[0] if len(found) else np.nan
        rows.append(
            computed(
                "phi_examples", f"phi at theta = {theta}", value, note or ("" if len(found) else "not in this run")
            )
        )
    return rows


def _findings(table: pd.DataFrame, astray: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for theta in ("(0.27, 0.23, 0.23, 0.27)", "(0.23, 0.27, 0.27, 0.23)", "(0.7, 0.1, 0.1, 0.1)"):
        part = table[(table["theta"] == theta) & (table["kind"] == "median")]
        for rate in (0.0, 0.5):
            found = part[(part["rate"] == rate) & (part["total"] == part["total"].max())]
            value = found["y"].iloc[0] if len(found) else np.nan
            note = (
                f"{_IMAGE}; here n = {found['total'].iloc[0]}"
                if len(found)
                else "this rate or theta is not in this run"
            )
            rows.append(computed("phi_by_rate", f"median of phi at theta = {theta}, p = {rate:g}", value, note))
    fixed = astray[astray["data"] == "fixed"].sort_values("farther")
    worst = fixed.iloc[-1]
    note = (
        "claim 2 says 'consistently': true of the mean and the median, not of every swap; largest share found at "
        f"theta = {worst['theta']}, n = {worst['total']}, p = {worst['rate']:g}"
    )
    return [
        *rows,
        computed("closer_or_farther", "share of single swaps that move phi away from 1", worst["farther"], note),
    ]


def _theorem() -> list[dict[str, Any]]:
    note = (
        "p <= 1/2 is a branch of the formula, not the end of its validity: it holds up to o = sqrt(b + 1), here b = 2"
    )
    return [computed("epsilon_table", "largest swap rate of the theorem's formula", accounting.best_rate(2)[0], note)]


def _abc(checks: pd.DataFrame, posterior: pd.DataFrame, summary: pd.DataFrame) -> list[dict[str, Any]]:
    iterations = posterior.loc[posterior["kind"] == "iterations", "y"].item()
    short = "" if iterations == 5_000_000 else f"this run made {iterations:,.0f} iterations"
    first = checks[(checks["check"] == "accepted") & (checks["rate"] == checks["rate"].iloc[0])].iloc[0]
    expected = f"expected {first['exact']:,.1f}, standard deviation {first['mc_se']:.1f}"
    rows = [
        computed("abc_posterior", "iterations", iterations, short, "not_run" if short else "corrected"),
        computed("abc_posterior", "accepted draws", first["simulated"], expected, "as_written", first["mc_se"]),
    ]
    at = summary[summary["rate"] == checks["rate"].iloc[0]].set_index("statistic")["value"]
    note = "the slide is an image without numbers; exact value at the slides' table and rate"
    return rows + [
        computed("abc_posterior", f"posterior mean of theta{i}", at[f"mean theta{i}"], note) for i in (1, 2, 3, 4)
    ]
