"""Summary of the results of a scenario for a page or for the terminal. The summary consists of sentences and formatted
rows from the files of the results; the text has the main result, the first rows of the table, the assumptions, and the
accuracy.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import isinf
from typing import Any

import pandas as pd

from dpmultinomial._mechanisms.law_settings import law_of

from . import batch, making, sentences
from .case import CONFIDENCE
from .making import Files
from .noisy_counts.rules import FEWEST
from .sentences import real, shares
from .swapped_table.rules import about_population, selection_repeated

MOST_SENTENCES = 6  # maximum number of sentences on a page; the table has a row for every quantity
MOST_ROWS = 400  # maximum number of rows in the table of a page
# maximum number of rows of a table in which the rows keep their order; in a longer table, answers to questions come
# first
_GLANCE = 24
_PART = 20  # maximum number of reasons that are shown for rejected tables
_POINTS = 6  # points of a grid whose assumptions are stated
_TINY = 1e-9  # a smaller standard deviation of a least-squares estimate is shown as a power of 10
_WARNING = r"(With [^:]*: |At each point: )?(CONFLICT|WARNING)"


@dataclass(frozen=True)
class Line:
    """Row of a table of results, formatted for a page or for the terminal.

    Parameters
    ----------
    key : point of a grid, table of a batch, or analysis of a comparison; empty for a single case.
    quantity, noun, released, mean, interval, state : formatted cells of the row.
    least_squares : formatted least-squares estimate with its standard deviation; empty if there is no estimate.
    confidence : formatted confidence interval; empty if there is none.
    usable : False if the Markov chain did not converge.
    """

    key: str
    quantity: str
    noun: str
    released: str
    mean: str
    interval: str
    state: str
    usable: bool
    least_squares: str = ""
    confidence: str = ""


@dataclass(frozen=True)
class Summary:
    """Summary of the results of a scenario, which consists of sentences and formatted rows.

    Parameters
    ----------
    name, kind, form : name, kind and form of the scenario.
    headline : sentence with the main result.
    sentences : sentences with further results.
    lines, more : rows of the table, and the number of rows that are omitted.
    level : formatted probability of the intervals.
    assumptions, accuracy, limitations : sentences about these subjects.
    comparison : rows that are shown only for comparison.
    release : folder of the release; empty if there is none.
    facts : metadata from the JSON file of the scenario.
    """

    name: str
    kind: str
    form: str
    headline: str
    sentences: Sequence[str]
    lines: Sequence[Line]
    more: int
    level: str
    assumptions: Sequence[str]
    accuracy: Sequence[str]
    limitations: Sequence[str]
    comparison: Sequence[Line]
    release: str
    facts: dict[str, Any]

    @property
    def about_intervals(self) -> str:
        """Return a sentence that states the kind of the intervals."""
        scores = all(sentences.simulated(self.facts, point) for point in self.facts.get("points", [{}]))
        kind = f"{self.level} t intervals for the mean over the simulated releases"
        return f"Intervals are {kind if scores else f'central {self.level} credible intervals'}."

    @property
    def rest(self) -> str:
        """Return the number of rows that are omitted, such as ``1 more row is``."""
        return f"{self.more:,} more {'row is' if self.more == 1 else 'rows are'}"

    @property
    def unusable(self) -> bool:
        """Return whether a Markov chain did not converge, also if its rows are not shown."""
        states = {state["status"] for point in self.facts.get("points", ()) for state in point.get("accuracy", ())}
        return "not converged" in states | set(self.facts.get("tables", {}).get("statuses", ()))

    @property
    def warnings(self) -> list[str]:
        """Return the sentences in `accuracy` that are warnings. The warnings are about conflicts between the release
        and its model, and about priors that were fitted to too few counts.
        """
        return [text for text in self.accuracy if re.match(_WARNING, text)]


def summarise(files: Files, *, most: int = MOST_ROWS) -> Summary:
    """Return the summary of a scenario, computed from the files of its results.

    Parameters
    ----------
    files : files of a scenario of any kind.
    most : maximum number of rows, besides answers to questions. If there are more rows, those with the largest means
        are returned.
    """
    facts = making.facts_of(files)
    return _batch(files, facts) if facts["form"] == "batch" else _points(files, most)


def _points(files: Files, most: int) -> Summary:
    rows, comparison, facts = making.read(files)
    points = facts["points"]
    keys = list(points[0]["at"])
    place = _places(rows, keys)  # position of the grid point of each row
    first = rows[place == 0]
    several = [f"The scenario has {len(points)} points: {_listed(points)}."] if len(points) > 1 else []
    condition = f"With {_at(points[0]['at'])}: " if keys else ""
    sentences_shown = [
        condition + sentences.sentence(row, facts, points[0])
        for row in _asked_first(first).head(MOST_SENTENCES).itertuples()
    ]
    shown = _asked_first(rows) if len(rows) > _GLANCE else rows
    if len(shown) > most:
        asked, rest = shown[shown["type"] == "question"], shown[shown["type"] != "question"]
        rest = rest.sort_values("mean", ascending=False, kind="stable") if most < MOST_ROWS else rest
        shown = pd.concat([asked.head(most), rest.head(most)])
    size = len(rows) + sum(point.get("rows_left_out", 0) for point in points)
    part = sentences.noise_part(points[0])
    level = sentences.as_stated(facts["settings"]["level"])
    unit = {key: points[0][key] for key in ("rate_unit", "exposure_column") if "rate_unit" in points[0]}
    other = comparison.head(MOST_ROWS).to_dict("records")
    return Summary(
        name=facts["scenario"],
        kind=facts["kind"],
        form=facts["form"],
        headline=condition + sentences.headline(first, facts, points[0]),
        sentences=[*several, *([condition + part] if part else []), *sentences_shown],
        lines=[
            _line(row, keys, facts, points[i])
            for row, i in zip(shown.to_dict("records"), place[shown.index], strict=True)
        ],
        more=size - len(shown),
        level=level,
        assumptions=by_point(points, [sentences.assumptions(facts, point) for point in points]),
        accuracy=by_point(points, [sentences.accuracy(point) for point in points], "At each point: "),
        limitations=list(sentences.LIMITATIONS),
        comparison=[_line(row, [*keys, "analysis"], {"kind": ""}, unit) for row in other],
        release=facts["release"],
        facts=facts,
    )


def _places(rows: pd.DataFrame, keys: Sequence[str]) -> "pd.Series[int]":
    """Return the position of the grid point of each row. The rows of a point are consecutive."""
    begins = (rows[list(keys)] != rows[list(keys)].shift()).any(axis=1)
    return begins.cumsum() - int(bool(keys))


def _asked_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the result rows with the answers to questions first."""
    asked = rows["type"] == "question"
    return pd.concat([rows[asked], rows[~asked]])


