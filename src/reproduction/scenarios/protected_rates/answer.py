"""Compute the posterior of the rates of many areas, and the naive rates for comparison."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.rates import RegressionPosterior, refuse_areas
from dpmultinomial._inference.regression import Regression
from dpmultinomial._inference.release import Release

from ... import kind
from ...config import file_columns, published_cells, table_files
from .. import standard, table_stream
from ..batch import Answers, one_by_one
from ..case import COLUMNS, WARNINGS, Answer, Case, compared
from ..noisy_counts.answer import noise_of, replaced_of, spent_of
from ..noisy_counts.single_counts import UNREAD
from ..table_stream import LIMITS, Tables
from . import rules


def answer(case: Case) -> Answer:
    """Return the results of one case of a protected-rates scenario, with the naive rates for comparison."""
    settings, columns = case.settings, case.columns
    assert columns is not None
    release, numbers = _release(columns, settings), rules.numbers(settings)
    inferred = _posterior(release, numbers, settings)
    table = _rows(inferred, release, settings["level"])
    facts: dict[str, Any] = {"origin": "published", "per": settings["per"], "exposure_column": settings["exposure"]}
    if settings["family"] == "rates":
        facts["rate_unit"] = rules.unit(settings["per"], settings["exposure"])
    if spent := spent_of(settings):
        facts["cost"] = spent
        if replaced := replaced_of(spent, settings):
            facts["cost_to_replace"] = replaced
    cells = published_cells.parsed(columns["value"], settings)
    texts = published_cells.texts_of(cells, list(columns["name"]))
    if texts := {name: text for name, text in texts.items() if name in inferred.rates.places}:
        facts["published_as"] = texts
        measured = dict(zip(inferred.areas.names, inferred.areas.cells.measured, strict=True))
        facts["ranges"] = sum(not measured[name] for name in texts)
    result = standard.answer(
        inferred, case, facts=facts, released={}, about="rates", table=table, accuracy=inferred.rates.states[0]
    )
    naive = _naive(inferred, columns, settings)
    result.facts["naive_rates"] = dict(zip(naive["quantity"], naive["mean"], strict=True))
    result.facts["covariates"] = {
        name: dict(zip(columns["name"], numbers[name], strict=True)) for name in settings["covariates"]
    }
    return Answer(rows=result.rows, facts=result.facts, densities=result.densities, comparison=naive)


def many(tables: Tables, settings: Mapping[str, Any], stream_of: Callable[[str], np.random.Generator]) -> Answers:
    """Analyse the tables of a batch of protected counts, separately for each table.

    Parameters
    ----------
    tables : tables with columns named as in settings.yaml.
    settings : settings of the batch.
    stream_of : not used.
    """
    every = _numbers_by_table(settings) if tables.names else {}

    def one(t: int) -> pd.DataFrame:
        place = slice(tables.starts[t], tables.starts[t + 1])
        if np.isinf(tables.columns["value"][place]).any():
            raise ValueError(UNREAD)
        columns = {name: [_text(value) for value in values[place]] for name, values in tables.columns.items()}
        if LIMITS[0] in tables.columns:
            ends = (tables.columns[name][place].tolist() for name in LIMITS)
            columns["value"] = [_ends(*row) for row in zip(columns["value"], *ends, strict=True)]
        release = _release(columns, settings)
        found = _posterior(release, every[tables.names[t]], settings)
        stated: Any = found.facts["warnings"]
        return _rows(found, release, settings["level"]).assign(**{WARNINGS: "; ".join(stated)})

    return one_by_one(tables, one)


def _numbers_by_table(settings: Mapping[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Return the exposures and the covariates of every table of a batch."""
    wanted = [settings["exposure"], *settings["covariates"]]
    header = table_files.columns(settings["file"], True)
    if missing := [name for name in wanted if name not in header]:
        raise ValueError(
            f"{settings['file']!r} has no column {missing[0]!r}. The columns of the file are {', '.join(header)}"
        )
    _, names = file_columns.header(settings, kind.discover()["protected_rates"], True)
    kinds = {"name": "text", "value": "published", **dict.fromkeys(wanted, "number")}
    whole = table_stream.named(Path(settings["file"]), kinds, settings, names, 1, 1)
    return {
        name: {column: whole.columns[column][whole.starts[t] : whole.starts[t + 1]].tolist() for column in wanted}
        for t, name in enumerate(whole.names)
    }


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else "" if np.isnan(value) else repr(float(value))


