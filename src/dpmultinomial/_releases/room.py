"""Entry point for making releases from confidential files. It checks all settings, opens the confidential file once,
draws the noise, and publishes the release once.

Errors do not reveal confidential information. Expected errors state file, line, column and rule. For an unexpected
error, only the type is shown, and the text is written to ``confidential/``.

If a release was made on another machine, its public files are available, but its confidential file is not.
"""

import hashlib
import json
import math
import os
import platform
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .._files.csv_table import CsvTable
from .._files.places import FileFault
from .._files.published import DATA, RECORD
from . import _budget_records, _confidential, _places, _protocol, checks, losses, spending
from ._budget_records import FOLDER, Ledger, Line
from ._keys import COUNTS, TREE_KEYS
from ._places import Refused
from ._protocol import Asked
from .spending import Drawn, Plan

# mapping from a key of the settings to the corresponding key of the record
_SAME = {
    **{key: (key,) for key in ("rate", "lower", "upper", "column", "algorithm", "target", "network", "order", "floor")},
    **{"swap": ("swapped",), "match": ("matched",), "sensitivity": ("sensitivity",)},
}
_TREE = {"levels": ("levels",), "shares": ("shares",), "narrow": ("narrow",), "relation": ("neighbours",)}
_SPENT = {"epsilon": ("cost", "epsilon"), "rho": ("cost", "rho")}


def elsewhere(name: str, settings: Mapping[str, Any], root: Path) -> Path | None:
    """Return the folder of a published release whose confidential file is not on this machine. Only the public files of
    such a release can be used.

    Parameters
    ----------
    name, settings, root : as in `room.make`.

    Returns
    -------
    Path, or None if the confidential file is on this machine or nothing was published.

    Raises
    ------
    ValueError
        If the public files do not match their record and the ledger, or the record has other settings.
    """
    data, generation = settings.get("data"), settings.get("generation", 1)
    good = isinstance(data, str) and "\0" not in data and isinstance(name, str) and checks.NAME.fullmatch(name)
    if not good or os.path.exists(root / str(data)):
        return None
    folder = root / FOLDER / name / str(generation)
    if not (folder / RECORD).is_file() or not (folder / DATA).is_file():
        return None
    if mistakes := [m for m in checks.problems(name, settings, budgets={}, root=root) if not m[0].endswith("/data")]:
        raise Refused("\n".join(f"{path}: {why}" for path, why in mistakes))
    record = losses.opened(folder).record
    for key, stated, asked in _both(checks.filled(settings), record, name):
        if not _equal(stated, asked, key):
            raise Refused(
                f"releases/{name}: {key} is {asked!r}, but the existing release has {stated!r}: set {key} to "
                f"{stated!r} or, to make a new release, restore {data}, which was not found"
            )
    return folder


def _both(get: Mapping[str, Any], record: Mapping[str, Any], name: str) -> list[tuple[str, Any, Any]]:
    """Return a triple (key, value in the record, value in the settings) for every key that occurs both in the record
    and in the settings of a release.
    """
    triples = [
        ("mechanism", record["mechanism"], get["mechanism"]),
        ("source", record["source"], get["source"] or name),
    ]
    each = "epsilon_of_each_count"
    tree = _TREE if record["mechanism"] in COUNTS else {}
    for key, path in (_SAME | _SPENT | tree | ({"epsilon": (each,)} if each in record else {})).items():
        value: Any = record
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if (
            get.get(key) is not None
            and (value is not None or key in tree)
            and not (key == "sensitivity" and isinstance(value, Mapping))
        ):
            triples.append((key, value, get[key]))
    return triples


def _equal(stated: Any, asked: Any, key: str) -> bool:
    if isinstance(stated, (int, float)) and isinstance(asked, (int, float)):
        # the spent cost is at most the requested cost, up to rounding of a scale
        least = 1 - 1e-6 if key in _SPENT else 1.0
        return asked * least <= stated <= asked or math.isclose(stated, asked, rel_tol=1e-12)
    return bool(stated == asked)


_PLANS = {
    "discrete_laplace": ("_counts", "laplace"),
    "discrete_gaussian": ("_counts", "gaussian"),
    "additive_counts": ("_counts", "additive"),
    "censored_statistics": ("_statistics", "censored"),
    "swap": ("_microdata", "swap"),
    "naive_bayes": ("_classifier", "naive_bayes"),
    "bayesian_network": ("_classifier", "bayesian_network"),
}
_NOT_ASKED = ("data", "generation", "accept_weak_privacy")