def _batch(files: Files, facts: dict[str, Any]) -> Summary:
    tables = facts["tables"]
    rows = pd.concat([part for part, _ in zip(batch.read(files.csv), range(1), strict=False)]).head(MOST_ROWS)
    statuses = {status: n for status, n in tables["statuses"].items() if not status.startswith(batch.REFUSED)}
    refused = {s.removeprefix(batch.REFUSED): n for s, n in tables["statuses"].items() if s.startswith(batch.REFUSED)}
    found = _whole(files, facts)
    point = _unit(facts) | {"released_counts": facts["kind"] == "noisy_counts"}
    # without a total, a mistake in a count does not affect the other counts of its table
    part = facts["kind"] == "noisy_counts" and tables["refused"] > 0 and not {"total", "epsilon"} & _columns(facts)
    whole, partly = (" completely", ", in whole or in part") if part else ("", "")
    of_all = " completely analysed" if part else ""  # the other numbers of the remaining tables are not counted
    numbers = f"{tables['all'] - tables['refused']:,} of {tables['all']:,}"
    return Summary(
        name=facts["scenario"],
        kind=facts["kind"],
        form="batch",
        headline=f"Tables analysed{whole}: {numbers}; rejected{partly}: {tables['refused']:,}.",
        sentences=_reasons(refused, partly),
        lines=[_line_of_table(row, facts["kind"], point) for row in rows.to_dict("records")],
        more=found.rows - len(rows),
        level=sentences.as_stated(facts["settings"]["level"]),
        assumptions=["Each table is analysed with the same settings.", *_assumed(facts, found)],
        accuracy=[
            *(
                f"The numbers of {n:,}{of_all} table{'s' * (n > 1)} are {_STATUS_TEXT[status]}."
                for status, n in statuses.items()
            ),
            *_few_areas(facts["kind"], statuses),
            *_sure(facts["settings"].get("confidence"), found.intervals),
            *_without_shares(facts, tables["all"] - tables["refused"] - found.shares),
            *sentences.warnings_of(tables),
        ],
        limitations=["The intervals are not adjusted for the number of tables.", *sentences.LIMITATIONS],
        comparison=[],
        release="",
        facts=facts,
    )