def _ends(text: str, low: float, high: float) -> str:
    """Return the value or the bounds of a count in a batch, as text in the notation of the input file."""
    if low == -np.inf:
        return text if high == np.inf else f"<{high + 1:.0f}"
    return f"{low:.0f}+" if high == np.inf else f"{low:.0f}-{high:.0f}"


def _release(columns: Mapping[str, Sequence[str]], settings: Mapping[str, Any]) -> Release:
    """Return the release of the protected counts of a scenario. A range or a withheld value has bounds instead of a
    measurement.
    """
    cells, names = published_cells.parsed(columns["value"], settings), list(columns["name"])
    values = np.array([np.nan if number is None else number for number, _ in cells])
    stated = settings["noise"] if isinstance(settings["noise"], Mapping) else {"law": settings["noise"]}
    noise, ends = published_cells.censored(stated, cells, names)
    return Release(values, mechanism=noise_of(settings, columns, noise), names=names, bounds=ends)


def _posterior(
    release: Release, numbers: Mapping[str, Sequence[float]], settings: Mapping[str, Any]
) -> RegressionPosterior:
    regression = posterior(release, prior=_prior(numbers, settings))
    assert isinstance(regression, RegressionPosterior)
    return regression


def refuse(settings: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> None:
    """Raise an error if `answer` would reject the file or the settings. The rates are not computed.

    Parameters
    ----------
    settings, columns : settings of the scenario and columns of its file.

    Raises
    ------
    ValueError, TypeError
        As `answer`.
    """
    refuse_areas(_release(columns, settings), _prior(rules.numbers(settings), settings))


def _prior(numbers: Mapping[str, Sequence[float]], settings: Mapping[str, Any]) -> Regression:
    """Return the regression model of a scenario. The exposures of rates are divided by the setting `per`, the exposure
    to which the rates refer.
    """
    exposure = np.asarray(numbers[settings["exposure"]])
    shares = settings["family"] == "shares"
    return Regression(
        exposure if shares else exposure / settings["per"],
        {name: numbers[name] for name in settings["covariates"]} or None,
        settings["family"],
        se=settings["se"],
    )


def _rows(found: RegressionPosterior, release: Release, level: float) -> pd.DataFrame:
    """Return the result rows of the rates, with the released counts, followed by the rows of the parameters."""
    table = found.summary(level)
    table = table[table["type"] != "count"]
    released = dict(zip(release.names, release.values.tolist(), strict=True))
    rates = table["type"] == "rate"
    table.insert(2, "released", table["quantity"].map(released).where(rates).astype(float))
    return table[list(COLUMNS)].reset_index(drop=True)


def _naive(
    found: RegressionPosterior, columns: Mapping[str, Sequence[str]], settings: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the naive rates, which are the released values divided by the exposures. If only a range was released, its
    midpoint is used.
    """
    exposure = dict(zip(found.areas.names, found.areas.mean_exposure, strict=True))
    rows = []
    for name, text in zip(columns["name"], columns["value"], strict=True):
        number, ends = published_cells.meaning(text, settings)
        middle = None if ends is None or np.isinf(ends[1]) else (max(ends[0], 0.0) + ends[1]) / 2
        value = middle if number is None else number
        if value is not None and name in exposure:
            rows.append({"quantity": name, "type": "rate", "mean": value / exposure[name]})
    return compared("released value, or midpoint of its range, divided by the exposure", pd.DataFrame(rows))