def check(
    name: str, settings: Mapping[str, Any], *, budgets: Mapping[str, Mapping[str, float]] | None = None, root: Path
) -> list[tuple[str, str]]:
    """Return all errors in the settings of a release, without opening a confidential file.

    Parameters
    ----------
    name : name of the release, which is its key under ``releases:``.
    settings : section of the release.
    budgets : section ``budgets`` of the configuration.
    root : folder that contains ``releases/`` and ``confidential/``; paths are relative to it.

    Returns
    -------
    list of (path in the configuration, description of the error), empty if there are no errors.
    """
    return checks.problems(name, settings, budgets=budgets or {}, root=Path(root))


def make(
    name: str,
    settings: Mapping[str, Any],
    *,
    budgets: Mapping[str, Mapping[str, float]] | None = None,
    root: Path,
    wait: float = _protocol.WAIT,
) -> Path:
    """Make a release, unless this release already exists. Return the folder, which contains ``release.csv`` and
    ``record.json``.

    Parameters
    ----------
    name, settings, budgets, root : as in `check`.
    wait : seconds to wait for another release in progress.

    Returns
    -------
    Path ``root/releases/<name>/<generation>``. If that generation exists, no noise is drawn and no file is changed.

    Raises
    ------
    ValueError
        With all errors of `check`; if the settings or the confidential file changed under the same generation; if the
        budget of the source does not cover the cost; or if the file breaks a rule.
    TimeoutError
        If another process holds the lock.
    RuntimeError
        If an unexpected error occurred while the confidential file was open; the report about it is confidential.

    Notes
    -----
    The protocol takes less than 50 ms in addition to reading the file and drawing the noise.
    """
    root = Path(root)
    missing = elsewhere(name, settings, root)
    if missing is not None:
        return missing
    # the remaining budget is compared with the journal below, after the journal has been checked against the ledger
    if mistakes := checks.problems(name, settings, budgets=budgets or {}, root=root, left=False):
        raise Refused("\n".join(f"{path}: {why}" for path, why in mistakes))
    get = checks.filled(settings)
    source = get["source"] or name
    asked = Asked(
        root=root,
        release=name,
        generation=get["generation"],
        source=source,
        mechanism=get["mechanism"],
        ceiling=checks.limits(budgets, source),
        sources=checks.sources(budgets, source),
    )
    _budget_records.read(
        Ledger(root / _budget_records.FOLDER / "ledger.tsv")
    )  # a damaged line is reported before a release is made
    _confidential.keep_in_memory()
    with _protocol.locked(root, wait=wait):
        return _guarded(root, asked, lambda: _make(asked, get, settings))


def spent(
    name: str, settings: Mapping[str, Any], *, budgets: Mapping[str, Mapping[str, float]] | None = None, root: Path
) -> str:
    """Return a sentence that states the spending so far on the source of a release, and the budget of the source.

    Parameters
    ----------
    name, settings, budgets, root : as in `check`.

    Returns
    -------
    str
    """
    source = settings.get("source") or name
    entries = Ledger(Path(root) / _budget_records.FOLDER / "ledger.tsv").lines()
    ceiling, counted = checks.limits(budgets, source), checks.sources(budgets, source)
    words = spending.so_far(_budget_records.costs(entries, *counted), ceiling)
    generation = settings.get("generation", 1)
    made = (Path(root) / FOLDER / name / str(generation) / RECORD).is_file()
    if made and (name, generation) not in {entry.name for entry in entries}:  # made on another machine
        words = f"unknown, because {FOLDER}/ledger.tsv does not contain this release"
    if ceiling:
        words += f"; {spending.counted_over(source, counted)}"
    forgetful = (
        ""
        if _budget_records.of_account().there
        else "; the journal is not copied to the user account, because its folder is not writable"
    )
    return f"source {source}: {words}{forgetful}"


