"""Sentences of scenarios, made from facts and rows: whole ones with subject, noun and unit. Nothing is parsed.

A kind adds its own: ``rules.assumed(point)``, its assumptions, ``rules.MEANINGS``, the meaning of parameters, and
``rules.prior_in_words(prior)``.
Counts have separators of thousands, shares are in per cent, and an interval decides how many digits are written.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Facts = Mapping[str, Any]
NOUNS = {
    "count": "count in the file",
    "share": "share in the file",
    "rate": "rate underlying the file",
    "parameter": "parameter",
    "question": "question",
}
TRUST = {
    "exact": "computed exactly; only rounding is left",
    "converged": "drawn by a Markov chain that passed its checks (effective sample sizes >= 400, R-hat <= 1.01)",
    "not converged": "drawn by a Markov chain that did NOT pass its checks: do not use these numbers",
    "approximate": "approximate, with a stated error",
}
NOT_SAID = (
    "Nothing is said about any single person or record.",
    "Nothing holds if the noise was made in another way, or with another scale, than is stated here.",
)


def sentence(row: Any, facts: Facts, point: Facts) -> str:
    """What a row says.

    Parameters
    ----------
    row : with the columns of a scenario's table as attributes.
    facts : of the scenario.
    point : its facts at this point of a grid.
    """
    if row.status == "not converged":
        return f"The chain for {row.quantity} did not converge: this number must not be used."
    if row.type == "question":
        return _question(row, facts["settings"].get("questions") or {})
    where, sure = _interval(row, point), f"with probability {percent(row.level)}"
    if row.type == "count":
        what = f"In the file, the count of {_meaning(row.quantity, facts)}"
        return f"{what} is {where}, {sure}; the mean is {count(row.mean)}."
    name, among = _named(row.quantity, point)
    of = f"of those that are {listed(among, 'or')}" if among else "of all records"
    (middle,) = shares(row.mean, width=row.upper - row.lower) if row.type in ("share", "rate") else ("",)
    if row.type == "share":
        return f"In the file, {where} {of} are {name}, {sure}; the mean is {middle}."
    if row.type == "rate":
        return (
            (
                f"The rate underlying the file, by which one {of.removeprefix('of ')} is {name}, is {where}, {sure}; "
                f"the mean is {middle}."
            )
            .replace("one those", "one of those")
            .replace("one all records", "a record")
        )
    found = f" and its mean {real(row.mean, row.upper - row.lower)}" if row.mean == row.mean else ""
    return f"{_meaning(row.quantity, facts).capitalize()} is {where}, {sure}{found}."


def headline(rows: "pd.DataFrame", facts: Facts, point: Facts) -> str:
    """The one sentence to read: the share among the names that were asked for, else the first row."""
    good = rows[rows["status"] != "not converged"]
    labels = list(point.get("among_labels") or {})
    for kind in ("share", "rate"):
        chosen = good[(good["type"] == kind) & good["quantity"].isin(labels[:1])]
        if len(chosen):
            return sentence(next(chosen.itertuples()), facts, point)
    if not len(good):
        return "No number here may be used: the chains did not converge."
    counts = good[good["type"] == "count"]
    first = counts.loc[[counts["mean"].idxmax()]] if len(counts) else good.head(1)
    return sentence(next(first.itertuples()), facts, point)


def noise_part(point: Facts) -> str:
    """How much of the uncertainty about a rate is noise; empty where it is not known."""
    parts = point.get("noise_part_of_rate_variance") or {}
    label = next(iter(point.get("among_labels") or parts), "")
    if label not in parts:
        return ""
    name, _ = _named(label, point)
    return (
        f"Of the variance of the rate of {name}, {percent(float(parts[label]), 0)} is noise; the rest would remain if "
        "the file were known, because it is taken to be a sample."
    )


def assumed(facts: Facts, point: Facts) -> list[str]:
    """What is taken for granted, in sentences."""
    own = import_module(f"{__package__}.{facts['kind']}.rules")
    found = [*_origin(facts, point), *own.assumed(point)]
    if prior := point.get("prior"):
        found.append(f"Beforehand: {getattr(own, 'prior_in_words', prior_words)(prior)}.")
    if cost := cost_words(point):
        found.append(cost)
    return found


def _origin(facts: Facts, point: Facts) -> Iterator[str]:
    if point.get("origin") == "rehearsal":
        yield "This is a rehearsal with made-up numbers: anyone can repeat its noise, and it is no release."
    elif facts.get("release"):
        yield f"The numbers are those of release {point.get('release')}, generation {point.get('generation')}."
    else:
        yield "The numbers are public already, as the configuration states them."


def prior_words(prior: Any) -> str:
    """A prior in words."""
    if not isinstance(prior, Mapping):
        return str(prior)
    if prior.get("law") == "Dirichlet" and "concentration" in prior:
        listed_ = prior["concentration"]
        alike = len(set(listed_)) == 1
        size = f"{listed_[0]:g} for each" if alike else ", ".join(f"{a:g}" for a in listed_[:12])
        return f"the rates have a Dirichlet law with concentration {size}" + (
            " (flat)" if set(listed_) == {1.0} else ""
        )
    rest = ", ".join(f"{key} {value}" for key, value in prior.items() if key != "law" and not isinstance(value, list))
    return f"{prior.get('law', 'as stated')}{f' ({rest})' if rest else ''}"


def cost_words(point: Facts) -> str:
    """What the release cost; empty where it is not stated."""
    cost = point.get("cost")
    if not isinstance(cost, Mapping) or not cost:
        return ""
    paid = ", ".join(f"{key} {value:g}" for key, value in cost.items() if isinstance(value, (int, float)))
    relation = point.get("neighbours") or cost.get("relation")
    return f"The release cost {paid}{f' (neighbours: {relation})' if relation else ''}."


def trust(point: Facts) -> list[str]:
    """How far to trust the answer."""
    found = []
    for state in point.get("accuracy", ()):
        rows = f"{state['rows']:,} of the numbers are" if state["rows"] > 1 else "One number is"
        why = f": {state['reason']}" if state["reason"] else ""
        found.append(f"{rows} {TRUST[state['status']]}{why}.")
    if check := point.get("fit"):
        text = str(check["sentence"])
        found.append(f"{text[0].upper()}{text[1:]}.")
    found += [*_by_level((point.get("tree") or {}).get("conflict") or ())]
    return [*found, *_conflict(point.get("conflict") or {}), *_decided(point.get("flat_beside") or {})]


def _by_level(levels: Sequence[Facts]) -> Iterator[str]:
    """Levels of a tree whose measurements lie further from all the rest than their noise explains."""
    for level in levels:
        seen, square = int(level["measurements"]), level["mean_square"]
        if seen and isinstance(square, float) and square > 1 + 6 * (2 / seen) ** 0.5:
            far = f"the mean square of {seen:,} residuals is {square:.3g}, 1 is expected"
            yield f"CONFLICT: at level {level['level']} {far}: check noise, parents, bounds, prior."


def _conflict(check: Facts) -> Iterator[str]:
    """Whether a release is what was to be expected beforehand."""
    if check.get("found"):
        some = listed([str(name) for name in check["names"]])
        more = f" and {check['counts'] - len(check['names'])} more" if check["counts"] > len(check["names"]) else ""
        least = (
            f"the least probable of {check['tested']:,} would be as far out with probability {check['smallest']:.1g}"
        )
        lie = "lies" if check["counts"] == 1 else "lie"
        far = f"{some}{more} {lie} too far from what was assumed ({least})"
        yield f"CONFLICT: {far}: check noise, bounds, total, prior."


def _decided(beside: Facts) -> Iterator[str]:
    """How many numbers the prior decided."""
    if beside.get("apart"):
        some = f"{beside['apart']:,} of {beside['of']:,} counts"
        yield f"For {some} a flat prior gives a mean more than half a standard deviation away: the comparison has it."


def _interval(row: Any, point: Facts) -> str:
    width = row.upper - row.lower
    if row.type == "count":
        low, high = count(row.lower), count(row.upper)
        whole = f" of {count(point['total'])}" if isinstance(point.get("total"), int) else ""
        return f"exactly {low}{whole}" if low == high else f"between {low} and {high}{whole}"
    if row.type in ("share", "rate"):
        low, high = shares(row.lower, row.upper, width=width)
    else:
        low, high = real(row.lower, width), real(row.upper, width)
    return low if low == high else f"between {low} and {high}"


def _named(label: str, point: Facts) -> tuple[str, list[str]]:
    """Name of a quantity, and those among which it is a share."""
    labels = point.get("among_labels") or {}
    return (labels[label], list(point["among"])) if label in labels else (label, [])


def _meaning(name: str, facts: Facts) -> str:
    meanings: Mapping[str, str] = getattr(import_module(f"{__package__}.{facts['kind']}.rules"), "MEANINGS", {})
    return meanings.get(name, name)


def _question(row: Any, questions: Mapping[str, Any]) -> str:
    label = next((q for q in questions if row.quantity == q or row.quantity.startswith(f"{q}: ")), "")
    asked = questions.get(label) or {}
    if "probability" in asked:
        return f"{label}: {asked['probability']} holds with probability {percent(row.mean, 2)}."
    if row.mean == row.mean and row.lower != row.lower:  # a probability of a rank
        inside = row.quantity.removeprefix(f"{label}: ").removeprefix("P(").removesuffix(")")
        return f"{label}: {inside} has probability {percent(row.mean, 2)}."
    low, high = real(row.lower, row.upper - row.lower), real(row.upper, row.upper - row.lower)
    what = f"the rank of {row.quantity.removeprefix(f'{label}: ')}" if "rank" in asked else _asked(asked)
    return f"{label}: {what} is between {low} and {high}, with probability {percent(row.level)}."


def _asked(question: Mapping[str, Any]) -> str:
    def side(names: Any) -> str:
        return names if isinstance(names, str) else listed([str(name) for name in names])

    noun = {"shares": "share", "rates": "rate"}.get(str(question.get("about")), "count")
    if "sum" in question:
        return f"the {noun} of {side(question['sum'])} together"
    if "difference" in question:
        first, second = question["difference"]
        return f"the {noun} of {side(first)} less that of {side(second)}"
    if "ratio" in question:
        first, second = question["ratio"]
        return f"the {noun} of {side(first)} divided by that of {side(second)}"
    if "share" in question:
        return f"the share of {side(question['share']['of'])} among {side(question['share']['among'])}"
    return "the answer"


MOST_DIGITS = 4


def count(value: float) -> str:
    """A whole number, or a mean of whole numbers with one decimal."""
    if not isfinite(value):
        return "no bound"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def percent(value: float, digits: int = 1) -> str:
    """A share in per cent; never 0 % or 100 % unless it is.

    Parameters
    ----------
    value : in [0, 1].
    digits : after the point.
    """
    least = 10.0**-digits
    if 0 < value < least / 200:
        return f"less than {least:.{digits}f} %"
    if 1 - least / 200 < value < 1:
        return f"more than {100 - least:.{digits}f} %"
    text = f"{100 * value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def digits_of(width: float) -> int:
    """Decimals of a per cent that an interval of this width (of a share) makes worth: two digits of the width."""
    if not isfinite(width) or width <= 0:
        return 1
    return int(min(max(1 - floor(log10(100 * width)), 0), MOST_DIGITS))


def shares(*values: float, width: float) -> list[str]:
    """Shares of one sentence with the same number of decimals."""
    return [percent(value, max(digits_of(width), 1)) for value in values]


def real(value: float, width: float) -> str:
    """A parameter, with two digits of its interval's width."""
    if not isfinite(value):
        return "no bound"
    if not isfinite(width) or width <= 0:
        return f"{value:.4g}"
    decimals = int(min(max(1 - floor(log10(width)), 0), 12))
    return f"{value:,.{decimals}f}"


def listed(names: list[str], word: str = "and") -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}" if names else ""