@dataclass(frozen=True)
class _Found:
    """Properties of all rows of a batch.

    Parameters
    ----------
    rows : number of rows.
    limits : whether a count was analysed for which no number was published.
    types, intervals : types of the analysed rows, and of the rows with confidence intervals.
    shares : number of tables with shares.
    """

    rows: int
    limits: bool
    types: set[str]
    intervals: set[str]
    shares: int


def _whole(files: Files, facts: sentences.Facts) -> _Found:
    """Return the properties of all rows of a batch, of which the summary contains the first rows."""
    sure = CONFIDENCE[0]
    columns = ["table", "type", "released", "status", *([sure] if facts["settings"].get("confidence") else [])]
    size, limits, types, intervals, released = 0, False, set[str](), set[str](), ""
    shares, last = 0, ""  # the rows of a table are consecutive, but a block can end within a table
    for rows in batch.read(files.csv, columns):
        size += len(rows)
        analysed = rows[~rows["status"].str.startswith(batch.REFUSED)]
        released = released or "".join(analysed["type"].iloc[:1])  # the rows of other types have no released value
        limits |= bool(analysed.loc[analysed["type"] == released, "released"].isna().any())
        types |= set(analysed["type"])
        if len(tables := analysed.loc[analysed["type"] == "share", "table"]):
            shares += int((tables != tables.shift(fill_value=last)).sum())
            last = tables.iloc[-1]
        intervals |= set(rows.loc[rows[sure].notna(), "type"]) if sure in rows else set()
    return _Found(size, limits, types, intervals, shares)


def _reasons(refused: Mapping[str, int], partly: str) -> list[str]:
    """Return sentences that state the most frequent reasons for rejected rows, with the number of tables for which each
    reason was found, and the number of further reasons.

    Parameters
    ----------
    refused : numbers of tables by reason.
    partly : words after "Rejected" if parts of a table can be rejected.
    """
    rest = len(refused) - _PART
    more = [f"The column status contains {rest:,} more reason{'s' * (rest > 1)}."] if rest > 0 else []
    first = list(refused.items())[:_PART]
    return [*(f"Rejected{partly}, {n:,} table{'s' * (n > 1)}: {reason}." for reason, n in first), *more]


_UNKNOWN = "see the column error; the error is unknown if this column is empty"
_STATUS_TEXT = {**sentences.STATUS_TEXT, "approximate": f"approximate ({_UNKNOWN})"}


def _line_of_table(row: dict[Any, Any], kind: str, point: sentences.Facts) -> Line:
    """Return a row of a batch, in which a cell of the released values is empty only if there is no such value."""
    line = _line(row, ["table"], {"kind": ""}, point)
    published = (kind, line.noun) in sentences.PUBLISHED
    return replace(line, released="no number") if published and not line.released else line


def _few_areas(kind: str, statuses: Mapping[str, int]) -> list[str]:
    """Return a sentence about the accuracy of the rates in tables with few areas. The list is empty for other kinds."""
    if kind != "protected_rates" or "approximate" not in statuses:
        return []
    from dpmultinomial._inference.rates import COVERAGE, FEW_AREAS  # only such a batch needs this import

    return [
        f"In a table with fewer than {FEW_AREAS} areas, intervals may be too short ({COVERAGE} for {FEW_AREAS} areas)."
    ]


