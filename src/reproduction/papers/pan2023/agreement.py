"""Compare the statements on the slides of Pan, Li and Li (2023) with the results of the run. The statements are
numbers, draws, and claims in words.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import dirichlet

from ...verdicts import draw_tests, power
from ...verdicts.rows import claim, computed, law, not_run
from . import figure_checks
from .algorithm import STEP, Rules
from .figure_checks import bonferroni
from .phi_density import LEVEL

Row = dict[str, Any]

_THEOREMS = (
    "formal theorem: at most epsilon per record of distance",
    "informal theorem: pure differential privacy with budget epsilon",
)
_VISIBLE = 0.05  # smallest difference of log medians that is visible on a plot


def algorithm(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table that check whether swaps follow the rules of the swapping algorithm, and
    whether the outcomes of the two printed examples are possible.
    """
    about = (
        ("worked example", "worked example: the printed swap"),
        ("record example", "record example: the printed V1"),
    )
    for start, what in about:
        part = table[table["check"].str.startswith(start)]
        printed = part[part["printed"].astype(bool)]
        least = (printed["expected"] / part.groupby("check")["expected"].sum().max()).min()
        seen = printed["simulated"].to_numpy().min()
        note = (
            "The left side is the exact probability of the printed outcome. If there are several choices of V_Match, "
            f"the smallest probability is shown. For each choice, at least {seen} simulated runs had this outcome."
        )
        outcome = f"{what} is an outcome of the algorithm"
        yield claim("algorithm", outcome, least if seen > 0 else np.nan, ">", 0, note)
    rules = table[table["check"] == "rules"].set_index("outcome")["simulated"]
    moved = rules[Rules.MOVED]
    for quantity, wrong, what in (
        ("swapping is restricted to records that agree on V_Match, and V_Hold does not change",
         rules[Rules.HELD] + rules[Rules.CROSSED], "records that violate the rule"),
        ("no marginal total is altered", rules[Rules.MARGINS], "altered totals"),
    ):  # fmt: skip
        note = f"The left side is the number of {what}. In the simulation, {moved} records were moved."
        yield claim("algorithm", quantity, wrong if moved > 0 else np.nan, "<", 1, note)


def record_example(table: pd.DataFrame) -> Iterator[Row]:
    """Yield rows of the agreement table for the printed example of swapped records. A swap must not change the column
    V2.
    """
    changed = table[table["V2_printed"] != table["V2"]]
    which = ", ".join(map(str, changed["record"]))
    yield claim(
        "record_example", "record example: V2 is held", len(changed), "=", 0,
        f"The left side is the number of records whose V2 changes. On the slide, record {which} changes from (1, 0) to "
        "(1, 1), which is an error (erratum 5).",
        "as_written",
    )  # fmt: skip


