"""One strict reader for every configuration file: YAML without its extras, or JSON; what it returns is plain values.

Nothing else in the workflow may see a user's bytes before this has read them. Anchors, aliases, tags, merge keys,
directives, keys written with escapes, keys written twice and templates are refused wherever they stand.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from dpmultinomial._files import places

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST, _MOST = 12, 1_000_000  # levels, values on one level
_LARGEST_FILE = 1 << 24  # bytes
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TEMPLATE = re.compile(r"__|\?")  # how the keys begin that a template engine acts on
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class ConfigError(ValueError):
    """A configuration with mistakes; the message lists them all."""


class _Strict(_LOADER):
    """YAML loader that refuses a key written twice (plain YAML keeps the last one silently)."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        return int(_plain(node, _INTEGER, yaml.SafeLoader.construct_yaml_int(self, node)))

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        return float(_plain(node, _DECIMAL, yaml.SafeLoader.construct_yaml_float(self, node)))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: dict[Any, int] = {}
        for key_node, _ in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise ConfigError(f"<<: merge keys are not supported (line {line}); write the keys out")
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise ConfigError(
                    f"{key_node.value}: YAML reads this key as {key!r} (line {line}); put it in quotation marks"
                )
            if key in seen:
                raise ConfigError(f"{key}: written twice (lines {seen[key]} and {line}); keep one of them")
            seen[key] = line
        return super().construct_mapping(node, deep)


_Strict.add_constructor("tag:yaml.org,2002:int", _Strict.construct_yaml_int)
_Strict.add_constructor("tag:yaml.org,2002:float", _Strict.construct_yaml_float)


def read(path: Path) -> dict[str, Any]:
    """One file: JSON if its name ends in ``.json``, else YAML.

    Parameters
    ----------
    path : of the file.

    Returns
    -------
    dict
        Plain values, keys are texts; at most 12 levels deep.

    Raises
    ------
    ConfigError
        With file and line: no readable file, a confidential one, more than 16 MB, no text in UTF-8, no mapping, and all
        that `parse` refuses.
    """
    try:
        with open(places.public(path), "rb") as stream:
            raw = stream.read(_LARGEST_FILE + 1)
        if len(raw) > _LARGEST_FILE:
            raise ConfigError(f"must be at most {_LARGEST_FILE} bytes long")
        loaded = parse(raw.decode("utf-8"), form="json" if str(path).endswith(".json") else "yaml")
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        text = f"{path}: is not text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        raise ConfigError(text) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # a confidential file, or a NUL in its name
        raise ConfigError(str(error)) from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: must hold keys and values, found {str(loaded)[:80]!r}")
    return loaded


def parse(text: str, *, form: str) -> Any:
    """The value of a text in YAML or JSON.

    Parameters
    ----------
    text : all of it.
    form : ``"yaml"`` or ``"json"``.

    Raises
    ------
    ConfigError
        With the line: what is no YAML or JSON; anchors, aliases, tags, merge keys, directives; a key that is no text,
        has control characters, is written twice or with escapes, or would be a template's (begins with ``__`` or
        ``?``); a number that is read otherwise than it looks; more than 12 levels.
    """
    try:
        loaded = _json(text) if form == "json" else _yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(_tab(text) or str(error)) from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"is no JSON ({error})") from None
    except ConfigError:
        raise
    except (ValueError, AttributeError, TypeError) as error:  # YAML's own constructors: no date
        raise ConfigError(f"holds a value that cannot be read ({error})") from None
    except RecursionError:
        raise ConfigError("is nested too deeply") from None
    _refuse_keys(loaded)
    return loaded


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


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
    """Everything of YAML that is more than mappings, lists and plain values; nesting, before anything recurses."""
    level = 0
    events: Iterable[Any] = yaml.parse(text, Loader=_LOADER)
    for event in events:
        line = event.start_mark.line + 1
        name = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(f"*{name}: aliases are not supported (line {line}); write the value out")
        if name is not None:
            raise ConfigError(f"&{name}: anchors are not supported (line {line}); write the value out where it is used")
        if isinstance(event, yaml.DocumentStartEvent) and (event.version or event.tags):
            raise ConfigError(f"%: directives are not supported (line {line})")
        if getattr(event, "tag", None) is not None:
            raise ConfigError(f"{event.tag}: tags are not supported (line {line}); write a plain value")
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > _DEEPEST + 1:
            raise ConfigError(f"is nested more than {_DEEPEST} levels deep (line {line}); no setting is")


def _refuse_escapes(node: yaml.Node, text: str) -> None:
    """What stands in the file decides what a key is, not what escapes make of it."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_escapes(child, text)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            written = text[key.start_mark.index : key.end_mark.index]
            if getattr(key, "style", None) == '"' and "\\" in written:
                line = key.start_mark.line + 1
                raise ConfigError(f"{written[:80]}: a key is written with escapes (line {line}); write its letters")
            _refuse_escapes(value, text)


def _refuse_keys(loaded: Any) -> None:
    """Templates' keys, control characters, and nesting beyond every setting."""
    level = [loaded]
    for _ in range(_DEEPEST + 1):
        for key in (key for value in level if isinstance(value, dict) for key in value):
            if _TEMPLATE.match(key):
                raise ConfigError(f"{key}: templates run code and are refused; write the values themselves")
            if _CONTROL.search(key):
                raise ConfigError(f"{key!r}: a key must have no control characters")
        level = [child for value in level for child in _children(value)]
        if not level:
            return
        if len(level) > _MOST:
            break
    raise ConfigError(f"is nested more than {_DEEPEST} levels deep; no setting is")


def _children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _plain(node: yaml.ScalarNode, looks: re.Pattern[str], value: float) -> float:
    """A number that is what it looks like: YAML 1.1 reads 010 as 8, 1:30 as 90 and 1_000 as 1000."""
    if looks.fullmatch(node.value):
        return value
    line = node.start_mark.line + 1
    raise ConfigError(
        f"{node.value}: YAML reads this number as {value} (line {line}); write {value} or quote it as text"
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ConfigError(f"{key}: written twice; keep one of them")
        found[key] = value
    return found


def _no_number(word: str) -> float:
    raise ConfigError(f"{word}: is no number in JSON")


def _tab(text: str) -> str:
    """Which line is indented with a tab, the commonest fault that YAML has no plain word for; empty where none is."""
    for number, line in enumerate(text.splitlines(), start=1):
        if "\t" in line[: len(line) - len(line.lstrip())]:
            return f"line {number} is indented with a tab; YAML takes spaces alone"
    return ""
