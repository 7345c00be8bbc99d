"""Write a self-contained HTML page about a scenario, as a single file of at most 400 kB that can be shared. The page
needs neither network access nor scripts.
"""

import base64
import gzip
import io
import os
import re
import warnings
from collections.abc import Collection, Mapping
from math import ceil, exp, floor, log, log10
from pathlib import Path
from typing import Any

import matplotlib as mpl
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from dpmultinomial._files import places
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._releases import checks
from dpmultinomial._releases.spending import (
    ADD_OR_REMOVE,
    COUNTED,
    EXCHANGE,
    REPLACE,
    Cost,
    amount,
    loss_bound,
    of_ceiling,
)

from .. import style
from . import figure
from .making import Files
from .sentences import paid_texts, percent, replaced_text
from .summary import Summary, by_point, noise_in_file, summarise

_GAUSSIAN, _DELTA = ("gaussian", "discrete_gaussian"), 1e-6
_WEAK = 5  # value of epsilon above which the page calls a guarantee weak
# maximum number of rows of a table that is shown in full, and number of rows that are shown of a longer table
_SHORT, _ROWS = 60, 30
_PACKED = 60_000  # size of a CSV file in bytes above which it is compressed
LARGEST = 400_000  # maximum size of a page in bytes
_TEMPLATE = Path(__file__).with_name("page.html")


def write(files: Files, path: str | Path, *, budgets: Mapping[str, Mapping[str, float]] | None = None) -> Summary:
    """Write the HTML page of a scenario, and return a summary with the content of the page.

    Parameters
    ----------
    files : files with the results of the scenario.
    path : path of the page; its folder is created.
    budgets : dictionary from each source to the privacy budget of all its releases, from which the page states how much
        of the budget this release used.

    Returns
    -------
    Summary
        Content of the page.

    Raises
    ------
    ValueError
        If the page would be larger than 400 kB.
    """
    summary = summarise(files)
    if len(summary.lines) > _SHORT:
        summary = summarise(files, most=_ROWS)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    # names are already escaped in the SVG
    about: dict[str, Any] = {"svg": Markup(_svg(files)), "protected": protected(summary, budgets or {})}
    about["settings"] = {key: summary.facts["settings"].get(key, "") for key in ("title", "source", "date")}
    raw = files.csv.read_bytes()
    packed = len(raw) > _PACKED
    csv = base64.b64encode(gzip.compress(raw, mtime=0) if packed else raw).decode("ascii")
    content = template.render(summary=summary, csv=csv, packed=packed, **about).encode()
    if len(content) > LARGEST:  # the CSV file of the results contains the whole table
        content = template.render(summary=summary, csv="", packed=packed, **about).encode()
    if len(content) > LARGEST:
        raise ValueError(f"{path}: the page must have at most {LARGEST:,} bytes, got {len(content):,}")
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    making = places.draft(target)
    making.write_bytes(content)
    os.replace(making, target)
    return summary


