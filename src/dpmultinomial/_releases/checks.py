"""Check the settings of a release, and report all errors together before any confidential file is opened.

The budgets of the sources under ``budgets:`` are checked too; they limit the total cost of the releases of a source.
"""

import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from . import _keys, _places
from ._keys import KEYS as KEYS
from ._keys import LARGEST_DELTA, LARGEST_EPSILON, REQUIRED, Key
from ._keys import MECHANISMS as MECHANISMS
from ._keys import PARAMETERS as PARAMETERS
from ._keys import parameter as parameter

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NAME_RULE = "must consist of at most 64 lower-case letters, digits and _ and must begin with a letter"
CEILINGS = ("epsilon", "delta", "rho", "exchange")
PEOPLE = "people"  # key of a budget; sources with the same people have a common budget

_ACCEPT = "to accept this, set accept_weak_privacy: true"


def ceiling_problems(budgets: Any) -> list[tuple[str, str]]:
    """Return (path, description) for every invalid budget in a configuration.

    Parameters
    ----------
    budgets : mapping from sources to budgets. ``epsilon`` with or without ``delta``, and/or ``rho``: the largest loss
        of a person whose record is replaced; ``exchange``: the largest loss for exchanges within invariants,
        separately; ``people``: name of the people in the source. Sources with the same people have a common budget.
    """
    if not isinstance(budgets, Mapping):
        return [("budgets", f"must be a mapping from each source to its budget, got {budgets!r}")]
    mistakes: list[tuple[str, str]] = []
    for source, ceiling in budgets.items():
        place = f"budgets/{source}"
        if not isinstance(source, str) or not _NAME.fullmatch(source):
            mistakes.append(
                (
                    place,
                    f"the name of a source {_NAME_RULE}, got {source!r}",
                )
            )
        if not isinstance(ceiling, Mapping) or not set(ceiling) & (set(CEILINGS) - {"delta"}):
            mistakes.append((place, f"must contain epsilon (with or without delta), rho or exchange, got {ceiling!r}"))
            continue
        for key, value in ceiling.items():
            if key == PEOPLE:
                if not isinstance(value, str) or not _NAME.fullmatch(value):
                    mistakes.append(
                        (
                            f"{place}/{key}",
                            f"{_NAME_RULE}, got {value!r}",
                        )
                    )
            elif key not in CEILINGS:
                mistakes.append(
                    (f"{place}/{key}", f"unknown key; the keys of a budget are {', '.join((*CEILINGS, PEOPLE))}")
                )
            elif why := number(Key(str(key), "number", "", above=0, below=1 if key == "delta" else None), value):
                mistakes.append((f"{place}/{key}", why))
            elif key == "delta" and value > LARGEST_DELTA:
                mistakes.append(
                    (
                        f"{place}/{key}",
                        f"must be <= {LARGEST_DELTA:g}, because a larger delta allows the release of whole "
                        f"records, got {value}",
                    )
                )
            elif key == "delta" and "epsilon" not in ceiling:
                mistakes.append((f"{place}/{key}", "may be given only together with epsilon"))
    return mistakes or unequal(budgets)


