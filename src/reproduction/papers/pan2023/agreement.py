"""What the slides print and say, as this run gives it: numbers, draws against their laws, claims."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import dirichlet

from ...verdicts import chi_squared, power
from ...verdicts.rows import claim, computed, law, not_run
from . import abc_judgements, claims, drawn_judgements
from .abc_judgements import bonferroni
from .algorithm import STEP
from .phi_draws import LEVEL

Row = dict[str, Any]
_THETAS = ("(0.27, 0.23, 0.23, 0.27)", "(0.23, 0.27, 0.27, 0.23)", "(0.7, 0.1, 0.1, 0.1)")
_IMAGE = "the slide is an image without numbers; n and the number of swaps are not stated"


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows artefact, quantity, variant, ours, mc_se, note; one or more variants for every published quantity."""
    rows = [
        *_algorithm(tables["algorithm"]),
        *claims.algorithm(tables["algorithm"]),
        *claims.record_example(tables["record_example"]),
        *_phi(tables["phi_examples"]),
        *claims.theorem(tables["exchange_audit"], tables["epsilon_table"]),
        *_densities(tables["phi_density"]),
        *claims.findings(tables["phi_density"]),
        *_draws(tables["phi_draws"]),
        *claims.results(tables["phi_by_rate"], tables["closer_or_farther"]),
        *claims.structures(tables["coverage"]),
        *_posterior(tables["posterior_summary"]),
        *abc_judgements.accepted(tables["abc_posterior"], tables["abc_checks"], tables["posterior_summary"]),
        *abc_judgements.log_phi(tables["log_phi"], tables["abc_checks"], tables["posterior_summary"]),
        *drawn_judgements.rows(tables),
    ]
    return pd.DataFrame(rows)


def _algorithm(table: pd.DataFrame) -> Iterator[Row]:
    """Every law of the algorithm: chi-squared of its outcomes."""
    quantities = {
        "worked example, Sect": "worked example matched on Sect: names after the swap",
        "worked example, #Attend": "worked example matched on #Attend: names after the swap",
        "selected of": "each record is selected with probability p, never one alone",
        "permutations of": "the selected are deranged uniformly at random",
        "record example": "record example: V1 after the swap",
    }
    for start, quantity in quantities.items():
        part = table[table["check"].str.startswith(start)]
        size = part["expected"].sum()
        seen, expected, moved = part["simulated"], part["expected"], part["moved"]
        p, sees = chi_squared.scored(seen, expected, moved, size, step=STEP, level=LEVEL)
        note = (
            f"chi-squared over {len(part)} outcomes and score of the rate, lesser p value times two; {size:,.0f} runs"
        )
        p = p if seen.sum() > 0 else np.nan
        yield law("algorithm", quantity, p, note, sees=power.words({"rate": sees}))


def _phi(table: pd.DataFrame) -> Iterator[Row]:
    before = table[table["rate"] == 0]
    quantities = (
        ("phi at theta = (0.25, 0.25, 0.25, 0.25)", (0.25,) * 4, ""),
        ("phi > 1 at theta = (0.3, 0.2, 0.2, 0.3)", (0.3, 0.2, 0.2, 0.3), ">"),
        ("phi < 1 at theta = (0.2, 0.3, 0.3, 0.2)", (0.2, 0.3, 0.3, 0.2), "<"),
    )
    for quantity, theta, relation in quantities:
        same = np.isclose(before[["theta1", "theta2", "theta3", "theta4"]], theta).all(axis=1)
        found = before.loc[np.asarray(same), "phi"]
        about = ("phi_examples", quantity)
        if len(found):
            phi, note = found.iloc[0], "theta1 theta4/(theta2 theta3)"
            yield claim(*about, phi, relation, 1, note) if relation else computed(*about, phi, note)
        else:
            yield not_run("phi_examples", quantity, "this theta at rate 0 is not in this run")


def _densities(table: pd.DataFrame) -> Iterator[Row]:
    for theta in _THETAS[:2]:
        quantity = f"draws of phi at theta = {theta}, p = 0.5"
        mine = table[table["theta"] == theta]
        single = mine[mine["x"].isna()].set_index("kind")["y"]
        if not single[single.index == "rate"].isin([0.5]).any():
            yield not_run("phi_density", quantity, "this theta or rate is not in this run")
            continue
        drawn = [drawn_judgements.bars(of) for _, of in mine.groupby("total")]
        tests = [*single[["p tables", "p phi"]], *drawn]
        note = (
            f"{len(tests)} tests (swapped tables, phi after each swap, drawn bars; every n), least p times their number"
        )
        words = power.words({"rate": single[["sees rate"]].min()})
        yield law("phi_density", quantity, bonferroni(tests), note, "as_written", sees=words)


def _draws(table: pd.DataFrame) -> Iterator[Row]:
    for theta in _THETAS:
        mine = table[table["theta"] == theta]
        quantity = f"draws of phi at theta = {theta}, every p"
        if len(mine):
            tests = [*mine["p_phi"], *mine.loc[mine["rate"] > 0, "p_tables"]]
            note = (
                f"{len(tests)} tests (swapped tables, phi after each swap; every p), least p value times their number"
            )
            words = power.words({"rate": mine["sees_rate"].min()})
            yield law("phi_draws", quantity, bonferroni(tests), note, "as_written", sees=words)
        else:
            yield not_run("phi_draws", quantity, "this theta is not in this run")
        yield from _medians(theta, mine)


def _medians(theta: str, mine: pd.DataFrame) -> Iterator[Row]:
    for rate in (0.0, 0.5):
        quantity = f"median of phi at theta = {theta}, p = {rate:g}"
        found = mine[(mine["rate"] == rate) & (mine["total"] == mine["total"].max())]
        if len(found):
            row = found.iloc[0]
            note = f"{_IMAGE}; here n = {row['total']}, {row['swaps']} swaps; exact {row['exact']:.4f}"
            yield computed("phi_draws", quantity, row["median"], note, "as_written", row["mc_se"])
        else:
            yield not_run("phi_draws", quantity, "this rate or theta is not in this run")


def _posterior(table: pd.DataFrame) -> Iterator[Row]:
    """The conjugate posterior of the slide Generating Models, from its own formula."""
    naive = table[table["rate"] == 0].set_index("statistic")["value"]
    (weight,) = [name for name in naive.index if name.startswith("weight of ")]
    exact = dirichlet(1 + np.array([int(count) for count in weight.removeprefix("weight of ").strip("[]").split(",")]))
    gaps = [abs(naive[f"mean theta{i + 1}"] - exact.mean()[i]) for i in range(4)]
    gaps += [abs(naive[f"sd theta{i + 1}"] - np.sqrt(exact.var()[i])) for i in range(4)]
    note = "largest gap of the naive means and standard deviations to that law's"
    about = ("posterior_summary", "the posterior given y is Dir(1 + y)")
    yield claim(*about, np.max(gaps), "=", 0, note, "as_written", rounding=1e-9)
    p, draws, sees = naive[["p value of draws", "draws", "sees concentration"]]
    note = f"{draws:,.0f} draws: Kolmogorov's test of four cells, score of the concentration; least p value times five"
    words = power.words({"prior's concentration": sees})
    yield law("posterior_summary", "draws given y follow Dir(1 + y)", p, note, "as_written", sees=words)