def protected(found: Summary, budgets: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return sentences that state how a release is protected, its privacy cost, and the budget to which the cost was
    charged.
    """
    if found.form == "batch":
        return _protected_tables(found.facts["settings"], found.facts["kind"], found.facts.get("columns", ()))
    points = found.facts.get("points", [{}])
    return by_point(points, [_protected(point, budgets) for point in points])


def _protected_tables(settings: Mapping[str, Any], kind: str, columns: Collection[str] = ()) -> list[str]:
    """Return sentences that state how the tables of a batch are protected, according to the settings."""
    if kind == "swapped_table":
        return [
            "The margins of each table are published exactly and are not protected.",
            "The epsilon for an exchange of two records' swapped values is not stated for a batch.",
        ]
    noise = settings.get("noise")
    given = noise if isinstance(noise, Mapping) else {} if noise else settings
    unit = next((key for key in ("epsilon", "rho") if given.get(key) is not None), "")
    if unit:
        twice = " for the total and again for the counts" if kind == "additive_counts" else ""
        stated = f"The noise of each table is that of {unit} = {given[unit]:.12g}{twice}, as stated in the settings."
    elif not noise and (in_file := noise_in_file(kind, settings, columns)):
        stated = in_file
    else:
        return _protected({"noise": {"law": noise} if isinstance(noise, str) else noise}, {})
    guarantee = _guarantee_of_a_table(settings, kind, columns) if unit else []
    return [
        stated,
        *guarantee,
        "If a person is counted in several tables, the costs of these tables add up.",
    ]


def _guarantee_of_a_table(settings: Mapping[str, Any], kind: str, columns: Collection[str]) -> list[str]:
    """Return a sentence that explains the privacy guarantee of one table of a batch, from the epsilon or the rho in the
    settings. The list is empty if the neighbouring relation is not known.
    """
    from .noisy_counts.answer import spent_of  # only such a batch needs these imports

    if kind == "additive_counts":
        from dpmultinomial._mechanisms.additive_counts import AdditiveCounts

        law = AdditiveCounts(epsilon=settings["epsilon"], support=settings.get("support"))
        cost: dict[str, Any] = vars(law.cost(ADD_OR_REMOVE))
    else:  # if the total is public, only the replacement of a record is protected
        cost = spent_of({**settings, "total": 0} if "total" in columns else settings)
    if "relation" not in cost:
        return []
    paid = Cost(relation=cost["relation"], **{key: cost[key] for key in ("epsilon", "rho") if key in cost})
    sentence = _guarantee(paid, paid.relation, float(cost.get("delta", 0.0)))
    return [f"For a single table: {sentence[0].lower()}{sentence[1:]}"]


def _protected(point: Mapping[str, Any], budgets: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return sentences that state how the records in a release are protected, for one point of a grid of settings."""
    cost = point.get("cost")
    if point.get("origin") == "rehearsal":
        return ["No data were protected: this is a rehearsal with invented data."]
    if not isinstance(cost, Mapping) or not cost:
        if protects := point.get("protects"):
            epsilon = float(protects["epsilon_of_an_exchange"])
            guarantee = [_guarantee(Cost(relation=EXCHANGE, epsilon=epsilon), EXCHANGE)] if epsilon > 0 else []
            return [*_exchanged(f"epsilon = {amount(epsilon)}"), *guarantee]
        noise = point.get("noise") or {}
        if noise.get("law") == "exact" or "fixed" in noise:
            return ["No noise was added to the counts, so there is no guarantee of differential privacy."]
        if noise.get("law") == "random_rounding":
            change = f"Rounding at random changes a count by less than {noise['base']:g}"
            return [f"{change}, so there is no guarantee of differential privacy."]
        return ["The privacy cost of the published numbers is not stated."]
    relation = str(cost.get("relation") or "")
    stated = {key: float(cost[key]) for key in ("epsilon", "rho", "order") if key in cost}
    delta = {"delta": float(cost["delta"])} if "delta" in cost else {}
    paid = " and ".join(paid_texts({**stated, **delta}))
    asked = Cost(relation=relation or REPLACE, **stated)
    more = replaced_text({**stated, **delta}, relation, point.get("cost_to_replace"))
    sentences = [f"Individual records were protected with {paid}{f' ({relation}{more})' if relation else ''}."]
    if relation == EXCHANGE:
        sentences = _exchanged(paid)
    sentences.append(_guarantee(asked, relation, delta.get("delta", 0.0)))
    sentences += composed(point.get("noise"), asked)
    source = str(point.get("source", ""))
    ceiling = checks.limits(budgets, source) or point.get("ceiling") or {}
    counted = checks.sources(budgets, source)
    counted = counted if len(counted) > 1 else list(point.get("budget_sources") or counted)
    if source and isinstance(ceiling, Mapping) and (part := of_ceiling(asked, ceiling)):
        sentences.append(f"Of the budget of {source}, this release used {part}.")
        if relation == ADD_OR_REMOVE and {"epsilon", "rho"} & set(ceiling):
            sentences.append(COUNTED)
        others = ", ".join(counted)
        sentences.append(
            f"The budget covers the releases from the sources {others}, which have the same people."
            if len(counted) > 1
            else f"The budget covers the releases from {source} only."
        )
    return sentences


def _exchanged(paid: str) -> list[str]:
    """Return sentences that state what a swap protects, and what it does not protect."""
    return [
        f"An exchange of two records' swapped values is protected with {paid}.",
        "The margins of the table are published exactly and are not protected.",
    ]


def composed(noise: Any, cost: Cost) -> list[str]:
    """Return a sentence that states the epsilon computed from the privacy loss distribution of the noise. The sentence
    is shown next to the stated cost in rho.

    Parameters
    ----------
    noise : settings of the noise distribution.
    cost : stated cost; the result is empty unless this cost is the rho of the noise on disjoint counts.

    Returns
    -------
    list of str
        Empty, or one sentence.
    """
    if cost.rho is None or not isinstance(noise, Mapping) or noise.get("law") not in _GAUSSIAN:
        return []
    try:
        exact: Any = law_of(dict(noise)).cost(cost.relation)
    except (ValueError, TypeError):  # the noise differs between counts, or the neighbouring relation has no default
        return []
    if abs(exact.rho - cost.rho) > 1e-9 * cost.rho:
        return []
    claim = f"(epsilon, delta)-differentially private with epsilon = {amount(exact.dp(_DELTA))} at delta = {_DELTA:g}"
    return [f"By its exact loss distribution, this release alone is {claim}; budgets count rho."]


def _guarantee(cost: Cost, relation: str, delta: float = 0.0) -> str:
    """Return a sentence that explains the privacy guarantee in terms of an attacker who tries to learn about one
    record. A pure cost may have a delta, the probability of a release that rules out the neighbouring file.
    """
    epsilon, exceptional = loss_bound(cost)
    exceptional = exceptional or delta
    odds = rounded_up(exp(epsilon)) if epsilon < 30 else f"10^{ceil(epsilon / log(10) * _EXACT)}"
    digits = 1 if epsilon < 4 else 4
    probability = 1 / (1 + exp(-epsilon))
    upper = ceil(probability * 10 ** (digits + 2) * _EXACT) / 10 ** (digits + 2)
    sure = percent(1 - 1e-9 if upper == 1 else upper, digits)
    files = f"differ by one step ({relation})" if relation else "differ by one step"
    rarely = f" (with probability at most {amount(exceptional)}, the reader may learn more)" if exceptional else ""
    weak = f" Above epsilon = {_WEAK}, this is a weak guarantee." if epsilon > _WEAK else ""
    if weak and exceptional:  # the bound is not the stated cost
        weak = f" This is a bound of {rounded_up(epsilon)} on the privacy loss; above {_WEAK}, a guarantee is weak."
    return (
        f"A reader who considers two files that {files} equally likely can become at most {odds} : 1 ({sure}) sure of "
        f"the true one{rarely}.{weak}"
    )


_EXACT = 1 - 1e-14  # a number that exceeds a printed number by less than this factor is not rounded upwards


def rounded_up(value: float) -> str:
    """Return an upper bound that is >= 1 as text, rounded upwards. The text has three digits, or all digits of the
    integer part if the integer part has more than three digits. An excess of less than 1e-14 of the value, which may be
    due to rounding errors, is ignored.
    """
    decimals = max(2 - floor(log10(value)), 0)
    return f"{ceil(value * 10**decimals * _EXACT) / 10**decimals:,.{decimals}f}"


def _svg(files: Files) -> str:
    """Return the figure of a scenario as an SVG element, in which text is stored as characters and is displayed in the
    reader's fonts.
    """
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "page"}
    with warnings.catch_warnings(), style.applied(), mpl.rc_context(settings):
        drawing = figure.drawn(files, fonts_of="reader")
        stream = io.StringIO()
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # the reader's fonts contain these characters
        drawing.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    # the bars of an interval and its marks have the same id
    text = re.sub(r' id="interval-\d+"', "", text[text.index("<svg") :])
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg ", '<svg role="img" aria-label="means and intervals" ', 1)