def theorem(audit: pd.DataFrame, epsilon: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for the privacy loss, computed by the audit and by exact formulas."""
    audited = audit[audit["rate"] <= 0.5]
    if audited.empty:
        reason = "This run audited no swap rate of at most 1/2."
        yield from (not_run("exchange_audit", quantity, reason) for quantity in _THEOREMS)
    else:
        sizes = f"n = {', '.join(map(str, sorted(audited['size'].unique())))}"
        yield claim(
            "exchange_audit", _THEOREMS[0], audited["per_unit"], "<=", audited["epsilon"],
            "The left side is the exact privacy loss per record, and the right side is epsilon. The row shows the "
            f"smallest difference among all audited 2 x 2 tables ({sizes}).",
        )  # fmt: skip
        worst = audited.iloc[int(np.argmin((audited["epsilon"] - audited["per_exchange"]).to_numpy()))]
        yield claim(
            "exchange_audit", _THEOREMS[1], audited["per_exchange"], "<=", audited["epsilon"],
            "An exchange is the smallest change that preserves the margins. It changes two records, so the bound of "
            f"the formal theorem is 2 epsilon. At n = {worst['size']} and p = {worst['rate']:g}, the exact privacy "
            f"loss of one exchange is {worst['per_exchange']:.4f}, whereas epsilon is {worst['epsilon']:.4f} (erratum "
            "9).",
            "as_written",
        )  # fmt: skip
    wide = epsilon[epsilon["rate"] <= 0.5].set_index(["size", "rate", "variant"])["epsilon"].unstack().sort_index()
    falls = wide.groupby("size").diff()[wide.groupby("size").cumcount() > 0]
    enough, less = (
        "epsilon = ln(b + 1) - ln(o) suffices for 0 < p <= 0.5",
        "more swapping enhances privacy: epsilon decreases with p up to 0.5",
    )
    few = "This run includes too few swap rates of at most 1/2."
    if len(wide):
        note = (
            "The left side is the smallest sufficient epsilon, and the right side is the stated epsilon. The row shows "
            "the smallest difference. The restriction to p <= 0.5 is not necessary (erratum 12)."
        )
        yield claim("epsilon_table", enough, wide["corrected"], "<=", wide["as_written"], note)
    else:
        yield not_run("epsilon_table", enough, few)
    if len(falls):
        note = (
            "The left side is the largest change of the stated or the exact epsilon from one swap rate to the next. A "
            "negative change is a decrease."
        )
        yield claim("epsilon_table", less, falls, "<", 0, note)
    else:
        yield not_run("epsilon_table", less, few)


def findings(density: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for the first image on the slides of Pan, Li and Li (2023). The image shows
    the original and the swapped density of phi at one rate.
    """
    single = density[density["x"].isna()]
    for theta in ("(0.27, 0.23, 0.23, 0.27)", "(0.23, 0.27, 0.27, 0.23)"):
        quantity = f"swapped density closer to 1 at theta = {theta}, p = 0.5"
        mine = single[single["theta"] == theta]
        if mine.empty or not mine.loc[mine["kind"] == "rate", "y"].eq(0.5).any():
            yield not_run("phi_density", quantity, _NO_THETA)
            continue
        total = mine["total"].max()
        medians = mine[mine["total"] == total].set_index("kind")
        before, after = (abs(np.log(medians.loc[f"median {kind}", "y"])) for kind in ("original", "swapped"))
        se = medians.loc["median swapped", "mc_se"] / medians.loc["median swapped", "y"]
        note = (
            "The left side is the absolute log of the median of phi after simulated swaps, and the right side is its "
            f"value before the swap. The number of records is n = {total}, because the slide does not state n."
        )
        yield claim("phi_density", quantity, after, "<", before, note, "as_written", se)


def results(by_rate: pd.DataFrame, astray: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for claims 1 and 2 on the slide titled Result, and for the explanation on
    this slide.
    """
    single = by_rate[by_rate["x"].isna()]
    wide = single.pivot_table(index=["theta", "total", "rate"], columns="kind", values="y", sort=False, dropna=False)
    medians = np.log(wide["median"]).unstack("rate").sort_index(axis=1)
    rates = list(medians.columns)
    names = (
        "claim 1: different theta, different trends of phi",
        "claim 2: as p increases phi shifts closer to 1 (median)",
    )
    largest = medians.xs(max(medians.index.get_level_values("total")), level="total")
    if len(rates) < 2:
        yield from (not_run("phi_by_rate", name, _ONE_RATE) for name in names)
    else:
        trends = np.sort((largest[rates[-1]] - largest[rates[0]]).to_numpy())
        if len(trends) < 2:
            yield not_run("phi_by_rate", names[0], "This run includes only one value of theta.")
        else:
            yield claim(
                "phi_by_rate", names[0], np.diff(trends), ">", _VISIBLE,
                f"For each theta, the change of the log median of phi from p = {rates[0]:g} to p = {rates[-1]:g} is "
                "computed. The left side is the smallest difference between the changes for two values of theta. The "
                f"right side, {_VISIBLE}, is chosen by this project as the smallest difference that is visible on a "
                "plot.",
            )  # fmt: skip
        yield claim(
            "phi_by_rate", names[1], np.diff(medians.abs().to_numpy(), axis=1), "<", 0,
            "The left side is the largest change of the absolute log median of phi from one swap rate to the next, "
            "over all theta and n. A negative change is a decrease.",
        )  # fmt: skip
    yield from _uniform(wide)
    yield from _single_swaps(astray)


def _uniform(wide: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for the claim that swapping makes the 2 x 2 table more uniform. All
    expected shares follow from the expected last cell, since the margins are fixed.
    """
    entropies, distances = [], []
    for (theta, total), part in wide.groupby(level=["theta", "total"], sort=False):
        start = np.array([float(share) for share in str(theta).strip("()").split(",")])
        part = part.sort_index(level="rate")
        shift = part["mean_s11"].to_numpy() / total - start[3]
        shares = start + shift[:, None] * np.array([1.0, -1.0, -1.0, 1.0])
        entropies.append(-(shares * np.log(shares)).sum(axis=1))
        distances.append(np.abs(shares - 0.25))
    quantity = "data become more uniform: entropy of the expected shares increases with p"
    each = "data become more uniform: every expected share moves towards 1/4"
    spread = "swapping adds randomness: spread of a swapped cell increases with p"
    if min(map(len, entropies)) < 2:
        yield from (not_run("phi_by_rate", name, _ONE_RATE) for name in (quantity, each, spread))
        return
    yield claim(
        "phi_by_rate", quantity, np.concatenate([np.diff(e) for e in entropies]), ">", 0,
        "The left side is the smallest increase of the entropy (in nats) from one swap rate to the next. For given "
        "margins, the entropy is largest under independence.",
    )  # fmt: skip
    yield claim(
        "phi_by_rate", each, np.concatenate([np.diff(d, axis=0) for d in distances]), "<", 0,
        "The left side is the largest change of the distance between a share and 1/4 from one swap rate to the next. A "
        "positive change is an increase. "
        "For example, the shares (0.7, 0.1, 0.1, 0.1) approach (0.64, 0.16, 0.16, 0.04), so that the last share moves "
        "away from 1/4. The data become closer to independence with the same margins (erratum 8).",
        "as_written",
    )  # fmt: skip
    spreads = wide["sd_s11"].unstack("rate").sort_index(axis=1).to_numpy()
    rise = "The left side is the smallest increase of the cell's standard deviation from one swap rate to the next."
    yield claim("phi_by_rate", spread, np.diff(spreads, axis=1), ">", 0, rise)


def _single_swaps(astray: pd.DataFrame) -> Iterator[Row]:
    fixed, drawn = (astray[astray["data"] == kind] for kind in ("fixed", "random"))
    gaps = (drawn["closer"] - drawn["farther"]).to_numpy()
    least = drawn.iloc[int(np.argmin(gaps))]  # a missing number counts as the smallest
    moved = least["closer"] + least["farther"]
    yield claim(
        "closer_or_farther", "claim 2: more swaps move phi closer to 1 than away", least["closer"], ">",
        least["farther"],
        "The left side is the proportion of swaps that move phi closer to 1, and the right side is the proportion of "
        "swaps that move phi away from 1. The row shows the smallest difference over all theta, n and p. Each "
        f"proportion is computed from {least['size']} tables with one swap per table.",
        mc_se=np.sqrt(np.maximum(moved - gaps.min() ** 2, 0) / least["size"]),
    )  # fmt: skip
    shares = fixed["farther"].to_numpy()
    worst = fixed.iloc[int(np.argmax(shares))]
    yield claim(
        "closer_or_farther", "claim 2, consistently: no swap moves phi away from 1", shares, "=", 0,
        "The left side is the largest probability, over all theta, n and p, that a single swap moves phi away from 1. "
        "It is computed exactly, and it occurs at theta = "
        f"{worst['theta']}, n = {worst['total']} and p = {worst['rate']:g}. The claim holds for the mean and for the "
        "median, but not for every swap (erratum 8).",
        "as_written",
    )  # fmt: skip


def structures(coverage: pd.DataFrame) -> Iterator[Row]:
    """Yield rows of the agreement table for the errors of an analysis that ignores the swapping of records."""
    naive = coverage[coverage["method"] == "naive"]
    worst = naive.iloc[int(np.argmin(naive["coverage"].to_numpy()))]
    level = worst["level"]
    yield claim(
        "coverage", "swapping can disrupt the original structures: coverage of naive intervals", worst["coverage"],
        "<", level,
        "The left side is the coverage of naive intervals for log phi, and the right side is the nominal level. The "
        f"row shows the smallest of {len(naive)} coverages, which occurs at theta = {worst['theta']}, n = "
        f"{worst['total']} "
        f"and p = {worst['rate']:g}.", "as_written",
        np.sqrt(level * (1 - level) / worst["size"]),
    )  # fmt: skip


_THETAS = ("(0.27, 0.23, 0.23, 0.27)", "(0.23, 0.27, 0.27, 0.23)", "(0.7, 0.1, 0.1, 0.1)")
_IMAGE = "The slide is an image without numbers, and it does not state n or the number of swaps."
_NO_THETA = "This run does not include this theta with this swap rate."
_ONE_RATE = "This run includes only one swap rate, so that no trend can be computed."


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the reproduced values as a table with the columns artefact, quantity, variant, ours, mc_se and note. Every
    published quantity has one row for each of its variants.
    """
    rows = [
        *_algorithm(tables["algorithm"]),
        *algorithm(tables["algorithm"]),
        *record_example(tables["record_example"]),
        *_phi(tables["phi_examples"]),
        *theorem(tables["exchange_audit"], tables["epsilon_table"]),
        *_densities(tables["phi_density"]),
        *findings(tables["phi_density"]),
        *_draws(tables["phi_draws"]),
        *results(tables["phi_by_rate"], tables["closer_or_farther"]),
        *structures(tables["coverage"]),
        *_posterior(tables["posterior_summary"]),
        *figure_checks.accepted(tables["abc_posterior"], tables["abc_checks"], tables["posterior_summary"]),
        *figure_checks.log_phi(tables["log_phi"], tables["abc_checks"], tables["posterior_summary"]),
        *figure_checks.rows(tables),
    ]
    return pd.DataFrame(rows)


def _algorithm(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for chi-squared tests of the outcomes of the swapping algorithm."""
    quantities = {
        "worked example, Sect": "worked example matched on Sect: names after the swap",
        "worked example, #Attend": "worked example matched on #Attend: names after the swap",
        "selected of": "each record is selected with probability p, but never exactly one record",
        "permutations of": "the selected records are deranged uniformly at random",
        "record example": "record example: V1 after the swap",
    }
    for start, quantity in quantities.items():
        part = table[table["check"].str.startswith(start)]
        size = part["expected"].sum()
        seen, expected, moved = part["simulated"], part["expected"], part["moved"]
        p, sees = draw_tests.scored(seen, expected, moved, size, step=STEP, level=LEVEL)
        note = (
            f"The outcomes of {size:,.0f} simulated runs are compared with their exact distribution by a chi-squared "
            f"test over {len(part)} outcomes and by a score test of the swap rate. The reported p-value is twice the "
            "smaller of the two p-values."
        )
        p = p if seen.sum() > 0 else np.nan
        yield law("algorithm", quantity, p, note, sees=power.words({"swap rate": sees}))


def _phi(table: pd.DataFrame) -> Iterator[Row]:
    before = table[table["rate"] == 0]
    quantities = (
        ("phi at theta = (0.25, 0.25, 0.25, 0.25)", (0.25,) * 4, ""),
        ("phi > 1 at theta = (0.3, 0.2, 0.2, 0.3)", (0.3, 0.2, 0.2, 0.3), ">"),
        ("phi < 1 at theta = (0.2, 0.3, 0.3, 0.2)", (0.2, 0.3, 0.3, 0.2), "<"),
    )
    for quantity, theta, relation in quantities:
        same = np.isclose(before[["theta1", "theta2", "theta3", "theta4"]], theta).all(axis=1)
        matches = before.loc[np.asarray(same), "phi"]
        about = ("phi_examples", quantity)
        if len(matches):
            phi, note = matches.iloc[0], "The formula is phi = theta1 theta4/(theta2 theta3)."
            yield claim(*about, phi, relation, 1, note) if relation else computed(*about, phi, note)
        else:
            yield not_run("phi_examples", quantity, "This run does not include this theta with swap rate 0.")


def _densities(table: pd.DataFrame) -> Iterator[Row]:
    for theta in _THETAS[:2]:
        quantity = f"draws of phi at theta = {theta}, p = 0.5"
        mine = table[table["theta"] == theta]
        single = mine[mine["x"].isna()].set_index("kind")["y"]
        if not single[single.index == "rate"].isin([0.5]).any():
            yield not_run("phi_density", quantity, _NO_THETA)
            continue
        drawn = [figure_checks.bars(of) for _, of in mine.groupby("total")]
        tests = [*single[["p tables", "p phi"]], *drawn]
        note = (
            f"The p-value is Bonferroni-corrected for {len(tests)} tests. For each n, the tests concern the swapped "
            "tables, phi after each swap, and the plotted histogram."
        )
        words = power.words({"swap rate": single[["sees rate"]].min()})
        yield law("phi_density", quantity, bonferroni(tests), note, "as_written", sees=words)


def _draws(table: pd.DataFrame) -> Iterator[Row]:
    for theta in _THETAS:
        mine = table[table["theta"] == theta]
        quantity = f"draws of phi at theta = {theta}, every p"
        if len(mine):
            tests = [*mine["p_phi"], *mine.loc[mine["rate"] > 0, "p_tables"]]
            note = (
                f"The p-value is Bonferroni-corrected for {len(tests)} tests. For each swap rate, the tests concern "
                "the swapped tables and phi after each swap."
            )
            words = power.words({"swap rate": mine["sees_rate"].min()})
            yield law("phi_draws", quantity, bonferroni(tests), note, "as_written", sees=words)
        else:
            yield not_run("phi_draws", quantity, "This run does not include this theta.")
        yield from _medians(theta, mine)


def _medians(theta: str, mine: pd.DataFrame) -> Iterator[Row]:
    for rate in (0.0, 0.5):
        quantity = f"median of phi at theta = {theta}, p = {rate:g}"
        subset = mine[(mine["rate"] == rate) & (mine["total"] == mine["total"].max())]
        if len(subset):
            row = subset.iloc[0]
            note = (
                f"{_IMAGE} This project uses n = {row['total']} records and {row['swaps']} swaps. The exact median is "
                f"{row['exact']:.4f}."
            )
            yield computed("phi_draws", quantity, row["median"], note, "as_written", row["mc_se"])
        else:
            yield not_run("phi_draws", quantity, _NO_THETA)


def _posterior(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for the conjugate posterior on the slide titled Generating Models. The
    posterior is compared with its formula.
    """
    naive = table[table["rate"] == 0].set_index("statistic")["value"]
    (weight,) = [name for name in naive.index if name.startswith("weight of ")]
    exact = dirichlet(1 + np.array([int(count) for count in weight.removeprefix("weight of ").strip("[]").split(",")]))
    gaps = [abs(naive[f"mean theta{i + 1}"] - exact.mean()[i]) for i in range(4)]
    gaps += [abs(naive[f"sd theta{i + 1}"] - np.sqrt(exact.var()[i])) for i in range(4)]
    note = (
        "The left side is the largest difference between the naive posterior means and standard deviations and those "
        "of the Dirichlet distribution."
    )
    about = ("posterior_summary", "the posterior given y is Dir(1 + y)")
    yield claim(*about, np.max(gaps), "=", 0, note, "as_written", rounding=1e-9)
    p, draws, sees = naive[["p value of draws", "draws", "sees concentration"]]
    note = (
        f"The test uses {draws:,.0f} draws. A Kolmogorov-Smirnov test for each of four cells is combined with a score "
        "test of the concentration. The reported p-value is the smallest of the five p-values times five."
    )
    words = power.words({"prior's concentration": sees})
    yield law("posterior_summary", "draws given y follow Dir(1 + y)", p, note, "as_written", sees=words)