def _without_shares(facts: sentences.Facts, number: int) -> list[str]:
    """Return a sentence that states why the shares of some tables are omitted.

    Parameters
    ----------
    facts : metadata of the batch.
    number : number of analysed tables without shares.
    """
    settings = facts["settings"]
    known = facts["kind"] == "noisy_counts" and "total" in _columns(facts) and settings.get("about") != "rates"
    if not number or not known:
        return []
    where, why = ("1 table", "its total is") if number == 1 else (f"{number:,} tables", "their totals are")
    return [f"Omitted in {where}: shares of the file, because {why} 0."]


def _sure(level: float | None, types: Collection[str]) -> list[str]:
    """Return sentences that explain the confidence intervals of a batch, without the number of empty intervals.

    Parameters
    ----------
    level : confidence level; None if no intervals were requested.
    types : types of the rows with confidence intervals.
    """
    if not level:
        return []
    if not types:  # for example, all tables were rejected
        return [f"No {sentences.as_stated(level)} confidence interval is stated."]
    explained = import_module(f"{__package__}.noisy_counts.without_prior").sentence
    value = "count or rate" if "rate" in types else "count"
    empty = f"If no {value} fits at this level, the interval contains only the nearest {value} (see {CONFIDENCE[2]})."
    rows = pd.DataFrame({"type": [*types], CONFIDENCE[0]: 0.0, CONFIDENCE[2]: ""})
    return [explained(level, rows), empty]


def by_point(points: Sequence[dict[str, Any]], texts: Sequence[Sequence[str]], each: str = "") -> list[str]:
    """Return sentences about all points of a grid of settings, in which equal sentences are stated only once. Sentences
    that hold at all points are returned once, and all others with their point.

    Parameters
    ----------
    points : facts of the points.
    texts : sentences about each point.
    each : words in front of a sentence that holds for all of several points.
    """
    if len(points) == 1:
        return list(texts[0])
    common = set(texts[0]).intersection(*texts)
    lines = [each + text for text in texts[0] if text in common]
    for point, point_texts in list(zip(points, texts, strict=True))[:_POINTS]:
        lines += [f"With {_at(point['at'])}: {text}" for text in point_texts if text not in common]
    if len(points) > _POINTS and any(set(point_texts) - common for point_texts in texts):
        rest = len(points) - _POINTS
        lines.append(f"The JSON file describes {rest} more point{'s' * (rest > 1)}.")
    return lines


def _unit(facts: sentences.Facts) -> dict[str, Any]:
    """Return the unit of the rates in a batch, and the column with the exposures, as entries of the metadata. There is
    no unit if the rates are probabilities.
    """
    settings = facts["settings"]
    if facts["kind"] != "protected_rates":
        return {}
    exposure = {"exposure_column": settings["exposure"]}
    if settings.get("family") == "shares":
        return exposure
    rules = import_module(f"{__package__}.{facts['kind']}.rules")
    return {"rate_unit": rules.unit(settings["per"], settings["exposure"]), **exposure}


def noise_in_file(kind: str, settings: Mapping[str, Any], columns: Collection[str]) -> str:
    """Return a sentence about the noise of the tables of a batch, if a column of the file states the noise. The text is
    empty for kinds without such a column.

    Parameters
    ----------
    kind, settings : kind and settings of the batch; the settings state no noise.
    columns : names of the columns of the file.
    """
    if kind not in ("noisy_counts", "additive_counts"):
        return ""
    if kind == "noisy_counts" and "epsilon" not in columns:
        return "The noise of each count has the scale in the column scale of the file."
    change = f" and sensitivity {settings.get('sensitivity', 2.0):.12g}" if kind == "noisy_counts" else ""
    return f"The noise of each table is that of the epsilon in the column epsilon of the file{change}."


_DEFAULT = "It is Laplace noise, which is discrete in a table whose values are all integers."


