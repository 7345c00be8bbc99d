"""Check a whole configuration before any work starts and report every mistake at once.

The schema is closed JSON Schema (draft 2020-12). Rules that a schema cannot express, such as "exactly one of two keys",
are in the ``papers/<slug>/validation.py`` of each paper, as ``mistakes(section) -> list of (path, message)``.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from difflib import get_close_matches
from math import isfinite
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from .reading import ConfigError as ConfigError
from .reading import read as read

# Integers are written without a decimal point and numbers are finite; JSON Schema is less strict.
_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, v: (
                (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and isfinite(v))
            ),
        }
    ),
)
_LARGEST, _SMALLEST = 1e15, 1e-30  # a number in a paper's settings is 0, or its absolute value is between these limits
_SCIENTIFIC = r"^[+-]?\d+(\.\d*)?[eE][+-]?\d+$"
Rules = dict[str, Callable[[dict], Iterable[tuple[str, str]]]]
Further = Callable[[dict], Iterable[tuple[str, str]]]


def with_defaults(config: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of `config` in which missing keys have their default values."""
    return _with_defaults(deepcopy(config), schema)


def broken(config: dict[str, Any], schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a pair (path, message) for every rule of `schema` that `config` violates."""
    return [mistake for error in _Validator(schema).iter_errors(config) for mistake in _explain(error)]


def check(
    config: dict[str, Any], schema: dict[str, Any], rules: Rules | None = None, further: Further | None = None
) -> dict[str, Any]:
    """Check a configuration, and return a copy with default values for missing keys.

    Parameters
    ----------
    config : configuration as read from YAML; not changed.
    schema : closed JSON Schema.
    rules : mapping from a top-level key to a function that returns further mistakes in this section.
    further : function that returns (path, message) for mistakes in the whole configuration, if no other rule is broken.

    Raises
    ------
    ConfigError
        For all mistakes, one per line: path, value found, allowed values, nearest valid key.
    """
    filled = with_defaults(config, schema)
    mistakes = broken(filled, schema)
    for key, part in schema.get("properties", {}).items():
        if "properties" in part:
            mistakes += beyond(key, filled.get(key))
    wrong = {place.split(".")[0] for place, _ in mistakes}
    for key, rule in (rules or {}).items():
        try:
            for path, text in rule(filled.get(key, {})):
                mistakes.append((f"{key}.{path}", text))
        except (TypeError, KeyError, AttributeError, ValueError, LookupError, ArithmeticError):
            if not wrong:  # a section that breaks the schema may not have the structure that the rules expect
                raise
    if further and not mistakes:
        mistakes = list(further(filled))
    if mistakes:
        lines = [f"  {place}: {text}" for place, text in sorted(set(mistakes))]
        noun = "mistake" if len(lines) == 1 else "mistakes"
        raise ConfigError(f"{len(lines)} {noun} in the configuration; nothing was run.\n" + "\n".join(lines))
    return filled


def beyond(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield all numbers in the configuration that are too large or too small for any setting."""
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from beyond(f"{place}.{key}" if isinstance(value, dict) else f"{place}[{key}]", part)
    elif isinstance(value, (int, float)) and (0 < abs(value) < _SMALLEST or _LARGEST < abs(value) != float("inf")):
        rule = f"a number must be 0 or between {_SMALLEST:g} and {_LARGEST:g} in absolute value"
        yield place, f"{_shown(value)} is not allowed: {rule}"


def _with_defaults(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for key, part in known.items():
            if key not in value and "default" in part:
                value[key] = deepcopy(part["default"])
        extra = schema.get("additionalProperties")
        for key in value:
            part = known.get(key, extra if isinstance(extra, dict) else {})
            value[key] = _with_defaults(value[key], part)
    return value


def _meant(key: str, known: list[str]) -> str:
    """Return, for an invalid key, a hint that names the valid key that was probably intended. The hint has the format
    of `nearest`. A file is a key of a table.
    """
    return ", did you mean 'file'?" if key == "table" and "file" in known else nearest(key, known)


def _explain(error: Any) -> list[tuple[str, str]]:
    place = ".".join(str(p) if not isinstance(p, int) else f"[{p}]" for p in error.absolute_path).replace(".[", "[")
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        return [
            (
                f"{place}.{key}".lstrip("."),
                f"unknown key{_meant(str(key), known) or '.'} The allowed keys are {', '.join(known)}",
            )
            for key in error.instance
            if key not in known
        ]
    return [(place or "(top level)", _rule(error))]


def _rule(error: Any) -> str:
    """Return, as text, the rule of the schema that is violated by a value, with the allowed values."""
    value, rule = error.instance, error.validator_value
    match error.validator:
        case "minLength" | "pattern" if not str(value).strip():
            return f"{value!r} is not allowed: the text must not be empty"
        case "pattern" if re.fullmatch(r"\^[a-z]+\$", rule):
            return f"{value!r} is not allowed: the only text that is allowed is {rule[1:-1]}"
        case "propertyNames" | "pattern":
            return (
                f"{value!r} is not a valid name: a name must consist of lower-case letters, digits and _ and must "
                "begin with a letter"
            )
        case "required":
            lacking = [key for key in rule if key not in value]
            return f"missing key{'s' if len(lacking) > 1 else ''}: {', '.join(lacking)}"
        case "enum":
            return (
                f"{value!r} is not allowed{nearest(str(value), map(str, rule)) or '.'} The allowed values are "
                f"{', '.join(map(str, rule))}"
            )
        case "type":
            return f"{_shown(value)} is not {_kinds(rule)}{_hint(value, rule)}"
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum":
            sign = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}[error.validator]
            return f"{_shown(value)} is not allowed: the value must be {sign} {rule}"
        case "minItems" | "maxItems":
            return (
                f"{_shown(value)}: the number of entries is {len(value)}, but the {error.validator[:3]}imum is {rule}"
            )
        case "maxLength":
            return f"{_shown(value)}: the number of characters is {len(value)}, but the maximum is {rule}"
        case "uniqueItems":
            return f"{value!r} contains a duplicate"
        case _:
            return error.message


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:100]} .. ({len(text)} characters)"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the text ``, did you mean ..`` if a known word is similar, and otherwise an empty string."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f", did you mean {close[0]!r}?" if close else ""


def _kinds(kinds: str | list[str]) -> str:
    names = {"integer": "an integer", "number": "a number", "string": "text", "boolean": "true or false"}
    names |= {"array": "a list", "object": "a mapping with entries of the form key: value", "null": "empty"}
    return " or ".join(names[k] for k in ([kinds] if isinstance(kinds, str) else kinds))


def _hint(value: Any, kinds: str | list[str]) -> str:
    known = {kinds} if isinstance(kinds, str) else set(kinds)
    if isinstance(value, str) and {"number", "integer"} & known:
        try:
            number = float(value)
        except ValueError:
            return ""
        if not isfinite(number) or not ("number" in known or number.is_integer()):
            return ""
        if re.match(_SCIENTIFIC, value):
            return f"; YAML reads {value} as a string: write {number if 'number' in known else int(number)!r}"
        return "; write the number without quotation marks"
    return "; the number must be finite" if isinstance(value, float) and not isfinite(value) else ""
