"""Check a protected-rates scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python, because it runs before any kernel is compiled.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import kind
from ...config import file_columns, published_cells, question_rules, table_files
from ..noisy_counts.rules import law_mistakes, noise_sentence

Columns = Mapping[str, Sequence[str]] | None
SCALES = ("scale", "sd", "sigma", "variance")
_PARAMETERS = {"random_rounding": "base", "table": "file"}  # of distributions that have no scale


def numbers(settings: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the columns of exposures and covariates, with NaN for an empty cell. Raise ValueError if a column is
    missing.
    """
    wanted = [settings["exposure"], *settings["covariates"]]
    header = table_files.columns(settings["file"], False)
    if missing := [name for name in wanted if name not in header]:
        raise ValueError(
            f"{settings['file']!r} has no column {missing[0]!r}. The columns of the file are {', '.join(header)}"
        )
    _, names = file_columns.header(settings, kind.discover()["protected_rates"], False)
    kinds = {"name": "text", "value": "published", **dict.fromkeys(wanted, "number")}
    texts = file_columns.texts(settings, kinds, names)
    return {name: [float(text) if text else float("nan") for text in texts[name]] for name in wanted}


def mistakes(settings: Mapping[str, Any], columns: Columns, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario. The arguments are the same for
    every kind of scenario.
    """
    if "exposure" not in settings:
        yield ".exposure", "is missing: name the column of the file with the exposures (persons, births)"
    by_row = [name for name in SCALES if columns is not None and name in columns]
    if len(by_row) > 1:
        yield ".file", f"must contain only one column that states the noise, got {' and '.join(by_row)}"
    if "exposure" in settings and settings["exposure"] in settings["covariates"]:
        yield (
            ".covariates",
            (
                f"must not contain the exposure {settings['exposure']!r}: use the logarithm of the exposure as a "
                "separate column"
            ),
        )
    if settings["family"] == "shares" and settings["per"] != 1:
        yield ".per", f"must be omitted for shares, got {settings['per']!r}: shares are fractions of persons"
    if (law := str(settings["noise"])) in _PARAMETERS:
        key = _PARAMETERS[law]
        yield ".noise", f"{law!r} requires the {key}: write noise: {{law: {law}, {key}: ..}} in a configuration file"
        return
    stated = settings["noise"] if isinstance(settings["noise"], Mapping) else {"law": settings["noise"]}
    if wrong := list(law_mistakes(".noise", stated, by_row)):
        yield from wrong
        return
    if batch or columns is None or "exposure" not in settings:
        return
    try:
        cells = published_cells.parsed(columns["value"], settings)
        published_cells.censored(stated, cells, columns["name"])
    except ValueError as error:
        yield ".file", str(error)
    seen: set[str] = set()
    for name in columns["name"]:
        if name in seen:
            yield ".file", f"duplicate name {name!r}"
            break
        seen.add(name)
    try:
        numbers(settings)
    except ImportError:  # the kernels are not compiled yet, so the job reads the file
        return
    except ValueError as error:
        yield ".file", str(error)
    for label, question in (settings.get("questions") or {}).items():
        names = list(columns["name"]) if question.get("about", "rates") in ("rates", "counts") else ()
        yield from question_rules.mistakes({label: question}, names)


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB that one case of a protected-rates scenario requires. About
    3,000 areas are analysed per second.
    """
    return 5.0, 200.0


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about the rates, and the warnings about the analysis, as sentences."""
    prior = point["prior"]
    sentences = [noise_sentence(point.get("noise") or {})]
    withheld = point["withheld"]
    ranges = point.get("ranges", 0)
    nothing = point["areas"] - point["measured"] - ranges
    exact = (point.get("noise") or {}).get("law") == "exact"
    for number, what in (
        (withheld, f"the {'count' if exact else 'noisy count'} was withheld"),
        (ranges, "only bounds of the count were published"),
        (nothing, "no count was published"),
    ):
        if number:
            sentences.append(f"For {number:,} of the {point['areas']:,} areas, {what}.")
    first, *others = model_sentences(prior["family"], prior["covariates"], point.get("per"), point["exposure_column"])
    sentences.append(f"{first} The analysis includes {point['areas']:,} area{'s' * (point['areas'] != 1)}.")
    return sentences + others + [f"Warning: {text}." for text in point["warnings"]]


def model_sentences(family: str, covariates: Sequence[str], per: float | None, exposure: str) -> list[str]:
    """Return the assumptions about the rates and the counts, as sentences.

    Parameters
    ----------
    family : ``rates`` or ``shares``.
    covariates : names of the covariates.
    per : exposure to which the rates refer; not used for shares.
    exposure : name of the column with the exposures.
    """
    depends = f", which depends on {', '.join(covariates)}" if covariates else ""
    rates = family == "rates"
    return [
        f"The {'rates' if rates else 'shares'} of areas vary around a mean{depends}: "
        f"they have {'gamma distributions of one shape' if rates else 'beta distributions'}.",
        f"Given its rate, a count is Poisson; rates are {unit(per or 1, exposure)}."
        if rates
        else f"Given its share, a count is binomial among {exposure}.",
        "An interval contains the underlying rate with the stated probability on average over areas, and not in each "
        "area.",
    ]


def unit(per: float, exposure: str) -> str:
    """Return the unit of rates as text, such as ``per 1,000 births`` or ``per unit of births``."""
    return f"per unit of {exposure}" if per == 1 else f"per {per:,g} {exposure}"


def prior_text(prior: Mapping[str, Any]) -> str:
    """Return a description of the priors of the parameters of the regression."""
    shape, noun = prior["log shape"], "shape" if prior["family"] == "rates" else "concentration"
    some = bool(prior["covariates"])
    coefficients = "the intercept and the coefficients of standardised covariates are" if some else "the intercept is"
    return (
        f"the logarithm of the {noun} is normal with mean {shape['mean']:.3g} and standard deviation {shape['sd']:g}, "
        f"{coefficients} normal with mean 0 and standard deviation {prior['slopes']['sd']:g}"
    )
