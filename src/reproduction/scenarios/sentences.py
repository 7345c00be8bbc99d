"""Write sentences about the results of a scenario, using only the result rows and the metadata.

Each kind of scenario defines ``rules.assumptions(point)``, ``rules.MEANINGS`` (the meaning of its parameters) and
``rules.prior_text(prior)``. Counts have thousands separators, shares are shown as percentages, and the number of digits
depends on the width of the interval.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from math import ceil, floor, inf, isfinite, log10
from typing import TYPE_CHECKING, Any

from dpmultinomial._printing import not_compared, p_value, prior_matters

if TYPE_CHECKING:
    import pandas as pd

Facts = Mapping[str, Any]
NOUNS = {
    "count": "true count",
    "share": "true share",
    "rate": "underlying rate",
    "parameter": "parameter",
    "question": "question",
}
STATUS_TEXT = {
    "exact": "exact up to floating-point rounding",
    "converged": "from a Markov chain that passed its checks (effective sample sizes >= 400, R-hat <= 1.01)",
    "not converged": "from a Markov chain that did NOT pass its checks: do not use these numbers",
    "approximate": "approximate, with the stated error",
}
LIMITATIONS = (
    "The results describe groups of records: do not draw conclusions about an individual person or record from them.",
    "The results are valid only if the data were protected as stated here, with the stated parameters.",
)
LEAST_SQUARES = (
    "Least-squares estimates, if any, are shown for comparison: they use only the released values (no prior, bounds or "
    "public total), and can be negative."
)
_MANY = 24  # number of rows from which on the answers to questions are shown first


def sentence(row: Any, facts: Facts, point: Facts) -> str:
    """Return a sentence that states the result in one row of a results table.

    Parameters
    ----------
    row : row of a scenario's table, with the columns as attributes.
    facts : facts of the scenario.
    point : facts of the scenario at this point of a grid.
    """
    if row.status == "not converged":
        return f"The Markov chain for {row.quantity} did not converge: do not use this number."
    if row.type == "question":
        sums = "tree" in point or facts["kind"] == "additive_counts"
        known, parts = can_be_certain(row.quantity, point), facts["kind"] not in _SEPARATE
        text = _question(row, questions_of(facts), certain=known, sums=sums, parts=parts)
        cell = point.get("cell", "total")
        return text if cell == "total" else f"{text.removesuffix('.')} (counts of {cell})."
    if simulated(facts, point):
        return _score(row, facts)
    # intervals of integer quantities contain more than their nominal probability
    interval = _interval(row, point)
    at_least = _at_least(interval, discrete=row.type in ("count", "share"))
    sure = "" if _certain(row, facts, point) else f" with probability {at_least}{as_stated(row.level)}"
    where = f"is {interval}{sure}"
    how = missing(row.type, row.quantity, row.released, facts, point)
    if row.type == "count":
        what = f"The true count of {_meaning(row.quantity, facts)}"
        unseen = f" This count was {how}." if how else ""
        mean = "" if row.sd == 0 else f"; the posterior mean is {count_mean(row.mean, row.upper - row.lower)}"
        return f"{what} {where}{mean}.{unseen}"
    name, among = _named(row.quantity, point)
    unseen = f" Its count was {how}." if how else ""
    if row.type == "rate" and "rate_unit" in point:
        middle = real(row.mean, row.upper - row.lower)
        return f"The underlying rate of {name} {point['rate_unit']} {where}; the posterior mean is {middle}.{unseen}"
    if row.type in ("share", "rate"):
        of = f" among {listed(among)}" if among else ""
        (middle,) = shares(row.mean, width=row.upper - row.lower)
        noun = "true share" if row.type == "share" else "underlying rate"
        mean = "" if row.sd == 0 else f"; the posterior mean is {middle}"
        return f"The {noun} of {name}{of} {where}{mean}.{unseen}"
    middle = real(row.mean, row.upper - row.lower) if isfinite(row.mean) else "infinite"
    middle = f"; the posterior mean is {middle}" if row.mean == row.mean else ""
    what = _meaning(row.quantity, facts)
    return f"{what[0].upper()}{what[1:]} {where}{middle}."


def _at_least(interval: str, *, discrete: bool) -> str:
    """Return the words before the probability of an interval. The probability is larger than stated if the interval is
    that of a discrete quantity, or is shown without one of its limits.
    """
    whole = not interval.startswith("between") or interval == "between 0 % and 100 %"
    return "at least " if discrete or whole else ""


def _certain(row: Any, facts: Facts, point: Facts) -> bool:
    """Return whether the quantity of a row is known. Under noise without bounds, a computed standard deviation of 0 is
    not enough, unless the public total determines the count.
    """
    total = point.get("total")
    if row.type == "count" and row.quantity == (point.get("tree") or {}).get("root") and isinstance(total, int):
        return True
    if row.sd != 0 or row.status != "exact":
        return False
    noise = point.get("noise") or {}
    laws = {part.get("law") for part in noise.get("laws", [noise])}
    bounds = point.get("bounds") or {"lower": 0.0, "upper": 1.0}
    # the share of a single count is 100 %, and equal bounds determine all counts
    if (row.type == "share" and point.get("counts") == 1) or bounds["lower"] == bounds["upper"]:
        return row.type != "rate" or point.get("counts") == 1
    if facts["kind"] != "noisy_counts" or row.type == "rate" or laws <= {None, *_BOUNDED}:
        return True
    return isinstance(total, int) and (total == 0 or point.get("counts") == 1)


def simulated(facts: Facts, point: Facts) -> bool:
    """Return whether the result rows contain means over simulated releases of a model instead of posterior means."""
    return facts["kind"] == "classifier" and point.get("origin") == "rehearsal"


def _score(row: Any, facts: Facts) -> str:
    """Return a sentence about the mean score of the simulated releases of a model."""
    what, width = _meaning(row.quantity, facts), row.upper - row.lower
    if row.status == "exact":
        return f"{what[0].upper()}{what[1:]}: {real(row.mean, width)}."
    low, high = real(row.lower, width), real(row.upper, width)
    return (
        f"{what[0].upper()}{what[1:]}: the mean over the simulated releases is {real(row.mean, width)} "
        f"({as_stated(row.level)} t interval for the mean: {ends(low, high, '{} to {}')})."
    )


# kinds and types of rows that state the published value of a count
PUBLISHED = (("noisy_counts", "true count"), ("protected_rates", "underlying rate"))


def missing(type_: str, name: str, released: float, facts: Facts, point: Facts) -> str:
    """Return the reason why a table row contains no released count, such as ``published as 10 to 50``, ``measured
    several times``, ``not measured`` or ``withheld``. The string is empty if the row has a released count, and for the
    rows of quantities that are estimated from several counts.
    """
    if released == released or (facts["kind"], NOUNS.get(type_)) not in PUBLISHED:
        return ""
    if name in (point.get("tree") or {}).get("several", ()):
        return "measured several times"
    if "threshold" in (point.get("noise") or {}):  # the noisy value is below the limit, but not necessarily the count
        return "withheld"
    return str((point.get("published_as") or {}).get(name, "not measured"))


def headline(rows: "pd.DataFrame", facts: Facts, point: Facts) -> str:
    """Return a sentence that states the main result of a scenario. It is the share among the selected names if the
    scenario selects names. Otherwise, it is an answer to a question, the largest count, or the first row.
    """
    good = rows[rows["status"] != "not converged"]
    labels = list(point.get("among_labels") or {})
    for kind in ("share", "rate"):
        chosen = good[(good["type"] == kind) & good["quantity"].isin(labels[:1])]
        if len(chosen):
            return sentence(next(chosen.itertuples()), facts, point)
    if not len(good):
        return "The Markov chains did not converge: do not use any of these numbers."
    asked = good[good["type"] == "question"]
    if len(asked) and len(good) > _MANY:
        return sentence(next(asked.itertuples()), facts, point)
    counts = good[good["type"] == "count"]
    # a public total is not a result, so it is omitted
    counts = counts if (counts["sd"] == 0).all() else counts[counts["sd"] > 0]
    first = counts.loc[[counts["mean"].idxmax()]] if len(counts) else good.head(1)
    return sentence(next(first.itertuples()), facts, point)


def noise_part(point: Facts) -> str:
    """Return a sentence that states the proportion of the posterior variance of a rate that is due to the noise. The
    text is empty if this proportion is unknown.
    """
    parts = point.get("noise_part_of_rate_variance") or {}
    label = next(iter(point.get("among_labels") or parts), "")
    if label not in parts or not (protection := _protection(point)):
        return ""
    name, among = _named(label, point)
    of = f" among {listed(among)}" if among else ""
    part = min(max(float(parts[label]), 1e-9), 1 - 1e-9)  # a computed part of 0 or 1 can be a rounded number
    return (
        f"The {protection} accounts for {percent(part, 0)} of the posterior variance of the "
        f"underlying rate of {name}{of}; the rest is sampling variation, which would remain if the true counts were "
        "known."
    )


_SUM = " Among many counts, even a small error in the prior mean or in the noise is visible in the sum of all counts."
_BOUNDED = ("exact", "random_rounding", "table")  # a count differs from its published value by a bounded amount


def bounded(point: Facts) -> bool:
    """Return whether the published values imply bounds on all true counts. The posterior probability of an event can
    then be exactly 0 or 1. Under noise without bounds, no event about counts is certain, even if its computed
    probability is 0 or 1.
    """
    noise = point.get("noise") or {}
    laws = [part.get("law") for part in noise.get("laws", [noise])]
    return "strata" in point or (all(law in _BOUNDED for law in laws) and not point.get("unlimited"))


def can_be_certain(quantity: str, point: Facts) -> bool:
    """Return whether a computed probability of 0 or 1, or a computed standard deviation of 0, is exact for the answer
    to a question.
    """
    return bounded(point) or quantity in point.get("certain", ())


def _protection(point: Facts) -> str:
    """Return the noun for the method of protection of the counts, such as ``noise``, ``rounding`` or ``swapping``. The
    text is empty if the counts were not changed.
    """
    if "strata" in point:
        return "swapping"
    noise = point.get("noise") or {}
    if noise.get("law") == "random_rounding" or (noise.get("law") == "exact" and "rounded" in noise):
        return "rounding"
    if noise.get("law") != "exact":
        return "noise"
    return "suppression" if "threshold" in noise or point.get("published_as") else ""


def assumptions(facts: Facts, point: Facts) -> list[str]:
    """Return the assumptions on which the results of a scenario are based, as sentences."""
    rules = import_module(f"{__package__}.{facts['kind']}.rules")
    asked = (facts["settings"].get("questions") or {}).values()
    about = {*point.get("groups", ()), *(question.get("about") for question in asked)}
    stated = rules.assumptions({**point, "groups": about})
    sentences = [*_origin(facts, point), *read_as(facts), *_absent(point), *stated]
    if point.get("among") or any({"ratio", "share"} & set(question) for question in asked):
        sentences.append("Shares among some names, and ratios, are given that their denominators are not 0.")
    if any("rank" in question for question in asked):
        sentences.append("Ranks begin with the largest value; tied values have the better rank.")
    if facts["settings"].get("about") == "rates" and any("about" not in question for question in asked):
        sentences.append("Questions without the key 'about' refer to the counts of the file.")
    if isinstance(point.get("total"), Mapping) and "shares" in about:
        sentences.append("Shares of the file are given that its total is not 0.")
    if prior := point.get("prior"):
        text = getattr(rules, "prior_text", prior_text)(prior)
        known = isinstance(point.get("total"), int)  # a known total has no prior
        text = re.sub("^flat on the (total|count of the root)([,;] |$)", "", text) if known else text
        sentences += [f"Prior: {text}."] if text else []
    if cost := cost_text(point):
        sentences.append(cost)
    return sentences


def sampled(*nouns: str) -> str:
    """Return the assumption about the population quantities that `nouns` name, such as rates, as a sentence."""
    return (
        f"The {listed(list(nouns))} (but not the counts) also assume that the records are an independent random sample."
    )


def _origin(facts: Facts, point: Facts) -> Iterator[str]:
    if point.get("origin") == "rehearsal":
        yield "Rehearsal with invented data: anyone can reproduce its noise, so it is not a release."
    elif facts.get("release"):
        yield f"Input: release {point.get('release')}, generation {point.get('generation')}."
    else:
        yield "Input: published numbers and their noise as stated, without the record of a release."


def read_as(facts: Facts) -> Iterator[str]:
    """Yield a sentence that lists the columns of the file that were read under a different name."""
    if columns := facts.get("read_as"):
        read = [f"{theirs} is read as {ours}" for ours, theirs in columns.items()]
        yield f"Columns with other names: {listed(read)}."


def _absent(point: Facts) -> Iterator[str]:
    """Yield a sentence that states the number of cells that are missing from the file, and how these cells are
    treated.
    """
    if not (stated := point.get("absent")):
        return
    number, each = stated["number"], _absent_cell(stated)
    if not number:
        yield "Every cell of the table is listed in the file."
        return
    are, these = ("cell is", "this cell") if number == 1 else ("cells are", "these cells")
    yield f"{number:,} {are} not listed in the file; for {these}, {each}."


def absent_of_tables(stated: Facts) -> str:
    """Return a sentence that states how cells are treated that are missing from a table of a batch.

    Parameters
    ----------
    stated : value of the key `absent`.
    """
    return f"For each cell that is not listed in a table, {_absent_cell(stated)}."


def _absent_cell(stated: Facts) -> str:
    """Return the words that state what was published for a cell that the file does not list."""
    below = f" (values below {stated['below']})" if "below" in stated else ""
    how = {"zero": "0 was released", "withheld": f"the value was withheld{below}", "unknown": "no value is known"}
    return how[stated["are"]]


def prior_text(prior: Any) -> str:
    """Return a description of the prior of a scenario."""
    if not isinstance(prior, Mapping):
        return str(prior)
    if prior.get("law") == "Dirichlet" and "concentration" in prior:
        listed_ = prior["concentration"]
        alike = len(set(listed_)) == 1
        if set(listed_) == {1.0}:
            return "flat Dirichlet on the rates"
        if set(listed_) == {0.5}:
            return "Jeffreys' prior on the rates (Dirichlet, concentration 0.5 for each)"
        values = [f"{a:g}" for a in listed_]
        size = f"{values[0]} for each" if alike else first_of(values) or ", ".join(values)
        return f"Dirichlet on the rates, with concentration {size}"
    rest = [(key, value) for key, value in prior.items() if key != "law" and not isinstance(value, list)]
    shown = ", ".join(f"{key} {value:.12g}" if isinstance(value, float) else f"{key} {value}" for key, value in rest)
    return f"{str(prior.get('law', 'as stated')).replace('_', ' ')}{f' ({shown})' if shown else ''}"


_PARAMETERS = 12  # maximum number of parameters of a prior that are listed


def prior_of_counts(words: Mapping[str, Any]) -> str:
    """Return a description of the prior of counts, including how the prior was chosen. If the scenario has several
    groups, the description covers each group.
    """
    if "groups" in words:
        parts = [f"{name}: {_prior_law_text(part)}" for name, part in words["groups"].items()]
        return f"{'; '.join(parts)} ({words['chosen']})"
    return _prior_law_text(words) + (f" ({words['chosen']})" if "chosen" in words else "")


def level_text(name: str) -> str:
    """Return the name of a level of a tree as text. The default names are ``level 0``, ``level 1``, .."""
    return name if name.startswith("level ") else f"level {name}"


def _prior_law_text(words: Mapping[str, Any]) -> str:
    law = words.get("law")
    if law == "splits":
        concentrations = words.get("concentrations", {})
        if not (each := listed([f"{value:.4g} at {level_text(level)}" for level, value in concentrations.items()])):
            return "flat on the count of the root"  # a tree with a single node
        fitted = words.get("fitted_on")
        how = f", fitted to {fitted['nodes']:,} of the {fitted['of']:,} nodes of the tree" if fitted else ""
        return (
            "flat on the count of the root; each count is split among its children by a Dirichlet-multinomial "
            f"distribution with concentration {each}{how}"
        )
    if law == "leaves":
        return _leaves_text(words["priors"])
    if law == "fitted":
        mean = f", with mean {real(words['mean'], words['mean'] / 100)}" if "mean" in words else ""
        return f"distribution fitted to {words['fitted_on']:,} of the counts{mean}"
    if law == "multinomial":
        alpha = words.get("alpha", 1.0)
        several = set(alpha) if isinstance(alpha, list) else {alpha}
        values = [f"{a:g}" for a in alpha] if isinstance(alpha, list) else []
        stated = f"{next(iter(several)):g} for each" if len(several) == 1 else first_of(values) or listed(values)
        return f"flat on the total, Dirichlet on the rates with concentration {stated}"
    if law == "flat":
        return "flat on the counts"
    if law == "1/(1+n)":
        return "weight 1/(1 + n) for a count n >= 0"
    if law == "table":
        return f"table of {words['counts']:,} counts with their probabilities"
    return prior_text({key: value for key, value in words.items() if key not in ("rows", "chosen")})


def _leaves_text(priors: Mapping[str, Any]) -> str:
    """Return a description of the prior of the leaves of a tree. There is one prior, or one prior for each group."""
    if "law" in priors:
        return f"the counts of the leaves are independent, and the prior of each leaf is: {_prior_law_text(priors)}"
    parts = [f"{name}: {_prior_law_text(part)}" for name, part in priors.items()]
    return f"the counts of the leaves are independent, and the prior of each leaf is, by group: {'; '.join(parts)}"


def first_of(values: list[str]) -> str:
    """Return a long list of parameters as text: the first parameters, and the number of all parameters. The text is
    empty if the list is short.
    """
    return f"{', '.join(values[:_PARAMETERS])}, .. ({len(values):,} values)" if len(values) > _PARAMETERS else ""


def cost_text(point: Facts) -> str:
    """Return the privacy cost of a release as text. The text is empty if the cost is not known."""
    cost = point.get("cost")
    if not isinstance(cost, Mapping) or not cost:
        return ""
    relation = str(point.get("neighbours") or cost.get("relation") or "")
    stated = {k: float(v) for k, v in cost.items() if isinstance(v, (int, float)) and k != "sensitivity"}
    paid = ", ".join(paid_texts(stated))
    more = replaced_text(stated, relation, point.get("cost_to_replace"))
    where = f" (neighbouring files: {relation}{more})" if relation else ""
    if not relation and "sensitivity" in cost:
        where = f" for a change of the counts by the stated sensitivity, {cost['sensitivity']:g}"
    of = "such a release" if point.get("origin") == "rehearsal" else "the release"
    return f"Privacy cost of {of}: {paid}{where}."


def paid_texts(stated: Mapping[str, float]) -> list[str]:
    """Return the parts of a stated privacy cost as texts, such as ``epsilon = 1`` and ``delta = 1e-06``. A Rényi
    epsilon is an upper bound, because it follows from the bound of Algorithm 1 of Ponnoprat (2022).

    Parameters
    ----------
    stated : epsilon, rho, order and delta, as far as they are stated.
    """
    from dpmultinomial._releases.spending import amount  # only such a cost needs this import

    texts = {key: f"{key} = {amount(value)}" for key, value in stated.items()}
    if "order" in texts:
        texts["epsilon"] = f"Rényi epsilon at most {amount(stated['epsilon'])}"
    return list(texts.values())


def replaced_text(stated: Mapping[str, float], relation: str, known: Any = None) -> str:
    """Return the privacy cost of replacing a record as text, such as ``; epsilon = 4 to replace a record``, or the
    upper bound that budgets count, such as ``; epsilon at most 4 to replace a record``. The text is empty if the stated
    cost does not refer to adding or removing a record, or if it has a delta and the cost of replacing a record is not
    known.

    Parameters
    ----------
    stated : epsilon, rho, epsilon and order, or epsilon and delta.
    relation : neighbouring relation of the stated cost.
    known : dictionary with the cost of replacing a record, computed from the noise; None if only the bound is known.
    """
    if not stated or not relation.startswith("add") or ("delta" in stated and not known):
        return ""
    from dpmultinomial._releases.spending import REPLACE, Cost, amount  # only such a cost needs this import

    if isinstance(known, Mapping) and known:
        return f"; {', '.join(f'{key} = {amount(float(value))}' for key, value in known.items())} to {REPLACE}"
    replaced = Cost(relation=relation, **{key: stated[key] for key in ("epsilon", "rho", "order") if key in stated})
    numbers = [
        f"{key} {'' if key == 'order' else 'at most '}{amount(value)}"
        for key, value in replaced.replaced.stated().items()
        if not isinstance(value, str)
    ]
    return f"; {', '.join(numbers)} to {REPLACE}"


def accuracy(point: Facts) -> list[str]:
    """Return sentences about the accuracy of the results and about the checks of the release."""
    sentences, states = [], point.get("accuracy", ())
    for state in states:
        if len(states) == 1:
            rows = f"All {state['rows']:,} numbers are" if state["rows"] > 2 else "Both numbers are"
            rows = "The number is" if state["rows"] == 1 else rows
        else:
            rows = f"{state['rows']:,} of the numbers {'are' if state['rows'] > 1 else 'is'}"
        why = f": {state['reason']}" if state["reason"] else ""
        text = "approximate, with an unknown error" if state.get("unknown") else STATUS_TEXT[state["status"]]
        sentences.append(f"{rows} {text}{why}.")
    if check := point.get("fit"):
        text = str(check["sentence"])
        sentences.append(f"CONFLICT: {text}." if check.get("suspect") else f"{text[0].upper()}{text[1:]}.")
    if sure := (point.get("confidence") or {}).get("sentence"):
        sentences.append(str(sure))
    if reason := point.get("omitted"):
        sentences.append(f"Omitted: {reason}.")
    sentences += [f"WARNING: {text}" for text in uncertain(point.get("prior"))]
    return [*sentences, *_conflict(point.get("conflict") or {}), *_decided(point.get("flat_comparison") or {})]


def _conflict(check: Facts) -> Iterator[str]:
    """Yield a warning if released counts are improbable under the prior and the noise."""
    if check.get("found"):
        names = list(dict.fromkeys(str(name) for name in check["names"]))  # a count can have several measurements
        shown = listed(names)
        more = f" and {check['counts'] - len(check['names'])} more" if check["counts"] > len(check["names"]) else ""
        are = "is" if len(names) == 1 and not more else "are"
        least = f"smallest p-value {p_value(check['smallest'])} among {check['tested']:,}"
        # the sd of a sum of n counts grows with sqrt(n), and the effect of a wrong prior mean with n
        many = _SUM if "the total" in check["names"] and check["tested"] > 1000 else ""
        yield (
            f"CONFLICT: {shown}{more} {are} improbable under the stated noise and prior ({least}): check the noise, "
            f"bounds, total and prior.{many}"
        )


def warnings_of(tables: Facts) -> Iterator[str]:
    """Yield warnings that state in how many tables of a batch the released values are improbable under the prior and
    the noise, and how many tables have other warnings.

    Parameters
    ----------
    tables : numbers of tables of a batch.
    """
    if found := tables.get("conflicts", 0):
        yield (
            f"CONFLICT: in {found:,} table{'s' * (found > 1)}, released values are improbable under the stated noise "
            "and prior (see the columns conflict and conflict_name). Up to 5 % of the tables are expected by chance."
        )
    if warned := tables.get("warned", 0):
        yield f"WARNING: {warned:,} table{'s have' if warned > 1 else ' has'} warnings (see the column warnings)."


def uncertain(prior: Any) -> Iterator[str]:
    """Yield a sentence for each prior that was fitted to too few counts, given the amount of noise in these counts."""
    if not isinstance(prior, Mapping):
        return
    groups = prior.get("groups")
    for name, part in groups.items() if isinstance(groups, Mapping) else [("", prior)]:
        if part.get("uncertain"):
            where = f" of group {name}" if name else ""
            error = part["mean_error"]
            yield (
                f"the prior{where} was fitted to too few counts for their noise: its mean, "
                f"{real(part['mean'], error)}, has a standard error of {real(error, error)}. The intervals, which take "
                "the fitted prior as known, are too short: choose prior: 1/(1+n), or state a distribution."
            )


def _decided(beside: Facts) -> Iterator[str]:
    """Yield sentences that state the number of counts that depend strongly on the prior, and the number of counts that
    cannot be compared with a flat prior.
    """
    if counts := prior_matters(beside):
        yield (
            f"The prior matters for {counts}: under a flat prior, the "
            "mean differs by more than half a standard deviation, or an endpoint of the 95 % interval by more than one."
        )
    if unknown := not_compared(beside):
        yield f"{unknown}."


def _interval(row: Any, point: Facts) -> str:
    width = row.upper - row.lower
    if row.type == "count":
        low, high = count(row.lower), count(row.upper)
        whole = f" of {count(point['total'])}" if isinstance(point.get("total"), int) else ""
        return f"exactly {low}{whole}" if low == high else f"{ends(low, high)}{whole}"
    if row.type in ("share", "rate") and "rate_unit" not in point:
        low, high = shares(row.lower, row.upper, width=width)
    else:
        low, high = real(row.lower, width), real(row.upper, width)
    return ends(low, high)


def ends(low: str, high: str, form: str = "between {} and {}") -> str:
    """Return an interval as text, such as ``between 3 and 5``, ``below 7.8 %`` or ``at least 3``.

    Parameters
    ----------
    low, high : limits, as returned by `shares`, `real` or `count`.
    form : text of an interval with two different limits.
    """
    if low == high:
        return low
    below, above = low.startswith(_LESS), high.startswith(_MORE)
    if below and above:
        return form.format("0 %", "100 %")
    if below or low == _NO_BOUND:
        return f"{'below' if below else 'at most'} {high}"
    if above or high == _NO_BOUND:
        return f"{'above' if above else 'at least'} {low}"
    return form.format(low, high)


def _named(label: str, point: Facts) -> tuple[str, list[str]]:
    """Return the name of a quantity and, for a share, the names in the denominator."""
    labels = point.get("among_labels") or {}
    return (labels[label], list(point["among"])) if label in labels else (label, [])


def _meaning(name: str, facts: Facts) -> str:
    meanings: Mapping[str, str] = getattr(import_module(f"{__package__}.{facts['kind']}.rules"), "MEANINGS", {})
    return meanings.get(name, name)


_SEPARATE = ("protected_rates", "classifier")  # kinds whose rates do not sum to 1


_AMONG = {"shares": "for the true shares, ", "rates": "for the underlying rates, "}  # if they are not the counts


def _question(row: Any, questions: Mapping[str, Any], *, certain: bool, sums: bool, parts: bool) -> str:
    label = asked_in(row.quantity, questions)
    asked = questions.get(label) or {}
    if "probability" in asked:
        probability = chance(row.mean, row.status, row.error, certain)
        among = _AMONG.get(str(asked.get("about")), "") if parts else ""
        return f"{label}: {among}the probability that {asked['probability']} is {probability}."
    if row.mean == row.mean and row.lower != row.lower:  # a probability that belongs to a rank
        inside = row.quantity.removeprefix(f"{label}: ").removeprefix("P(").removesuffix(")")
        inside = f"{inside} among {_asked(asked, sums)}"
        return f"{label}: the probability of {inside} is {chance(row.mean, row.status, row.error, certain)}."
    low, high = real(row.lower, row.upper - row.lower), real(row.upper, row.upper - row.lower)
    if not {"ratio", "share"} & set(asked) and about_counts(row.quantity, questions):
        low, high = count(row.lower), count(row.upper)
    elif "share" in asked:
        low, high = shares(row.lower, row.upper, width=row.upper - row.lower)
    elif "ratio" in asked:
        low = low_ratio(row.lower, row.upper - row.lower)
    what = _asked(asked, sums)
    if "rank" in asked:
        what = f"the rank of {row.quantity.removeprefix(f'{label}: ')} among {what}"
    discrete = "rank" in asked or asked.get("about", "counts") in ("counts", "shares")
    # a limit that is rounded to the end of the range excludes no value on this side
    ranges = {"sum": (0.0, 1.0), "difference": (-1.0, 1.0)} if parts else {"sum": (0.0, inf)}
    range_ = ranges.get(next(iter({"sum", "difference"} & set(asked)), ""))
    if asked.get("about") == "rates" and range_ and isfinite(row.sd):
        discrete |= _read(low) <= range_[0] or _read(high) >= range_[1]
    at_least = _at_least(interval := ends(low, high), discrete=discrete)
    known = row.sd == 0 and row.status == "exact" and (certain or "rank" not in asked)
    return f"{label}: {what} is {interval}{'' if known else f' with probability {at_least}{as_stated(row.level)}'}."


def _read(number: str) -> float:
    return float(number.replace(",", ""))


_FROM_CHAINS = 0.01  # a smaller probability, estimated by 400 effective draws of a chain, is not stated as a number


def chance(mean: float, status: str, error: float, certain: bool) -> str:
    """Return a probability as text, or a bound if the estimate from draws is 0, 1, or too close to 0 or 1 to be stated
    as a number. Bounds are rounded outwards. A computed probability of 0 or 1 is stated as such only if the event is
    certain.
    """
    if status == "converged" and not _FROM_CHAINS <= mean <= 1 - _FROM_CHAINS:
        return f"{_LESS if mean < 0.5 else _MORE} {percent(_FROM_CHAINS if mean < 0.5 else 1 - _FROM_CHAINS)}"
    text = percent(mean if certain else min(max(mean, 1e-9), 1 - 1e-9), 2)
    if status == "exact" or not error > 0 or not (mean in (0.0, 1.0) or text.startswith((_LESS, _MORE))):
        return text
    likely = mean > 0.5
    error *= 1 if mean in (0.0, 1.0) else 3  # the error of 0 or 1 is a bound, and can otherwise be a standard error
    low, high = floor(1e5 * (mean - error) + 1e-9) / 1e5, ceil(1e5 * (mean + error) - 1e-9) / 1e5
    bound = percent(min(max(low, 0.0), 1 - 1e-9) if likely else min(max(high, 1e-9), 1.0), 3)
    return bound if bound.startswith((_LESS, _MORE)) else f"at {'least' if likely else 'most'} {bound}"


# group of quantities to which a question refers by default, for the kinds of scenarios for which it is not `counts`
_GROUPS = {"protected_rates": "rates", "classifier": "rates", "censored_sample": "parameters"}


def questions_of(facts: Facts) -> dict[str, Any]:
    """Return the questions of a scenario, each with the group of quantities to which it refers, `about`."""
    asked, group = (facts.get("settings") or {}).get("questions") or {}, _GROUPS.get(facts.get("kind", ""), "counts")
    return {label: {"about": group, **question} for label, question in asked.items()}


def asked_in(quantity: str, questions: Mapping[str, Any]) -> str:
    """Return the name of the question that a row answers. A rank has several rows, whose quantities begin with the name
    of the question and a colon. The name is empty if the row does not answer a question.
    """
    begins = [q for q in questions if quantity.startswith(f"{q}: ")]
    return quantity if quantity in questions else max(begins, key=len, default="")


def question_noun(quantity: str, questions: Mapping[str, Any]) -> str:
    """Return the noun for the answer to a question, such as rank, probability, sum or share."""
    label = asked_in(quantity, questions)
    asked = questions.get(label) or {}
    if "probability" in asked or quantity.removeprefix(f"{label}: ").startswith("P("):
        return "probability"
    return next((key for key in ("rank", "sum", "difference", "ratio", "share") if key in asked), "question")


def about_counts(quantity: str, questions: Mapping[str, Any]) -> bool:
    """Return whether the answer to a question is an integer, which is the case for a rank and for a sum or a difference
    of counts.
    """
    label = asked_in(quantity, questions)
    asked = questions.get(label) or {}
    return "rank" in asked or (bool({"sum", "difference"} & set(asked)) and asked.get("about", "counts") == "counts")


def _asked(question: Mapping[str, Any], sums: bool = False) -> str:
    """Return the quantity of a question as text; for a rank, the quantities that are compared. If `sums` is set, some
    counts are sums of others.
    """

    def side(names: Any) -> str:
        return names if isinstance(names, str) else listed([str(name) for name in names])

    noun = {"shares": "share", "rates": "rate", "parameters": ""}.get(str(question.get("about")), "count")
    if "sum" in question:
        return f"the {f'total {noun}' if noun else 'sum'} of {side(question['sum'])}"
    for key, words in (("difference", "minus"), ("ratio", "divided by")):
        if key in question:
            first, second = (f"the {noun} of {side(names)}" if noun else side(names) for names in question[key])
            return f"{first} {words} {second}"
    if "share" in question:
        of, among = (side(question["share"][key]) for key in ("of", "among"))
        return (
            f"the share of the rate of {of} among the rates of {among}"
            if noun == "rate"
            else f"the share of {of} among {among}"
        )
    if "rank" in question:
        names = question["rank"].get("among", question["rank"]["of"])
        nouns = f"{noun}s" if noun else "parameters"
        if names == "all":
            return f"all {nouns}{' that are not sums of others' if sums else ''}"
        many = not isinstance(names, str) and len(names) > _NAMED
        return f"the {len(names):,} {nouns} of the question" if many else side(names)
    return "the answer"


MOST_DIGITS = 4
_NAMED = 5  # largest number of names that a sentence lists
_LARGE_MEAN = 1000.0  # from this mean on, four significant digits are fewer than one decimal
_SMALL_MEAN = 0.001  # a smaller mean of a count is stated as a bound
_LESS, _MORE, _NO_BOUND = "less than", "more than", "no bound"


def count(value: float) -> str:
    """Return a count as text, without decimals for an integer and with one decimal for a mean of integers."""
    if not isfinite(value):
        return _NO_BOUND
    digits = 0 if value == round(value) else 1
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # + 0.0, so that -0.0 is shown as 0


def count_mean(value: float, width: float) -> str:
    """Return the posterior mean of a count as text. The text has one decimal, or four significant digits if the
    width of the interval is at most 1 and the mean is below 1,000. A mean that would be rounded to 0 has one
    significant digit.

    Parameters
    ----------
    value : mean.
    width : width of the interval.
    """
    if -1e-9 < value < 0:  # the mean of a difference of equal counts, in floating point
        value = 0.0
    if value == round(value, 1) or (width > 1 and round(value, 1)) or abs(value) >= _LARGE_MEAN:
        return count(round(value, 1))
    if abs(value) >= _SMALL_MEAN:
        return f"{value:,.{4 if width <= 1 else 1}g}"
    return f"{_LESS} {_SMALL_MEAN:g}" if value > 0 else f"{_MORE} -{_SMALL_MEAN:g}"


def percent(value: float, digits: int = 1) -> str:
    """Return a share as a percentage, as text. The text is 0 % or 100 % only if the share is exactly 0 or 1.

    Parameters
    ----------
    value : in [0, 1].
    digits : number of decimals.
    """
    least = 10.0**-digits
    if 0 < value <= least / 200:
        return f"{_LESS} {least:.{digits}f} %"
    if 1 - least / 200 <= value < 1:
        return f"{_MORE} {100 - least:.{digits}f} %"
    text = f"{100 * value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def as_stated(value: float) -> str:
    """Return a share that a user stated, such as the level of an interval, as a percentage that is not rounded."""
    return f"{100 * value:.12g} %"


def digits_of(width: float) -> int:
    """Return the number of decimals of a percentage for which the width of its interval has two significant digits."""
    if not isfinite(width) or width <= 0:
        return 1
    return int(min(max(1 - floor(log10(100 * width)), 0), MOST_DIGITS))


def shares(*values: float, width: float) -> list[str]:
    """Return shares as percentages with a common number of decimals, as text."""
    return [percent(value, max(digits_of(width), 1)) for value in values]


def real(value: float, width: float) -> str:
    """Return a real number as text, rounded so that the width of its interval would have two significant digits. With
    the same number of decimals, the width has two significant digits.
    """
    if not isfinite(value):
        return _NO_BOUND
    if not isfinite(width) or width <= 1e-12 * abs(value):
        return f"{value:.4g}"
    decimals = int(min(max(1 - floor(log10(width)), 0), 12))
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"  # + 0.0, so that -0.0 is shown as 0.0


def low_ratio(value: float, width: float) -> str:
    """Return the lower limit of a ratio as text. It has two significant digits even if the interval is much wider."""
    return real(value, min(width, value) if value > 0 else width)


def listed(names: list[str], word: str = "and") -> str:
    """Return a list of names as text for use in a sentence, such as "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}" if names else ""