def _assumed(facts: sentences.Facts, found: _Found) -> list[str]:
    """Return the assumptions in the settings of a batch, which apply to all tables of the batch.

    Parameters
    ----------
    facts : metadata of the batch.
    found : properties of the rows of the batch.
    """
    settings: Mapping[str, Any] = facts["settings"]
    lines = list(sentences.read_as(facts))
    lines += [sentences.absent_of_tables(settings["absent"])] if settings.get("absent") else []
    noise = settings.get("noise")
    rules = import_module(f"{__package__}.{facts['kind']}.rules")
    if noise:
        words = {"law": noise} if isinstance(noise, str) else dict(noise)
        if {"epsilon", "rho", "variance"} & set(words):  # the scale is stated, as for a single table
            words = law_of(words).settings()
        same_limit = "threshold" in words
        if words["law"] != "exact" and "withheld" in settings:
            words = {"threshold": settings["withheld"]["below"], **words}
        lines += [rules.noise_sentence(words)] if facts["kind"] == "protected_rates" else rules.noise_sentences(words)
        if words["law"] != "exact" and "threshold" not in words and found.limits:
            lines.append("If a cell contains a limit such as <10, the noisy value was withheld below this limit.")
        elif words["law"] != "exact" and not same_limit and found.limits:
            lines.append(
                "If a cell contains another limit, the noisy values of its table were withheld below that limit."
            )
    if facts["kind"] == "protected_rates":
        stated = (settings.get("family", "rates"), settings.get("covariates", []), settings.get("per"))
        lines += rules.model_sentences(*stated, settings["exposure"])
    if facts["kind"] == "additive_counts":
        lines.append(rules.assumed_of_tables(settings, _columns(facts)))
    elif settings.get("epsilon") is not None and not noise:
        change = f"sensitivity {settings.get('sensitivity', 2.0):.12g}"
        lines += [f"The noise is that of epsilon = {settings['epsilon']:.12g} and {change}.", _DEFAULT]
    elif not noise and (in_file := noise_in_file(facts["kind"], settings, _columns(facts))):
        lines += [in_file, *([_DEFAULT] if facts["kind"] == "noisy_counts" else [])]
    if bounds := facts["kind"] == "noisy_counts" and rules.limits_text(settings.get("bounds") or {}):
        lines.append(bounds)
    if facts["kind"] == "noisy_counts":
        lines += rules.of_tables(settings, known="total" in _columns(facts))
    if (rate := settings.get("rate")) is not None or facts["kind"] == "swapped_table":
        chance = "the probability in the column rate" if rate is None else f"probability {sentences.as_stated(rate)}"
        repeated = selection_repeated("of a table ", " in this table")
        lines.append(
            f"Each record was selected for swapping with {chance}; {repeated}. The margins of each table are those of "
            "the original records, and there is no other noise."
        )
        lines += about_population({f"{kind}s" for kind in found.types})
    if text := _prior_of_batch(facts["kind"], settings, _columns(facts)):
        lines.append(f"Prior: {text}.")
    return lines


def _columns(facts: sentences.Facts) -> set[str]:
    """Return the names of the columns of the file of a batch, and ``total`` if the settings state a total."""
    return {*facts.get("columns", ()), *(["total"] if facts["settings"].get("total") is not None else [])}


def _prior_of_batch(kind: str, settings: Mapping[str, Any], columns: Collection[str]) -> str:
    """Return a description of the prior that applies to all tables of a batch. The text is empty if the kind has no
    such prior.
    """
    prior = settings.get("prior")
    if kind == "protected_rates":  # the prior is the same for all tables
        from dpmultinomial._inference.regression import Regression  # only such a batch needs this import

        empty = dict.fromkeys(settings.get("covariates", ()), ())
        regression = Regression((), empty, settings.get("family", "rates"))
        return str(import_module(f"{__package__}.{kind}.rules").prior_text(regression.settings()))
    if kind == "noisy_counts" and "total" not in columns:  # a fitted prior is usually fitted to all tables
        several = "each group in all tables" if "group" in columns else "all tables"
        fitted = f"fitted to the counts of {'each table' if 'epsilon' in columns else several}"
        if prior is None and (settings.get("bounds") or {}).get("lower", 0) < 0:
            return "flat on the counts"
        if prior is None:
            return f"{fitted}; weight 1/(1 + n) if there are fewer than {FEWEST} or the fit is too uncertain"
        return fitted if prior in ("fitted", {"law": "fitted"}) else _plain_prior(kind, prior)
    if kind in ("swapped_table", "noisy_counts"):
        number = {"flat": 1.0, "jeffreys": 0.5, "None": 0.5}.get(str(prior), prior)
        if isinstance(number, (int, float)):
            return sentences.prior_text({"law": "Dirichlet", "concentration": [float(number)]})
    if isinstance(prior, (int, float)):
        return f"Dirichlet-multinomial with concentration {prior:g} for each"
    return "" if prior is None else _plain_prior(kind, prior)


