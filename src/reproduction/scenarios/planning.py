"""Compute the plans of releases from their settings, and write the result files.

A plan of shares with a goal finds the smallest epsilon at which a release is decisive and correct often enough. A plan
of a configured release tabulates the widths of intervals and the privacy costs for several values of the epsilon, rho
or rate of the release.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from dpmultinomial import __version__
from dpmultinomial._files import csv_table, table_columns
from dpmultinomial._inference.planning import Plan, plan
from dpmultinomial._releases import checks, losses, planned
from dpmultinomial._releases.spending import EXCHANGE, REPLACE, Cost, amount
from dpmultinomial._seeding import stream

from .. import style, tables
from ..config import plan_settings
from .making import write_facts
from .sentences import as_stated, listed, percent


def made(name: str, settings: Mapping[str, Any], *, root_seed: int, folder: str | Path = ".") -> Plan:
    """Find the epsilon that a plan requires, and write the results to ``results/plans/<name>.csv`` (the curve) and
    ``results/plans/<name>.json``.

    Parameters
    ----------
    name : name of the plan, from which its random stream is derived.
    settings : checked settings, as written by the user.
    root_seed : root seed of all streams.
    folder : working directory.

    Raises
    ------
    ValueError
        If no epsilon in the range meets the goal, or the smallest epsilon in the range already meets it.
    """
    asked = plan_settings.filled(settings)
    outcome = plan(
        asked["names"],
        asked["total"],
        **{key: asked["want"].get(key) for key in ("interval", "narrower", "question")},
        **{key: asked[key] for key in ("level", "mechanism", "sensitivity", "of", "releases")},
        probability=asked["want"]["probability"],
        among=asked.get("among"),
        rng=stream(root_seed, "plans", name),
    )
    target = Path(folder, "results", "plans", f"{name}.csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    tables.write(outcome.curve, target)
    answer = {key: getattr(outcome, key) for key in ("epsilon", "frequency", "wrong", "standard_error", "releases")}
    facts = {"plan": name, "settings": asked, "found": answer, "versions": {"dpmultinomial": __version__}}
    write_facts(facts | {"planned": outcome.facts, "sentence": sentence(outcome, asked)}, target.with_suffix(".json"))
    return outcome


def sentence(found: Plan, asked: Mapping[str, Any]) -> str:
    """Return a sentence that states the epsilon of a plan and the goal that this epsilon achieves."""
    want, level = asked["want"], as_stated(asked["level"])
    noun = {"shares": "true share", "counts": "true count", "rates": "underlying rate"}[asked["of"]]
    group = f" among {listed(asked['among'])}" if asked.get("among") else ""
    if "question" in want:
        about = f"{want['question']} ({noun}s{group})"
        goal = f"the correct answer to the question whether {about} has a probability of at least {level}"
    else:
        points = as_stated(want["narrower"]).replace(" %", " percentage points")
        width = f"{want['narrower']:g}" if asked["of"] == "counts" else points
        goal = f"the {level} interval of the {noun} of {want['interval']}{group} is narrower than "
        goal += f"{width} and contains the true value"
    paid = epsilons(found.epsilon, asked["sensitivity"])
    return (
        f"With {paid}, {goal} in {percent(found.frequency)} of {found.releases} simulated releases that the search did "
        f"not use (standard error {percent(found.standard_error)}), and the release is decisive but wrong in "
        f"{percent(found.wrong)}."
    )


def epsilons(epsilon: float, sensitivity: float) -> str:
    """Return the epsilon of a plan and its neighbouring relation as text.

    Parameters
    ----------
    epsilon : sensitivity divided by the scale of the noise.
    sensitivity : L1 change of the counts: 2 if a record is replaced. The total of a plan is public, so there is no
        epsilon for adding or removing a record.
    """
    return f"epsilon = {epsilon:.3g} ({REPLACE if sensitivity == 2 else f'for an L1 change of {sensitivity:g}'})"


def draw(found: Plan, png: str | Path, pdf: str | Path) -> None:
    """Plot the proportions of correct and wrong answers against epsilon for a plan, and save the figure as PNG
    and PDF.
    """
    with style.applied():
        style.save(found.plot(), png, pdf)


TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)  # default values of the parameter, relative to the configured value
RENYI = "Rényi epsilon"
AT_DELTA = ("epsilon_at_delta", "delta", "method")
COLUMNS = (*planned.COLUMNS, "cost", "relation", "budget_cost", "budget_relation", "covered", *AT_DELTA)


def release_made(
    name: str,
    settings: Mapping[str, Any],
    *,
    releases: Mapping[str, Mapping[str, Any]],
    budgets: Mapping[str, Mapping[str, float]],
    folder: str | Path = ".",
    root: str | Path = ".",
) -> pd.DataFrame:
    """Compute the plan of a configured release, and write it to ``results/plans/<name>.csv`` and
    ``results/plans/<name>.json``.

    Parameters
    ----------
    name : name of the plan.
    settings : checked settings, as written by the user: the name of the release and, optionally, values, level and
        shape.
    releases, budgets : sections of the configuration.
    folder : folder for the results.
    root : folder that contains ``releases/`` with the public ledger.

    Returns
    -------
    DataFrame
        One row per parameter value and quantity. The first column is named after the parameter and contains its value;
        the columns `COLUMNS` follow. The column cost, with its relation, is the cost that the release states;
        budget_cost, with its relation, is the cost that is charged to the budget of the source. The column covered is
        ``yes``, ``no budget``, or the reason why the release would be rejected. The column epsilon_at_delta is the
        epsilon of this release alone at delta, under the neighbouring relation of its cost, computed with the method
        that is named next to it.

    Raises
    ------
    ValueError
        If the settings of the release are not sufficient for a plan (`planned.widths`), or a file breaks a rule.
    """
    asked = plan_settings.filled(settings)
    written = releases[asked["release"]]
    get = checks.filled(written)
    key, source = checks.parameter(get), get["source"] or asked["release"]
    shape = None
    if "shape" in asked:
        table = csv_table.read(asked["shape"])
        shape = table_columns.of(table, table.texts("category"))
    ceiling = checks.limits(budgets, source)
    spent = planned.spent(Path(root), *checks.sources(budgets, source))
    parts = []
    most = next(rule.most for rule in checks.KEYS[get["mechanism"]] if rule.name == key)
    for value in values(asked, get[key], key, most=most):
        changed = {**get, key: value}
        part = planned.widths(changed, level=asked["level"], shape=shape)
        cost, covered = planned.costs(changed, ceiling, spent)
        part.insert(0, key, value)
        scales = [scale for scale in part["scale"].tolist() if scale > 0]
        delta = float(get.get("delta") or ceiling.get("delta") or losses.DELTA)
        parts.append(part.assign(**_costs(cost), covered=covered, **_at_delta(changed, cost, scales, delta)))
    frame = pd.concat(parts, ignore_index=True)[[key, *COLUMNS]]
    target = Path(folder, "results", "plans", f"{name}.csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    tables.write(frame, target)
    facts = {"plan": name, "settings": asked, "mechanism": get["mechanism"], "source": source, "budget": dict(ceiling)}
    said = release_sentence(frame, asked, source, ceiling, order=get.get("order"))
    facts |= {"sentence": said, "versions": {"dpmultinomial": __version__}}
    write_facts(facts, target.with_suffix(".json"))
    return frame


def values(asked: Mapping[str, Any], own: float, key: str, *, most: float | None = None) -> list[float]:
    """Return, in increasing order, the parameter values that a plan compares.

    Parameters
    ----------
    asked : settings of the plan, with defaults.
    own : value of the parameter in the settings of the release.
    key : name of the parameter; the values of a rate are below 1.
    most : largest value that a release accepts.
    """
    wanted = asked.get("values") or [factor * own for factor in TIMES if most is None or factor * own <= most]
    return sorted(float(value) for value in wanted if key != "rate" or value < 1)


def release_sentence(
    found: pd.DataFrame,
    asked: Mapping[str, Any],
    source: str,
    ceiling: Mapping[str, float] | None = None,
    *,
    order: float | None = None,
) -> str:
    """Return a sentence that explains the table of a plan. It states the meaning of the cost columns and the largest
    parameter value that the budget covers.

    Parameters
    ----------
    found : result of `release_made`.
    asked : checked settings of the plan, with defaults.
    source : source of the release.
    ceiling : budget of the source, empty if it has none; None if the unit of the budget is not to be stated.
    order : order of the Rényi epsilon that the release states; None if the release states another cost.
    """
    key, quantities = str(found.columns[0]), set(found["quantity"])
    costs = found.drop_duplicates(key)
    if costs["cost"].isna().all():
        limit = "dpm release compares it with the" if "exchange" in (ceiling or {}) else "it is not limited by a"
        return f"{asked['release']}: {planned.NO_COST}; {limit} budget of {source}."
    first, unit = costs.iloc[0], _unit(found)
    stated = unit if order is None else f"{unit} (order {order:g})"
    most = "" if order is None else "is an upper bound and "
    text = f"The {stated} that the release states {most}refers to neighbours that {_neighbours(first['relation'])}. "
    budget = f"A budget of {source} would count" if ceiling == {} else f"The budget of {source} counts"
    bound = "" if first["relation"] == REPLACE else "an upper bound on "
    text += f"{budget} {bound}the {unit} of a replaced record, {_factor(first)}{_converted(unit, ceiling or {})}. "
    text += f"At delta = {first['delta']:g}, a release alone has at most the epsilon in its column; "
    text += "budgets do not count it. "
    if planned.NOISY_TOTAL in quantities:
        text += "The first column is the epsilon of each noisy count; the release states twice this epsilon. "
    if "sse" in quantities:
        text += "The scale of sse is an upper limit; it can be smaller for a file with few records. "
    if quantities == {"each count"}:  # a plan does not read the file, and a tree costs more
        text += "The table is for a file without a column parent; for a tree, add the key levels to the release. "
    covered = costs.loc[costs["covered"] == "yes", key]
    if (costs["covered"] == "no budget").all():
        return text + f"{source} has no budget."
    if covered.empty:
        return text + f"The budget covers none of the values: {costs['covered'].iloc[0]}."
    return text + f"The budget that is left covers {key} = {covered.max():g}{_refused(costs)}."


def shown(found: pd.DataFrame, level: float) -> pd.DataFrame:
    """Return the table of a plan in the format for the terminal, with the interval widths of every quantity. The stated
    cost is shown next to the cost that is charged to the budget.

    Parameters
    ----------
    found : result of `release_made`.
    level : probability of the intervals.
    """
    key, unit = str(found.columns[0]), _unit(found)
    table = pd.DataFrame({key: found[key].map("{:g}".format), "quantity": found["quantity"]})
    if found["share"].notna().any():
        table["share"] = found["share"].map(lambda x: percent(x) if x == x else "")
    table["scale of noise"] = found["scale"].map(_number)
    near = found["half_width"].where(found["scale"] > 0)
    table[f"within ({as_stated(level)})"] = near.map(lambda x: f"{x:.4g}" if x == x else "")
    if found["least_squares"].notna().any():
        table["least squares"] = found["least_squares"].map(lambda x: f"{x:.3g}" if x == x else "")
    if found["cost"].isna().all():
        return table
    for column, relation in (("cost", "relation"), ("budget_cost", "budget_relation")):
        title = f"{unit} stated" if column == "cost" else f"{unit} counted"
        cells = zip(found[column], found[relation], strict=True)
        table[title] = [f"{amount(number)} ({words})" for number, words in cells]
    table[f"epsilon at delta {found['delta'].iloc[0]:g}"] = found["epsilon_at_delta"].map(amount)
    return table.assign(covered=found["covered"].map(lambda text: text if text in ("yes", "no budget") else "no"))


def figure(found: pd.DataFrame, level: float) -> Figure:
    """Plot the half-widths of the intervals against the parameter in the first column of the plan, with one line per
    quantity.

    Parameters
    ----------
    found : result of `release_made`.
    level : probability of the intervals.
    """
    key = str(found.columns[0])
    drawn = Figure(figsize=(6.0, 3.4), layout="constrained")
    axes = drawn.subplots()
    noisy = found[found["scale"] > 0]
    for colour, (quantity, rows) in zip(_colours(), noisy.groupby("quantity", sort=False), strict=False):
        axes.plot(rows[key], rows["half_width"], ".-", color=colour, label=str(quantity))
        if rows["least_squares"].notna().all():
            axes.plot(rows[key], rows["least_squares"], "x--", color=colour, label=f"{quantity}, least squares")
    axes.set(xscale="log", xlabel=key, ylabel=f"half-width of {as_stated(level)} intervals")
    if noisy.empty:
        axes.text(0.5, 0.5, "no additive noise", ha="center", va="center", transform=axes.transAxes)
    else:
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=9)
    return drawn


def draw_release(found: pd.DataFrame, level: float, png: str | Path, pdf: str | Path) -> None:
    """Plot the interval half-widths of a plan, and save the figure as PNG and PDF."""
    with style.applied(), mpl.rc_context():
        style.save(figure(found, level), png, pdf)


def _colours() -> list[str]:
    return [style.CYCLE[i % len(style.CYCLE)] for i in range(60)]


def _costs(cost: Cost | None) -> dict[str, Any]:
    if cost is None:
        return {"cost": float("nan"), "relation": EXCHANGE, "budget_cost": float("nan"), "budget_relation": EXCHANGE}
    both = cost, cost.replaced
    numbers = [float(one.rho if one.rho is not None else one.epsilon or 0.0) for one in both]
    return {"cost": numbers[0], "relation": cost.relation, "budget_cost": numbers[1], "budget_relation": REPLACE}


def _at_delta(settings: Mapping[str, Any], cost: Cost | None, scales: list[float], delta: float) -> dict[str, Any]:
    """Return the entries of the columns `AT_DELTA` of a plan, which state the epsilon at a given delta."""
    if cost is None:
        return dict.fromkeys(AT_DELTA, float("nan"))
    numbers = losses.at_delta(cost, planned.known_losses(settings, scales), delta=delta)
    return dict(zip(AT_DELTA, numbers.values(), strict=True))


def _neighbours(relation: str) -> str:
    return "differ by one record that was replaced" if relation == REPLACE else "differ by one record more or less"


def _factor(first: pd.Series) -> str:
    factor = first["budget_cost"] / first["cost"]
    return "which is the same number" if abs(factor - 1) < 1e-9 else f"which is {factor:.3g} times as large"


def _converted(unit: str, ceiling: Mapping[str, float]) -> str:
    """Return a clause that explains how a privacy cost is converted to the unit of the budget. The clause is empty if
    the budget has the unit of the cost.
    """
    if unit == "epsilon" and "rho" in ceiling:
        text = ", and also rho = epsilon²/2" if "epsilon" in ceiling else ", converted to rho = epsilon²/2"
    else:
        text = ", but it limits rho, which this release does not have" if unit == RENYI and "rho" in ceiling else ""
    if "delta" in ceiling:
        return f"{text}, and converts the sum of all costs to epsilon at delta = {ceiling['delta']:g}"
    if unit != "epsilon" and "epsilon" in ceiling:
        text += ", but it limits pure epsilon, which this release does not have"
    return text


def _unit(found: pd.DataFrame) -> str:
    """Return the unit of the costs of a plan. The Dirichlet mechanism is the only one without a scale."""
    return "rho" if found.columns[0] == "rho" else RENYI if found["scale"].isna().all() else "epsilon"


def _refused(costs: pd.DataFrame) -> str:
    beyond = costs[~costs["covered"].isin(["yes", "no budget"])]
    if beyond.empty:
        return " and all smaller values"
    key = str(costs.columns[0])
    return f", but not {key} = {beyond[key].iloc[0]:g}: {beyond['covered'].iloc[0]}"


def _number(value: float) -> str:
    return "" if value != value else "exact" if value == 0 else f"{value:.4g}"