def _make(asked: Asked, get: Mapping[str, Any], written: Mapping[str, Any]) -> Path:
    books = _budget_records.opened(asked.root)
    lines = books.agreed()
    entry = _protocol.state(asked, lines)
    raw = _confidential.read(asked.root / get["data"])
    marks = _Marks(books.journal.secret, raw)
    # the current form of stored settings, in which numbers are compared as numbers, and the earlier form
    settings = [marks.settings(asked, form) for form in (get, checks.filled(written, plain=False))]
    if entry is not None:
        _protocol.unchanged(asked, entry, settings=settings, data=marks.data(asked.release, asked.generation))
        folder = _protocol.finish(asked, entry, books)
        with suppress(Refused, FileFault):  # a lost key of the account does not affect a release that exists
            books.remember([books.memory.fingerprint(_confidential.content(_table(get, raw)))])
        return folder
    table = _table(get, raw)
    content = _confidential.content(table)
    place = str((asked.root / get["data"]).resolve().relative_to(books.place))
    file, name = marks.of(b"file", content), marks.of(b"name", place.encode())
    _protocol.one_source(asked, lines, file=file, name=name, bound=lambda e: marks.data(e.release, e.generation))
    files = [books.memory.fingerprint(content)]
    books.elsewhere(files)
    plan = _plan(get, table)
    why = checks.weak(epsilon=plan.cost.epsilon or 0.0, rho=plan.cost.rho or 0.0)
    if why and not get["accept_weak_privacy"]:
        raise Refused(f"{asked}: {why}")
    _protocol.affordable(asked, plan.cost, lines)
    drawn = plan.draw()
    if drawn.report is not None:
        _confidential.keep(books.place, f"{asked.release}_{asked.generation}_changes.csv", drawn.report)
    record, data = _record(asked, plan, drawn), marks.data(asked.release, asked.generation)
    public = {"data": drawn.data, "record": record}
    entry = _protocol.spending(asked, **public, cost=plan.cost, settings=settings[0], source_data=data)
    return _protocol.release(asked, books, Line(entry=entry, file=file, name=name), **public, files=files)


def _table(get: Mapping[str, Any], raw: bytes) -> CsvTable:
    return _confidential.table(raw, name=get["data"], delimiter=get["delimiter"], encoding=get["encoding"])


@dataclass(frozen=True, repr=False)
class _Marks:
    """Fingerprints of a file and of settings, computed with the secret key of the journal."""

    secret: bytes
    raw: bytes

    def of(self, kind: bytes, *parts: bytes) -> str:
        return _confidential.fingerprint(self.secret, kind, *parts)

    def data(self, release: str, generation: int) -> str:
        return self.of(b"data", f"{release}\n{generation}".encode(), self.raw)

    def settings(self, asked: Asked, get: Mapping[str, Any]) -> str:
        # keys of trees that are not stated are omitted, because older releases do not have them
        kept = {k: v for k, v in get.items() if k not in _NOT_ASKED and not (k in TREE_KEYS and v is None)}
        wanted = json.dumps(kept, sort_keys=True)
        return self.of(b"settings", f"{asked.release}\n{asked.generation}".encode(), wanted.encode())


def _plan(get: Mapping[str, Any], table: CsvTable) -> Plan:
    module, name = _PLANS[get["mechanism"]]
    plan_of: Callable[[Mapping[str, Any], CsvTable], Plan] = getattr(import_module(f"{__package__}.{module}"), name)
    return plan_of(get, table)


def _record(asked: Asked, plan: Plan, drawn: Drawn) -> bytes:
    stated = {
        "release": asked.release,
        "generation": asked.generation,
        "source": asked.source,
        "mechanism": asked.mechanism,
        "cost": plan.cost.stated(),
        "against_ceiling": plan.cost.against_ceiling,
        "ceiling": dict(asked.ceiling) or spending.UNBOUNDED,
        **({"budget_sources": list(asked.sources)} if len(asked.sources) > 1 else {}),
        "neighbours": plan.cost.relation,
        "epsilon_at_delta": losses.at_delta(plan.cost, plan.losses, delta=_delta(asked)),
        **plan.facts,
        **drawn.facts,
        "file": _budget_records.DATA,
        "sha256": hashlib.sha256(drawn.data).hexdigest(),
        "versions": {"python": platform.python_version()}
        | {p: _version(p) for p in ("dpmultinomial", "opendp", "randomgen", "numpy")},
    }
    return (json.dumps(stated, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _delta(asked: Asked) -> float:
    """Return the delta for which the record of a release states epsilon. If the budget has a delta, this delta is
    returned.
    """
    return float(asked.ceiling.get("delta") or losses.DELTA)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return str(getattr(import_module(package), "__version__", "unknown"))


def _guarded(root: Path, asked: Asked, call: Callable[[], Path]) -> Path:
    """Convert errors that may contain confidential values into errors that state only the type of the original
    error.
    """
    try:
        return call()
    except (Refused, FileFault, OSError):
        raise
    except Exception as error:
        kind, text = type(error).__name__, traceback.format_exc().encode()
    where = _confidential.keep(_places.folder(root), f"{asked.release}_{asked.generation}_error.txt", text)
    raise RuntimeError(
        f"{asked}: an exception of type {kind} occurred while the confidential file was open. See "
        f"{_places.FOLDER}/{where.name} for details"
    )