def unequal(budgets: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return a pair (path, description) for every source whose budget differs from the budget of an earlier source with
    the same people.
    """
    mistakes, first = [], dict[str, str]()
    for source, ceiling in budgets.items():
        other = first.setdefault(str(ceiling[PEOPLE]), source) if PEOPLE in ceiling else source
        if budgets[other] != ceiling:
            why = (
                f"must be equal to the budget of {other}, because both budgets have the same people ({ceiling[PEOPLE]})"
            )
            mistakes.append((f"budgets/{source}", why))
    return mistakes


def limits(budgets: Mapping[str, Mapping[str, Any]] | None, source: str) -> dict[str, float]:
    """Return the limits of the budget of a source, or an empty dict if the source has no budget."""
    return {key: value for key, value in ((budgets or {}).get(source) or {}).items() if key != PEOPLE}


def sources(budgets: Mapping[str, Mapping[str, Any]] | None, source: str) -> list[str]:
    """Return the sources that share the budget of a source: all sources that contain the same people, or only this
    source.
    """
    people = ((budgets or {}).get(source) or {}).get(PEOPLE)
    same = [name for name, ceiling in (budgets or {}).items() if people and ceiling.get(PEOPLE) == people]
    return same or [source]


def number(key: Key, value: Any) -> str | None:
    """Return the reason why a value is invalid for a key that requires a number, or None if the value is valid.

    Parameters
    ----------
    key : key of kind ``"number"`` or ``"whole"``.
    value : value in the configuration.
    """
    whole = key.kind == "whole"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        return f"must be {'an integer' if whole else 'a number'}, got {value!r}"
    if isinstance(value, float) and math.isinf(value):
        return f"must be finite, got {value}"
    good = (
        (isinstance(value, int) or math.isfinite(value))
        and (key.above is None or value > key.above)
        and (key.least is None or value >= key.least)
    )
    if not good or (key.most is not None and value > key.most) or (key.below is not None and value >= key.below):
        return f"must be {_keys.bounds(key) or 'finite'}, got {value}"
    return None


NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
STATISTICS = ("mean", "sse", "low", "high")
Problems = list[tuple[str, str]]


def problems(
    name: str, settings: Mapping[str, Any], *, budgets: Mapping[str, Mapping[str, float]], root: Path, left: bool = True
) -> Problems:
    """Return a list of all errors in the configuration. Each error is a pair of the path in the configuration and a
    description of the fault and the rule.

    Parameters
    ----------
    name : name of the release.
    settings : section of the release.
    budgets : mapping from sources to budgets.
    root : folder of the configuration.
    left : whether to compare the cost with the remaining budget according to the public ledger.

    Returns
    -------
    list of (path, words)

    Notes
    -----
    The check tests whether the confidential file exists, but does not open it.
    """
    place = f"releases/{name}"
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return [
            (
                place,
                f"the name of a release {_NAME_RULE}, got {name!r}",
            )
        ]
    if not isinstance(settings, Mapping):
        return [(place, f"must be a mapping of keys to values, got {type(settings).__name__}")]
    mistakes = ceilings(budgets)
    mechanism = settings.get("mechanism")
    if mechanism not in MECHANISMS:
        return [*mistakes, (f"{place}/mechanism", _choice("mechanism", mechanism, MECHANISMS))]
    known = {key.name: key for key in KEYS[mechanism]}
    for given in settings:
        if given not in known:
            near = get_close_matches(str(given), known, n=1)
            hint = f": did you mean {near[0]!r}?" if near else "."
            mistakes.append(
                (
                    f"{place}/{given}",
                    (
                        f"the mechanism {mechanism} does not have this key{hint} The keys of {mechanism} are "
                        f"{', '.join(known)}"
                    ),
                )
            )
    for key in known.values():
        value = settings.get(key.name)
        if value is None and key.default is REQUIRED:
            mistakes.append((f"{place}/{key.name}", f"is missing: {key.description}"))
        elif value is not None and (why := wrong(key, value)):
            mistakes.append((f"{place}/{key.name}", why))
    if not mistakes:
        mistakes += [(f"{place}/{key}", why) for key, why in _together(mechanism, settings)]
    if not mistakes:
        mistakes += [(f"{place}/{key}", why) for key, why in _bounded(name, settings, budgets)]
    if left and not mistakes:
        mistakes += [(f"{place}{key}", why) for key, why in _by_ledger(name, settings, budgets, root)]
    if isinstance(settings.get("data"), str) and f"{place}/data" not in dict(mistakes):
        mistakes += [(f"{place}/data", why) for why in _places.problems(settings["data"], root)]
    return mistakes


def ceilings(budgets: Any) -> Problems:
    """Return all errors in the section ``budgets``, in the format of `problems`."""
    return ceiling_problems(budgets)


def filled(settings: Mapping[str, Any], *, plain: bool = True) -> dict[str, Any]:
    """Return the checked settings of a release, with default values for all missing settings. A single string becomes a
    list if several values are allowed.

    Parameters
    ----------
    settings : settings of a release.
    plain : whether to convert numbers, so that 1 and 1.0 are the same; False does not change them.
    """
    completed = {}
    for key in KEYS[settings["mechanism"]]:
        value = settings.get(key.name)
        value = key.default if value is None else value
        value = [value] if key.kind == "texts" and isinstance(value, str) else value
        completed[key.name] = _plain(value, key.kind) if plain else value
    return completed


def _plain(value: Any, kind: str) -> Any:
    """Convert all numbers in the value of a key to floats if the key takes real numbers."""
    if kind == "number":
        return None if value is None else float(value)
    if kind in ("fractions", "positives", "parts") and isinstance(value, Mapping):
        return {key: float(part) for key, part in value.items()}
    if kind == "intervals":
        return {key: [float(part) for part in both] for key, both in value.items()}
    return value


def wrong(key: Key, value: Any) -> str | None:
    """Return the reason why a value is not permitted for a key, or None if the value is valid."""
    if key.kind == "number" or key.kind == "whole":
        return number(key, value)
    if key.choices:
        return None if value in key.choices else _choice(key.name, value, key.choices)
    why: dict[str, tuple[Callable[[Any], bool], str]] = {
        "flag": (lambda v: isinstance(v, bool), "must be true or false"),
        "text": (_text, "must be a non-empty string"),
        "name": (
            lambda v: isinstance(v, str) and NAME.fullmatch(v) is not None,
            _NAME_RULE,
        ),
        "texts": (lambda v: _text(v) or _texts(v), "must be a string or a list of distinct strings"),
        "fractions": (_statistics, "must be a mapping from mean, sse, low and high to numbers > 0 that sum to 1"),
        "parts": (_parts, "must be a mapping from levels to numbers > 0 that sum to 1"),
        "positives": (_positives, f"must be a mapping from some of {', '.join(STATISTICS)} to numbers > 0"),
        "intervals": (
            lambda v: _mapping(v, _interval),
            "must be a mapping from columns to [low, high] with low < high",
        ),
        "levels": (
            lambda v: _mapping(v, lambda x: _texts(x) and len(x) >= 2),
            "must be a mapping from columns to lists of two or more distinct strings",
        ),
        "network": (
            lambda v: _mapping(v, lambda x: x == [] or _texts(x)),
            "must be a mapping from columns to lists of parents",
        ),
    }
    good, rule = why[key.kind]
    return None if good(value) else f"{rule}, got {value!r}"


def weak(*, epsilon: float = 0.0, rho: float = 0.0, delta: float = 0.0) -> str | None:
    """Return the reason why a privacy cost requires the setting `accept_weak_privacy`, or None if the setting is not
    required.

    Parameters
    ----------
    epsilon, rho, delta : parts of the cost; 0 for parts that the cost does not have.

    Returns
    -------
    str or None
    """
    for name, value, most in (("epsilon", epsilon, LARGEST_EPSILON), ("rho", rho, LARGEST_EPSILON)):
        if value > most:
            return (
                f"{name} must be <= {most:g}, because a larger value gives almost no protection, got "
                f"{value:.6g}; {_ACCEPT}"
            )
    if delta > LARGEST_DELTA:
        return (
            f"delta must be <= {LARGEST_DELTA:g}, because a larger delta allows the release of whole records, "
            f"got {delta:.6g}; {_ACCEPT}"
        )
    return None


def _bounded(
    name: str, settings: Mapping[str, Any], budgets: Mapping[str, Mapping[str, float]]
) -> list[tuple[str, str]]:
    """Report a data source that has no budget, if at least one other data source has a budget. This check prevents a
    misspelt name from bypassing the budget.
    """
    source = settings.get("source") or name
    if source in budgets:
        bound = settings["mechanism"] == "swap" or {"epsilon", "rho"} & set(budgets[source])
        return (
            []
            if bound
            else [("source", f"the source {source} has a budget only for exchanges; add epsilon or rho to this budget")]
        )
    if not budgets:
        return []
    near = get_close_matches(source, budgets, n=1, cutoff=0.0)
    return [
        (
            "source",
            (
                f"the source {source} has no budget: add one, or did you mean {near[0]}? The sources with a budget are "
                f"{', '.join(budgets)}"
            ),
        )
    ]


def _by_ledger(
    name: str, settings: Mapping[str, Any], budgets: Mapping[str, Mapping[str, float]], root: Path
) -> Problems:
    """Check the generation and the cost of a release that is not in the public ledger. Report an error if its
    generation is not the next generation, or if its cost according to the settings exceeds the remaining budget.
    """
    source, get = settings.get("source") or name, filled(settings)
    if not budgets.get(source) and get["generation"] == 1:
        return []
    from . import _budget_records, spending  # NumPy is imported only if the release is valid so far

    folder = root / _budget_records.FOLDER
    try:
        entries = _budget_records.read(_budget_records.Ledger(folder / "ledger.tsv"))
    except _places.Refused as error:
        return [("", str(error))]
    if any(entry.name == (name, get["generation"]) for entry in entries):
        return []
    following = 1 + max((generation for release, generation in (e.name for e in entries) if release == name), default=0)
    if get["generation"] != following and not (folder / name / str(get["generation"]) / "record.json").is_file():
        return [
            (
                "/generation",
                f"must be {following}, the next generation according to the ledger, got {get['generation']}",
            )
        ]
    cost = spending.by_settings(get)
    if cost is None or not budgets.get(source):
        return []
    before = _budget_records.costs(entries, *sources(budgets, source))
    if not spending.beyond([*before, cost], limits(budgets, source)):
        return []
    stated = [*before, spending.by_settings(get, tolerance=0.0) or cost]
    return [("", f"budgets/{source}: {spending.beyond(stated, limits(budgets, source))}")]


def _together(mechanism: str, settings: Mapping[str, Any]) -> Problems:
    """Return the errors that involve more than one key in the settings of a release."""
    get = filled(settings)
    mistakes: Problems = []
    factor = 2 if mechanism == "additive_counts" else 1
    loss = {k: float(get.get(k) or 0.0) for k in ("epsilon", "rho", "delta")}
    why = weak(epsilon=factor * loss["epsilon"], rho=loss["rho"], delta=loss["delta"])
    if why and not get["accept_weak_privacy"]:
        twice = " (the release costs 2 epsilon)" if factor == 2 else ""
        mistakes.append((next(k for k in loss if why.startswith(k)), f"{why}{twice}"))
    if mechanism == "censored_statistics" and not get["lower"] < get["upper"]:
        mistakes.append(("upper", f"must be above lower = {get['lower']}, got {get['upper']}"))
    if mechanism == "swap" and (both := sorted(set(get["swap"]) & set(get["match"]))):
        mistakes.append(("match", f"must not contain the columns in swap, got {', '.join(map(repr, both))} in both"))
    if mechanism in _keys.MODELS:
        mistakes += _model(mechanism, get)
    if "narrow" in get:
        mistakes += _tree(get)
    if not mistakes:
        from . import _statistics as __statistics  # NumPy is imported only if the release is valid so far

        mistakes += __statistics.problems(mechanism, get)
    return mistakes


def _tree(get: Mapping[str, Any]) -> Problems:
    """Check the settings of the levels of a tree for consistency. The tree itself is in the confidential file."""
    levels = list(get["levels"] or ())
    measured = levels[1:] if get["relation"] == "replace a record" else levels
    mistakes: Problems = []
    if get["levels"] and len(levels) < 2:
        mistakes.append(
            ("levels", f"must contain the names of at least two levels, beginning with the root, got {levels[0]!r}")
        )
    if pair := _keys.first_alike(levels):
        one, other = map(ascii, pair)
        mistakes.append(("levels", f"{one} and {other} must differ by more than {_keys.UNSEEN}"))
    if unseen := [level for level in levels if not _keys.shown_name(level) or _keys.has_controls(level)]:
        mistakes.append(("levels", f"must be names without control characters, got {unseen[0]!r}"))
    for key in ("shares", "narrow"):
        if get[key] and not levels:
            mistakes.append(
                (key, "requires the key 'levels': list the names of the levels of the tree, beginning with the root")
            )
    if get["shares"] and get["narrow"]:
        mistakes.append(
            (
                "narrow",
                "must not be given together with shares, because narrow chooses the shares: omit one of the keys",
            )
        )
    if mistakes:
        return mistakes
    known = "" if measured == levels else f"; the count of {levels[0]} is public if records are replaced"
    if get["shares"] and set(get["shares"]) != set(measured):
        given = ", ".join(get["shares"])
        mistakes.append(("shares", f"must contain a share for each of {', '.join(measured)}, got {given}{known}"))
    for level in get["narrow"] or ():
        if level not in measured:
            mistakes.append(
                ("narrow", f"must contain only names of measured levels ({', '.join(measured)}), got {level!r}{known}")
            )
    return mistakes


def _model(mechanism: str, get: Mapping[str, Any]) -> Problems:
    mistakes: Problems = []
    wanted = {"dirichlet": ("epsilon", "order"), "discrete_laplace": ("epsilon",), "discrete_gaussian": ("rho",)}
    for key in ("epsilon", "order", "rho"):
        needed = key in wanted[get["noise"]]
        if needed != (get[key] is not None):
            mistakes.append((key, f"the noise {get['noise']} {'requires' if needed else 'does not have'} this key"))
    for column in get["numeric"]:
        if column not in get["bounds"]:
            mistakes.append(("bounds", f"must contain the public bounds [low, high] of the column {column!r}"))
    for column in get["bounds"]:
        if column not in get["numeric"]:
            mistakes.append(("bounds", f"must contain only numeric columns, got {column!r}"))
    columns = [*get["numeric"], *get["levels"]]
    if both := sorted(set(get["numeric"]) & set(get["levels"])):
        mistakes.append(("levels", f"must not contain the numeric column {both[0]!r}: set its bounds instead"))
    for column, levels in get["levels"].items():
        if pair := _keys.first_alike(levels):
            one, other = map(ascii, pair)
            mistakes.append(
                (
                    "levels",
                    f"the levels {one} and {other} of the column {column!r} must differ by more than {_keys.UNSEEN}",
                )
            )
    if mechanism == "naive_bayes" and get["target"] not in get["levels"]:
        mistakes.append(("levels", f"must contain the categories of the target {get['target']!r}"))
    if mechanism == "naive_bayes" and len(columns) < 2:
        mistakes.append(("levels", "must contain at least one column in addition to the target if numeric is empty"))
    return mistakes + (_network(get["network"], columns) if mechanism == "bayesian_network" else [])


def _network(network: Mapping[str, list[str]], columns: list[str]) -> Problems:
    for node, parents in network.items():
        for name in (node, *parents):
            if name not in columns:
                return [("network", f"must contain only columns that have levels or bounds, got {name!r}")]
            if name not in network:
                return [
                    (
                        "network",
                        f"must contain every parent as a node, but {name!r}, a parent of {node!r}, is not a node",
                    )
                ]
    left = {node: set(parents) for node, parents in network.items()}
    while ready := [node for node, parents in left.items() if not parents & set(left)]:
        for node in ready:
            del left[node]
    return [("network", f"must not contain a cycle, got a cycle among {', '.join(map(repr, left))}")] if left else []


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    near = get_close_matches(str(value), choices, n=1)
    return f"must be one of {', '.join(map(repr, choices))}, got {value!r}" + (
        f": did you mean {near[0]!r}?" if near else ""
    )


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _texts(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple)) and len(value) > 0 and all(map(_text, value)) and len(set(value)) == len(value)
    )


def _mapping(value: Any, good: Callable[[Any], bool]) -> bool:
    return isinstance(value, Mapping) and all(_text(k) and good(v) for k, v in value.items())


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _positives(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) <= set(STATISTICS) and all(map(_positive, value.values()))


def _statistics(value: Any) -> bool:
    return _positives(value) and set(value) == set(STATISTICS) and abs(math.fsum(value.values()) - 1) < 1e-9


def _parts(value: Any) -> bool:
    numbers = isinstance(value, Mapping) and len(value) > 0 and all(map(_text, value))
    return numbers and all(map(_positive, value.values())) and abs(math.fsum(value.values()) - 1) < 1e-9


def _interval(value: Any) -> bool:
    numbers = isinstance(value, (list, tuple)) and len(value) == 2
    return numbers and all(number(Key("", "number", ""), v) is None for v in value) and value[0] < value[1]