def _plain_prior(kind: str, prior: Any) -> str:
    """Return a description of a prior in the settings of a batch. The counts of a table with noise can have a prior for
    each group.
    """
    words = {"law": prior} if isinstance(prior, str) else prior
    if kind != "noisy_counts":
        return sentences.prior_text(words)
    if isinstance(words, list):
        words = {"law": "multinomial", "alpha": words}
    if "law" not in words:
        return "; ".join(f"{group}: {_plain_prior(kind, part)}" for group, part in words.items())
    if words["law"] == "fitted":
        return "fitted to the counts of the group in all tables"
    if words["law"] == "multinomial":
        alpha = words.get("alpha", 1.0)
        return sentences.prior_text(
            {"law": "Dirichlet", "concentration": alpha if isinstance(alpha, list) else [alpha]}
        )
    known = words["law"] == "table"
    return sentences.prior_of_counts({**words, "counts": len(words["counts"])} if known else words)


def _listed(points: Sequence[dict[str, Any]]) -> str:
    keys = points[0]["at"]
    parts = [f"{key} {', '.join(dict.fromkeys(str(point['at'][key]) for point in points))}" for key in keys]
    return "; ".join(parts)


def _at(point: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.items())


def _line(row: dict[Any, Any], keys: Sequence[str], facts: sentences.Facts, point: sentences.Facts) -> Line:
    kind, width = str(row["type"]), float(row["upper"]) - float(row["lower"])
    questions = sentences.questions_of(facts)
    noun = sentences.NOUNS.get(kind, "")
    if kind == "question":
        noun = sentences.question_noun(str(row["quantity"]), questions)
    form = "per unit" if kind == "rate" and "rate_unit" in point else kind
    if noun in ("sum", "difference", "rank") and sentences.about_counts(str(row["quantity"]), questions):
        form = "count"
    elif noun == "share":
        form = "share"
    numbers = [_number(row[key], form, width, key) for key in ("released", "mean", "lower", "upper")]
    if noun == "ratio":
        numbers[2] = sentences.low_ratio(float(row["lower"]), width)
    if "exposure_column" in point or point.get("released_counts"):  # the quantity can be a rate
        numbers[0] = _number(row["released"], "count", width, "released")
    if kind == "question" and row["lower"] != row["lower"]:
        stated = float(row["mean"]), str(row["status"]), float(row["error"])
        numbers[1] = sentences.chance(*stated, sentences.can_be_certain(str(row["quantity"]), point))
    if not numbers[0]:
        numbers[0] = sentences.missing(kind, str(row["quantity"]), float("nan"), facts, point)
    key = ", ".join(f"{row[key]:.12g}" if isinstance(row[key], float) else str(row[key]) for key in keys)
    return Line(
        key=key,
        quantity=str(row["quantity"]),
        noun=noun,
        released=numbers[0],
        mean=numbers[1],
        interval=sentences.ends(numbers[2], numbers[3], "{} to {}") if numbers[2] and numbers[3] else "",
        state=str(row["status"]),
        usable=row["status"] != "not converged",
        least_squares=_least_squares(row),
        confidence=_confidence(row, form, width),
    )


def _least_squares(row: dict[Any, Any]) -> str:
    """Return the least-squares estimate in a table row with its standard deviation, as text. The text is empty if the
    row has no estimate.
    """
    estimate, sd = float(row.get("least_squares", "nan")), float(row.get("least_squares_sd", "nan"))
    if estimate != estimate or sd != sd:
        return ""
    if sd > _TINY:
        return f"{real(estimate, 2 * sd)} ± {real(sd, 2 * sd)}"
    # the estimate of a count without noise is an integer, of which all digits are shown
    return f"{sentences.count(round(estimate, 9))} ± {f'{sd:.2g}' if sd > 0 else '0'}"


