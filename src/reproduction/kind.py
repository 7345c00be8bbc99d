"""Find, read and check the folders of the kinds of scenarios. Each kind has a folder below `scenarios`.

=================  =================================================================================================
file               what belongs in it
=================  =================================================================================================
``settings.yaml``  what it is about, which releases it answers, its keys: type, range, default, description
``rules.py``       plain Python: ``mistakes(settings, columns, batch)``; ``work(settings)``: CPU s and MB of a case;
                   where the settings name a folder ``files(settings)``, the files of it that a case reads;
                   ``assumptions(point)``: its assumptions as sentences (those of all kinds: `scenarios.sentences`)
``answer.py``      ``answer(case)``: one case; of a kind with ``batch`` also ``many(tables, settings, stream_of)``
=================  =================================================================================================

Optional: ``tests/``. At most eight small files.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from .config import config

FOLDER = Path(__file__).resolve().parent / "scenarios"
NEEDED = ("settings.yaml", "rules.py", "answer.py")
_SHARED = "shared.yaml"
_ABOUT = ("about", "data")  # texts
_LISTS = ("releases", "sources", "stated", "batch")
_COLUMNS = ("columns", "further", "by_table", "batch_defaults", "smoke")
_KEYS = (*_ABOUT, *_LISTS, *_COLUMNS, "definitions", "properties")


class KindError(ValueError):
    """Error that is raised if the folder of a kind of scenario contains mistakes. The message lists all mistakes, each
    with its file.
    """


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Kind of scenario, which is defined by the files in one folder.

    Parameters
    ----------
    name, folder : name and folder of the kind.
    about, data : descriptions of the question that the kind answers and of the data that it needs.
    releases : mechanisms whose releases the kind answers.
    sources : keys of which a scenario without a release must contain exactly one.
    stated : keys that the record of a release contains; a scenario of a release must not contain them.
    batch : keys that a batch may have in addition to `file`.
    columns : mapping from required columns of a file to ``text``, ``number`` or ``whole``.
    further : optional columns.
    by_table : keys that may be columns instead, with a constant value within a table.
    batch_defaults : mapping from a key to its default in a batch, if the default differs.
    smoke : mapping from a name to a toy scenario.
    schema : closed JSON Schema of one scenario, with definitions; lists that form a grid are checked point by point.
    """

    name: str
    folder: Path
    about: str
    data: str
    releases: tuple[str, ...]
    sources: tuple[str, ...]
    stated: tuple[str, ...]
    batch: tuple[str, ...]
    columns: Mapping[str, str]
    further: Mapping[str, str]
    by_table: Mapping[str, str]
    batch_defaults: Mapping[str, Any]
    smoke: Mapping[str, Mapping[str, Any]]
    schema: dict[str, Any] = field(repr=False)

    @property
    def package(self) -> str:
        """Return the dotted name of the package that implements a kind of scenario."""
        return f"{__package__}.scenarios.{self.name}"

    @property
    def modules(self) -> list[str]:
        """Return the full names of the modules that a job for this kind of scenario imports, including the modules that
        are shared by all kinds.
        """
        files = [f"{self.package}.{Path(file).stem}" for file in NEEDED if file.endswith(".py")]
        return [*(f"{__package__}.scenarios.{name}" for name in ("making", "figure", "batch")), *files]

    def rule(self, name: str) -> Any:
        """Return a function from the module ``rules.py`` of this kind of scenario."""
        return getattr(import_module(f"{self.package}.rules"), name)

    @property
    def refuse(self) -> Any:
        """Function ``refuse(settings, columns)`` of the module ``answer.py``, which raises an error if `answer` would
        reject the input. The value is None if the module has no such function.
        """
        return getattr(import_module(f"{self.package}.answer"), "refuse", None)

    def files(self, points: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the files that the cases of a scenario read in addition to the files named in the settings. They are
        given by ``rules.files(settings)`` if this function exists.
        """
        files_of = getattr(import_module(f"{self.package}.rules"), "files", None)
        return [] if files_of is None else list(dict.fromkeys(path for point in points for path in files_of(point)))

    def part(self, name: str) -> dict[str, Any]:
        """Return the schema of one key of the settings, with references resolved. The schema is empty for an unknown
        key.
        """
        return resolved(self.schema["properties"].get(name, {}), self.schema)

    def column_kinds(self, header: list[str]) -> dict[str, str]:
        """Return the type (``text`` or ``number``) of each column of the file that this kind of scenario reads."""
        return {c: k for c, k in {**self.columns, **self.further, **self.by_table}.items() if c in header}


def resolved(part: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a schema, in which a reference to a definition is replaced by the definition."""
    reference = str(part.get("$ref", "")).rpartition("/")[2]
    return {**schema["$defs"][reference], **part} if reference else dict(part)


@cache
def discover(folder: Path = FOLDER) -> dict[str, Kind]:
    """Return all kinds of scenarios as a dictionary with their names as keys.

    Raises
    ------
    KindError
        For all mistakes in all folders.
    """
    places = sorted(path.parent for path in folder.glob("*/settings.yaml"))
    shared = config.read(folder / _SHARED)
    kinds, mistakes = [], []
    for place in places:
        wrong = list(_mistakes(place))
        mistakes += [f"scenarios/{place.name}/{text}" for text in wrong]
        kinds += [] if wrong else [_read(place, shared)]
    taken: dict[str, str] = {}
    for kind in kinds:
        for mechanism in kind.releases:
            if (other := taken.setdefault(mechanism, kind.name)) != kind.name:
                mistakes.append(
                    f"scenarios/{kind.name}/settings.yaml: releases: {mechanism} is already listed by the kind {other}"
                )
    if mistakes:
        raise KindError("\n".join(mistakes))
    return {kind.name: kind for kind in kinds}


def _mistakes(place: Path) -> Iterator[str]:
    for name in NEEDED:
        if not (place / name).is_file():
            yield f"{name}: is missing"
    written = config.read(place / "settings.yaml")
    for key in sorted(set(written) - set(_KEYS)):
        yield f"settings.yaml: {key}: unknown key. The allowed keys are {', '.join(_KEYS)}"
    for key in (*_ABOUT, "properties", "sources"):
        if not written.get(key):
            yield f"settings.yaml: {key}: is missing"
    known = written.get("properties") or {}
    for key in (*_LISTS[1:], *_COLUMNS[2:4]):  # the other lists contain mechanisms or columns
        for name in sorted(set(written.get(key) or ()) - {*known, "level", "questions"}):
            yield f"settings.yaml: {key}: {name!r} is not a key under properties"


def _read(place: Path, shared: Mapping[str, Any]) -> Kind:
    written = config.read(place / "settings.yaml")
    properties = {**written["properties"], **deepcopy(shared["properties"])}
    about = {"description": "kind of the scenario; omit it if the scenario names a release", "enum": [place.name]}
    release = {"type": "string", "minLength": 1, "description": "name of a release under `releases`, or its folder"}
    schema = {
        **{"type": "object", "additionalProperties": False, "description": written["about"]},
        "properties": {"kind": about, **({"release": release} if written.get("releases") else {}), **properties},
        "$defs": {**shared["definitions"], **(written.get("definitions") or {})},
    }
    lists: dict[str, Any] = {key: tuple(written.get(key) or ()) for key in _LISTS}
    columns: dict[str, Any] = {key: dict(written.get(key) or {}) for key in _COLUMNS}
    texts: dict[str, Any] = {key: str(written[key]) for key in _ABOUT}
    return Kind(name=place.name, folder=place, schema=schema, **texts, **lists, **columns)
