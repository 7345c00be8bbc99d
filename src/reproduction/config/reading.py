"""Strict reader of all configuration files, which are written in JSON or in a plain subset of YAML. The
reader returns plain values.

No other part of the workflow reads a configuration file before this module. Anchors, aliases, tags, merge keys,
directives, keys with escapes, duplicate keys and templates are rejected.
"""

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from dpmultinomial._files import places

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST, _MOST = 12, 1_000_000  # maximum number of levels; maximum number of values on one level
_LARGEST_FILE = 1 << 24  # bytes
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TEMPLATE = re.compile(r"__|\?")  # first characters of keys that a template engine interprets
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class ConfigError(ValueError):
    """Error that is raised for a configuration that contains mistakes. The message lists all mistakes."""


class _Strict(_LOADER):
    """YAML loader that rejects duplicate keys, because the standard loader keeps only the last value without a
    warning.
    """

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        return int(_plain(node, _INTEGER, yaml.SafeLoader.construct_yaml_int(self, node)))

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        return float(_plain(node, _DECIMAL, yaml.SafeLoader.construct_yaml_float(self, node)))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: dict[Any, int] = {}
        for key_node, _ in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise ConfigError(
                    f"YAML merge keys (<<) are not supported, but line {line} contains one: write the keys in full"
                )
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise ConfigError(
                    f"YAML reads the key {key_node.value} as {key!r} (line {line}): put the key in quotation marks"
                )
            if key in seen:
                raise ConfigError(
                    f"duplicate key {key!r} (lines {seen[key]} and {line}): remove all but one of the entries"
                )
            seen[key] = line
        return super().construct_mapping(node, deep)


_Strict.add_constructor("tag:yaml.org,2002:int", _Strict.construct_yaml_int)
_Strict.add_constructor("tag:yaml.org,2002:float", _Strict.construct_yaml_float)
_Strict.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)  # a date is text, as written


def read(path: Path) -> dict[str, Any]:
    """Return the values in a configuration file, which is read as JSON if its name ends in ``.json``, and as YAML
    otherwise.

    Parameters
    ----------
    path : path of the file.

    Returns
    -------
    dict
        Plain values; keys are strings; at most 12 levels deep.

    Raises
    ------
    ConfigError
        With file and line: for a file that is unreadable, confidential, larger than 16 MB, not UTF-8 text or not a
        mapping, and for all mistakes that `parse` rejects.
    """
    try:
        with open(places.public(path), "rb") as stream:
            raw = stream.read(_LARGEST_FILE + 1)
        if len(raw) > _LARGEST_FILE:
            raise ConfigError(
                f"the file must have at most {_LARGEST_FILE:,} bytes, got at least {len(raw):,} bytes: shorten the file"
            )
        loaded = parse(raw.decode("utf-8"), form="json" if str(path).endswith(".json") else "yaml")
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        text = f"{path} is not valid UTF-8 ({error.reason} at byte {error.start}): save the file as UTF-8"
        raise ConfigError(text) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:  # a confidential file, or a NUL byte in its name
        raise ConfigError(str(error)) from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: the file must contain keys and values, got {str(loaded)[:80]!r}")
    return loaded


def parse(text: str, *, form: str) -> Any:
    """Parse a string in YAML or JSON format, and return the resulting value.

    Parameters
    ----------
    text : complete YAML or JSON document.
    form : ``"yaml"`` or ``"json"``.

    Raises
    ------
    ConfigError
        With the line: for invalid YAML or JSON; anchors, aliases, tags, merge keys, directives; a key that is not a
        string, is a duplicate, contains control characters or escapes, or begins like a template (``__`` or ``?``); a
        number that YAML does not read as it is written; more than 12 levels.
    """
    try:
        loaded = _json(text) if form == "json" else _yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(_tab(text) or str(error)) from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"the text is not valid JSON ({error})") from None
    except ConfigError:
        raise
    except (ValueError, AttributeError, TypeError) as error:  # errors of YAML's constructors
        raise ConfigError(f"the text contains a value that cannot be read ({error})") from None
    except RecursionError:
        raise ConfigError("the text is nested too deeply: use fewer levels") from None
    _refuse_keys(loaded)
    return loaded


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite)


