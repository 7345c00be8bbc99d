"""Entry point: check everything, open the confidential file once, draw, publish once.

Nothing confidential leaves through an error: expected ones name file, line, column and rule; of an unexpected one only
its kind is shown, its text goes to ``confidential/``.
"""

import hashlib
import json
import platform
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .._files.csv_table import CsvTable
from .._files.faults import FileFault
from . import _asked, _books, _confidential, _costs, _entries, _made, _memory, _places, _protocol, checks
from ._asked import Asked
from ._journal import Line
from ._keys import TREE_KEYS
from ._ledger import Ledger
from ._plan import Drawn, Plan
from ._refused import Refused

_PLANS = {
    "discrete_laplace": ("_counts", "laplace"),
    "discrete_gaussian": ("_counts", "gaussian"),
    "additive_counts": ("_additive", "additive"),
    "censored_statistics": ("_statistics", "censored"),
    "swap": ("_microdata", "swap"),
    "naive_bayes": ("_classifier", "naive_bayes"),
    "bayesian_network": ("_classifier", "bayesian_network"),
}
_NOT_ASKED = ("data", "generation", "accept_weak_privacy")


def check(
    name: str, settings: Mapping[str, Any], *, budgets: Mapping[str, Mapping[str, float]] | None = None, root: Path
) -> list[tuple[str, str]]:
    """Everything that is wrong with a release's settings; no confidential file is opened.

    Parameters
    ----------
    name : of the release, its key under ``releases:``.
    settings : what stands there.
    budgets : the section of that name.
    root : folder in which ``releases/`` and ``confidential/`` lie and from which paths are read.

    Returns
    -------
    list of (path in the configuration, what is wrong), empty if all is well.
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
    """Make a release, or find it made: its folder with ``release.csv`` and ``record.json``.

    Parameters
    ----------
    name, settings, budgets, root : as in `check`.
    wait : seconds to wait for another release that is being made.

    Returns
    -------
    Path ``root/releases/<name>/<generation>``. If that generation exists nothing is drawn and nothing changes.

    Raises
    ------
    ValueError
        With all of `check`'s mistakes; if the settings or the confidential file changed under the same generation; if
        the budget of the source does not cover the cost; if the file breaks a rule.
    TimeoutError
        If another process holds the lock.
    RuntimeError
        If something unexpected happened while the confidential file was open; the report about it is confidential.

    Notes
    -----
    The protocol takes under 50 ms besides reading and drawing.
    """
    root = Path(root)
    missing = _made.elsewhere(name, settings, root)
    if missing is not None:
        return missing
    if found := check(name, settings, budgets=budgets, root=root):
        raise Refused("\n".join(f"{path}: {why}" for path, why in found))
    get = checks.filled(settings)
    source = get["source"] or name
    asked = Asked(
        root=root,
        release=name,
        generation=get["generation"],
        source=source,
        mechanism=get["mechanism"],
        ceiling=(budgets or {}).get(source, {}),
    )
    _books.read(Ledger(root / _books.FOLDER / "ledger.tsv"))  # a damaged line is told before anything is made
    _confidential.keep_in_memory()
    with _protocol.locked(root, wait=wait):
        return _guarded(root, asked, lambda: _make(asked, get, settings))


def spent(
    name: str, settings: Mapping[str, Any], *, budgets: Mapping[str, Mapping[str, float]] | None = None, root: Path
) -> str:
    """What the source of a release has spent so far, and what bounds it, in a sentence.

    Parameters
    ----------
    name, settings, budgets, root : as in `check`.

    Returns
    -------
    str
    """
    source = settings.get("source") or name
    entries = Ledger(Path(root) / _books.FOLDER / "ledger.tsv").lines()
    ceiling = (budgets or {}).get(source, {})
    words = _costs.so_far(_entries.costs(entries, source), ceiling)
    forgetful = "" if _memory.of_account().there else "; the account remembers nothing of it: its home is read-only"
    return f"source {source}: {words}{forgetful}"


def _make(asked: Asked, get: Mapping[str, Any], written: Mapping[str, Any]) -> Path:
    books = _books.opened(asked.root)
    lines = books.agreed()
    entry = _asked.state(asked, lines)
    raw = _confidential.read(asked.root / get["data"])
    marks = _Marks(books.journal.secret, raw)
    # as settings are kept since numbers are compared as numbers, and as they were kept before
    settings = [marks.settings(asked, form) for form in (get, checks.filled(written, plain=False))]
    if entry is not None:
        _asked.unchanged(asked, entry, settings=settings, data=marks.data(asked.release, asked.generation))
        return _protocol.finish(asked, entry, books)
    table = _confidential.table(raw, name=get["data"], delimiter=get["delimiter"], encoding=get["encoding"])
    content = _confidential.content(table)
    place = str((asked.root / get["data"]).resolve().relative_to(books.place))
    file, name = marks.of(b"file", content), marks.of(b"name", place.encode())
    _asked.one_source(asked, lines, file=file, name=name, bound=lambda e: marks.data(e.release, e.generation))
    files = [books.memory.fingerprint(content)]
    books.elsewhere(files)
    plan = _plan(get, table)
    why = checks.weak(epsilon=plan.cost.epsilon or 0.0, rho=plan.cost.rho or 0.0)
    if why and not get["accept_weak_privacy"]:
        raise Refused(f"{asked}: {why}")
    _asked.affordable(asked, plan.cost, lines)
    drawn = plan.draw()
    if drawn.report is not None:
        _confidential.keep(books.place, f"{asked.release}_{asked.generation}_changes.csv", drawn.report)
    record, data = _record(asked, plan, drawn), marks.data(asked.release, asked.generation)
    public = {"data": drawn.data, "record": record}
    entry = _protocol.spending(asked, **public, cost=plan.cost, settings=settings[0], source_data=data)
    return _protocol.release(asked, books, Line(entry=entry, file=file, name=name), **public, files=files)


@dataclass(frozen=True, repr=False)
class _Marks:
    """Fingerprints of a file and of settings under the secret of its journal."""

    secret: bytes
    raw: bytes

    def of(self, kind: bytes, *parts: bytes) -> str:
        return _confidential.fingerprint(self.secret, kind, *parts)

    def data(self, release: str, generation: int) -> str:
        return self.of(b"data", f"{release}\n{generation}".encode(), self.raw)

    def settings(self, asked: Asked, get: Mapping[str, Any]) -> str:
        # keys of trees, where none is stated, are not there: releases that are older have none
        kept = {k: v for k, v in get.items() if k not in _NOT_ASKED and not (k in TREE_KEYS and v is None)}
        wanted = json.dumps(kept, sort_keys=True)
        return self.of(b"settings", f"{asked.release}\n{asked.generation}".encode(), wanted.encode())


def _plan(get: Mapping[str, Any], table: CsvTable) -> Plan:
    module, name = _PLANS[get["mechanism"]]
    found: Callable[[Mapping[str, Any], CsvTable], Plan] = getattr(import_module(f"{__package__}.{module}"), name)
    return found(get, table)


def _record(asked: Asked, plan: Plan, drawn: Drawn) -> bytes:
    stated = {
        "release": asked.release,
        "generation": asked.generation,
        "source": asked.source,
        "mechanism": asked.mechanism,
        "cost": plan.cost.stated(),
        "against_ceiling": plan.cost.against_ceiling,
        "ceiling": dict(asked.ceiling) or _costs.UNBOUNDED,
        "neighbours": plan.cost.relation,
        **plan.facts,
        **drawn.facts,
        "file": _books.DATA,
        "sha256": hashlib.sha256(drawn.data).hexdigest(),
        "versions": {"python": platform.python_version()}
        | {p: _version(p) for p in ("dpmultinomial", "opendp", "randomgen", "numpy")},
    }
    return (json.dumps(stated, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return str(getattr(import_module(package), "__version__", "unknown"))


def _guarded(root: Path, asked: Asked, call: Callable[[], Path]) -> Path:
    """Errors that may have seen confidential values leave only their kind outside."""
    try:
        return call()
    except (Refused, FileFault, OSError):
        raise
    except Exception as error:
        kind, text = type(error).__name__, traceback.format_exc().encode()
    where = _confidential.keep(_places.folder(root), f"{asked.release}_{asked.generation}_error.txt", text)
    raise RuntimeError(
        f"{asked}: {kind} while the confidential file was open; what is known is in {_places.FOLDER}/{where.name}"
    )
