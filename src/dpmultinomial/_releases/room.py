"""Entry point: check everything, open the confidential file once, draw, publish once.

Nothing confidential leaves through an error: expected ones name file, line, column and rule; of an unexpected one only
its kind is shown, its text goes to ``confidential/``.
"""

import hashlib
import json
import platform
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .._files.csv_table import CsvTable
from .._files.faults import FileFault
from . import _confidential, _protocol, checks
from ._plan import Drawn, Plan
from ._protocol import Asked
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
    missing = _published(name, settings, root)
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
    with _protocol.locked(root, wait=wait):
        return _guarded(root, asked, lambda: _make(asked, get))


def _make(asked: Asked, get: Mapping[str, Any]) -> Path:
    entry = _protocol.state(asked)
    if entry is not None and not _confidential.has_key(asked.root):
        raise Refused(f"{asked}: confidential/.release_key is gone: nobody can tell whether anything changed")
    raw = _confidential.read(asked.root / get["data"])
    secret = _confidential.key(asked.root)
    wanted = json.dumps({k: v for k, v in get.items() if k not in _NOT_ASKED}, sort_keys=True)
    where = f"{asked.release}\n{asked.generation}".encode()
    settings = _confidential.fingerprint(secret, b"settings", where, wanted.encode())
    data = _confidential.fingerprint(secret, b"data", where, raw)
    if entry is not None:
        _protocol.unchanged(asked, entry, settings=settings, data=data)
        return _protocol.finish(asked, entry)
    table = _confidential.table(raw, name=get["data"], delimiter=get["delimiter"], encoding=get["encoding"])
    plan = _plan(get, table)
    if (why := checks.weak(epsilon=plan.cost.epsilon or 0.0, rho=plan.cost.rho or 0.0)) and not get[
        "accept_weak_privacy"
    ]:
        raise Refused(f"{asked}: {why}")
    _protocol.affordable(asked, plan.cost)
    drawn = plan.draw()
    if drawn.report is not None:
        _confidential.keep(asked.root, f"{asked.release}_{asked.generation}_changes.csv", drawn.report)
    record = _record(asked, plan, drawn)
    return _protocol.release(asked, data=drawn.data, record=record, cost=plan.cost, settings=settings, source_data=data)


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
        "neighbours": plan.cost.relation,
        **plan.facts,
        **drawn.facts,
        "file": _protocol.DATA,
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


def _published(name: str, settings: Mapping[str, Any], root: Path) -> Path | None:
    """The folder of a published release whose confidential file is not on this machine: only its files can be used."""
    data, generation = settings.get("data"), settings.get("generation", 1)
    if (
        not isinstance(data, str)
        or (root / data).exists()
        or not isinstance(name, str)
        or not checks.NAME.fullmatch(name)
    ):
        return None
    folder = root / _protocol.FOLDER / name / str(generation)
    return folder if (folder / _protocol.RECORD).is_file() and (folder / _protocol.DATA).is_file() else None


def _guarded(root: Path, asked: Asked, call: Callable[[], Path]) -> Path:
    """Errors that may have seen confidential values leave only their kind outside."""
    try:
        return call()
    except (Refused, FileFault, OSError):
        raise
    except Exception as error:
        kind, text = type(error).__name__, traceback.format_exc().encode()
    where = _confidential.keep(root, f"{asked.release}_{asked.generation}_error.txt", text)
    raise RuntimeError(
        f"{asked}: {kind} while the confidential file was open; what is known is in {where.relative_to(root)}"
    )