def _finite(written: str) -> float:
    value = float(written)
    if math.isinf(value):
        raise ConfigError(f"numbers must lie between -1.8e308 and 1.8e308, got {written[:80]}")
    return value


def _yaml(text: str) -> Any:
    _refuse_extras(text)
    loader = _Strict(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_escapes(node, text)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _refuse_extras(text: str) -> None:
    """Reject every feature of YAML except mappings, lists and plain values. Reject deep nesting before any
    recursion.
    """
    level = 0
    events: Iterable[Any] = yaml.parse(text, Loader=_LOADER)
    for event in events:
        line = event.start_mark.line + 1
        name = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(
                f"YAML aliases are not supported, but line {line} contains *{name}: write the value in full"
            )
        if name is not None:
            raise ConfigError(
                f"YAML anchors are not supported, but line {line} contains &{name}: write the value in full at each "
                "place where the value is used"
            )
        if isinstance(event, yaml.DocumentStartEvent) and (event.version or event.tags):
            raise ConfigError(f"YAML directives (%) are not supported, but line {line} contains one: remove this line")
        if getattr(event, "tag", None) is not None:
            raise ConfigError(
                f"YAML tags are not supported, but line {line} contains {event.tag}: write the value without a tag"
            )
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > _DEEPEST + 1:
            raise ConfigError(f"the value is nested more than {_DEEPEST} levels deep (line {line}): use fewer levels")


def _refuse_escapes(node: yaml.Node, text: str) -> None:
    """Reject keys with escape sequences, so that every key is exactly the text in the file."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_escapes(child, text)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            written = text[key.start_mark.index : key.end_mark.index]
            if getattr(key, "style", None) == '"' and "\\" in written:
                line = key.start_mark.line + 1
                raise ConfigError(
                    f"keys must not contain escapes (line {line}), got {written[:80]}: write the characters themselves"
                )
            _refuse_escapes(value, text)


def _refuse_keys(loaded: Any) -> None:
    """Reject keys with template expressions or control characters. Reject unpaired surrogates and deep nesting."""
    level = [loaded]
    for _ in range(_DEEPEST + 1):
        for key in (key for value in level if isinstance(value, dict) for key in value):
            if _TEMPLATE.match(key):
                raise ConfigError(
                    f"templates are not allowed, got the key {key}: templates can run code, so write the values "
                    "themselves"
                )
            if _CONTROL.search(key):
                raise ConfigError(f"keys must not contain control characters, got {key!r}")
        for text in (text for value in level for text in _strings(value)):
            if _SURROGATE.search(text):
                raise ConfigError(f"{text[:80]!r} contains an unpaired surrogate: remove or replace this character")
        level = [child for value in level for child in _children(value)]
        if not level:
            return
        if len(level) > _MOST:
            break
    raise ConfigError(f"the value is nested more than {_DEEPEST} levels deep: use fewer levels")


def _strings(value: Any) -> Iterable[str]:
    return [value] if isinstance(value, str) else value if isinstance(value, dict) else ()


def _children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _plain(node: yaml.ScalarNode, looks: re.Pattern[str], value: float) -> float:
    """Reject numbers that YAML 1.1 does not read as written. For example, 010 is read as 8, 1:30 as 90, and 1_000 as
    1000.
    """
    if looks.fullmatch(node.value):
        return value
    line = node.start_mark.line + 1
    raise ConfigError(
        f"YAML reads the number {node.value} as {value} (line {line}): write the intended number in decimal "
        "digits without leading zeros, or put the text in quotation marks"
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ConfigError(f"duplicate key {key!r}: remove all but one of the entries with this key")
        mapping[key] = value
    return mapping


def _no_number(word: str) -> float:
    raise ConfigError(f"{word} is not a valid JSON number")


def _tab(text: str) -> str:
    """Return a message for the first line that is indented with a tab, because the error message of the YAML parser for
    such a line is unclear. The message is empty if there is no such line.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if "\t" in line[: len(line) - len(line.lstrip())]:
            return f"line {number} is indented with a tab: use spaces"
    return ""