def _confidence(row: dict[Any, Any], kind: str, width: float) -> str:
    """Return the confidence interval in a row of results as text, or an empty string if the row has no confidence
    interval.
    """
    low, high = (_number(row.get(key, "nan"), kind, width, "lower") for key in ("ci_lower", "ci_upper"))
    return sentences.ends(low, high, "{} to {}") if low and high else ""


def _number(value: Any, kind: str, width: float, key: str) -> str:
    number = float(value)
    if number != number:
        return ""
    if key == "mean" and isinf(number):
        return "infinite"
    if kind == "count":
        # more digits of a mean would be meaningless, given the width of the interval
        return sentences.count_mean(number, width if key == "mean" else 0.0)
    return shares(number, width=width)[0] if kind in ("share", "rate") else real(number, width)


SHOWN = 24  # maximum number of rows that are shown; the file contains all rows
_WIDEST = 60  # maximum width of a column that is used for alignment; a longer cell shifts the columns after it


def as_text(files: Files) -> str:
    """Return the text that summarises the results of a scenario in the terminal.

    Parameters
    ----------
    files : files with the results of the scenario. If the CSV file does not contain all rows, the text names the
        Parquet file that does.
    """
    summary, where = summarise(files), _where(files)
    reasons = summary.sentences if summary.form == "batch" else ()
    lines = [summary.headline, *summary.warnings, *reasons, "", *_rows(summary)]
    if (size := len(summary.lines) + summary.more) > SHOWN:
        lines.append(f".. {size - SHOWN:,} more {'row is' if size == SHOWN + 1 else 'rows are'} in {where}")
    accuracy = [text for text in summary.accuracy if text not in summary.warnings]
    other = f"; for comparison: {files.listed[-1]}" if summary.comparison else ""
    full = f"Full precision: {where}{other}; facts: {files.facts}"
    return "\n".join([*lines, "", *summary.assumptions, *accuracy, "", full])


def _where(files: Files) -> str:
    """Return the paths of the files that contain all rows of the results."""
    return ", ".join(map(str, making.large(files))) or str(files.csv)


def as_json(files: Files) -> str:
    """Return the results of a scenario as JSON text. The entry ``rows`` has the columns and rows of the CSV file (null
    for an empty cell); ``headline``, ``warnings``, ``assumptions`` and ``accuracy`` contain sentences, and the last
    entries are the names of the files.

    Parameters
    ----------
    files : files with the results of the scenario.
    """
    summary = summarise(files)
    table = pd.concat(list(batch.read(files.csv))) if summary.form == "batch" else making.read(files)[0]
    rows = table.astype(object).where(table.notna() & (table != ""), None).to_dict("records")
    texts = {"headline": summary.headline, "warnings": list(summary.warnings)}
    texts |= {"assumptions": list(summary.assumptions), "accuracy": list(summary.accuracy)}
    whole = {"scenario": summary.name, "rows": rows, **texts, "table": _where(files), "facts": str(files.facts)}
    return json.dumps(making.plain(whole), indent=1, ensure_ascii=False, allow_nan=False)


def _rows(found: Summary) -> list[str]:
    """Return the first rows of the table of results as lines of text. A column for the grid point or the table is added
    if the scenario has several, and a column for least squares is added if a row has such estimates.
    """
    head = ["quantity", "type", "released", "mean", f"{found.level} interval", "accuracy"]
    rows = [[line.quantity, line.noun, line.released, line.mean, line.interval, line.state] for line in found.lines]
    if any(line.least_squares for line in found.lines):
        head.insert(-1, "least squares")
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(-1, line.least_squares)
    if any(line.confidence for line in found.lines):
        head.insert(-1, "confidence interval")
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(-1, line.confidence)
    if any(line.key for line in found.lines):
        head.insert(0, "table" if found.form == "batch" else ", ".join(found.facts["points"][0]["at"]))
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(0, line.key)
    return table([head, *rows[:SHOWN]])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines of text with aligned columns."""
    widths = [min(max(_wide(row[i]) for row in rows), _WIDEST) for i in range(len(rows[0]))]
    return ["  ".join(c + " " * (w - _wide(c)) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _wide(cell: str) -> int:
    """Return the width of a text on screen, counting two columns for each Chinese, Japanese or Korean character."""
    return len(cell) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in cell)
