"""Which files of a run can be trusted: those that are, byte for byte, what the provenance beside them states.

A file that was torn, edited, or put back from another run stops whoever reads it, with its name and the rule that makes
it again. `untrusted` finds all such files of a folder, so that `python -m reproduction.run` can have them made again.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import provenance
from .provenance import FILES, PARAMS, RULE, SUFFIX

FOLDERS = ("results", "figures")
_PARTS = (
    "_densities",
    "_comparison",
    "_summary",
    "_tables",
)  # of a name: files that share the provenance of the name before
_ENDS = (".csv", ".tsv", ".json", ".png", ".pdf", ".yaml", ".txt")
_RECORDS = Path(".snakemake/metadata")


class Damaged(ValueError):
    """A file is not the one that its provenance states; the message says which rule makes it again."""


@dataclass(frozen=True)
class Fault:
    """Files that cannot be trusted.

    Parameters
    ----------
    why : in words, with the name.
    files : those of them that exist, their provenance among them.
    """

    why: str
    files: tuple[Path, ...]


def content(path: str | Path) -> bytes:
    """All bytes of a file that a run made.

    Raises
    ------
    Damaged
        If its provenance is missing or states other bytes.
    """
    raw = Path(path).read_bytes()
    _compare(Path(path), hashlib.sha256(raw).hexdigest())
    return raw


def checked(path: str | Path) -> Path:
    """The path of a file that a run made, read once and found to be what its provenance states; for large files.

    Raises
    ------
    Damaged
        As `content`.
    """
    _compare(Path(path), provenance.sha256(Path(path)))
    return Path(path)


def stated(path: str | Path) -> dict[str, Any]:
    """The provenance that speaks for a file.

    Raises
    ------
    Damaged
        If there is none, or it is no JSON object with the digests of files.
    """
    path = Path(path)
    for beside in _candidates(path):
        if beside.is_file():
            found = _loaded(beside)
            if found is None:
                raise Damaged(f"{beside}: is torn or no provenance. {_way_out(path, '')}")
            return found
    raise Damaged(f"{path}: has no provenance that states its bytes. {_way_out(path, '')}")


def untrusted(root: Path, expected: Iterable[str] = ()) -> Iterator[Fault]:
    """Everything below `root` that is not what its provenance states, or has none.

    Parameters
    ----------
    root : working directory of runs.
    expected : files of the workflow that need a provenance where they exist.

    Yields
    ------
    Fault
        Torn, edited or lost files beside a provenance; a provenance of another run than the last one that Snakemake
        recorded for this folder; files without any; records of Snakemake that it could not read, with their files.
    """
    yield from _torn_records(root)
    known: set[Path] = set()
    for folder in FOLDERS:
        for beside in sorted((root / folder).rglob(f"*{SUFFIX}")):
            found = _loaded(beside)
            files = _named(beside, found or {})
            known.update(files)
            torn = f"{beside.relative_to(root)} is torn"
            if why := torn if found is None else _broken(root, files, found):
                yield Fault(why, tuple(path for path in (*files, beside) if path.is_file()))
    for name in expected:
        if (root / name).is_file() and root / name not in known:
            yield Fault(f"{name} has no provenance", (root / name,))


def _broken(root: Path, files: Mapping[Path, str], found: Mapping[str, Any]) -> str:
    """Why files are not those of the last run, in words; empty where they are."""
    for path, digest in files.items():
        if not path.is_file():
            return f"{path.relative_to(root)} is lost"
        if provenance.sha256(path) != digest:
            return f"{path.relative_to(root)} is not what its provenance states"
    first = next(iter(files), None)
    recorded = _recorded(root, first) if first else None
    if first and recorded is not None and found.get(PARAMS) and recorded != found[PARAMS]:
        return f"{first.relative_to(root)} is of another run than the last one here"
    return ""


def _recorded(root: Path, path: Path) -> str | None:
    """Digest of the parameters with which Snakemake says that it made a file here last."""
    name = base64.urlsafe_b64encode(str(path.relative_to(root)).encode()).decode()
    try:
        params = json.loads((root / _RECORDS / name).read_bytes())["params"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return provenance.digest(params)


def _torn_records(root: Path) -> Iterator[Fault]:
    """Records that would stop Snakemake with an error of its own; what they spoke for is of an unknown run."""
    for path in sorted((root / _RECORDS).rglob("*")):
        if not path.is_file() or _json(path) is not None:
            continue
        encoded = "".join(part.removeprefix("@") for part in path.relative_to(root / _RECORDS).parts)
        try:
            name = base64.urlsafe_b64decode(encoded).decode()
        except ValueError:
            name = ""
        file = root / name
        made = name.partition("/")[0] in FOLDERS and ".." not in file.parts and "\0" not in name and file.is_file()
        yield Fault(f"Snakemake's record of {name or path.name} is torn", (path, *((file,) if made else ())))


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _compare(path: Path, digest: str) -> None:
    found = stated(path)
    wanted = found[FILES].get(path.name)
    if wanted != digest:
        rule = str(found.get(RULE, ""))
        raise Damaged(
            f"{path}: is not the file that its provenance states (SHA-256 {wanted}, got {digest}): torn, edited, or "
            f"of another run. {_way_out(path, rule)}"
        )


def _way_out(path: Path, rule: str) -> str:
    made = f"Rule {rule} makes it" if rule else "Make it"
    return f"{made} again: snakemake --cores 1 --force {path}; `make` does so by itself"


def _candidates(path: Path) -> Iterator[Path]:
    yield path.with_suffix(SUFFIX)
    for part in _PARTS:
        if path.stem.endswith(part):
            yield path.with_name(path.stem.removesuffix(part) + SUFFIX)


def _loaded(path: Path) -> dict[str, Any] | None:
    found = _json(path)
    return {FILES: {}, **found} if found is not None and isinstance(found.get(FILES, {}), dict) else None


def _named(beside: Path, found: Mapping[str, Any]) -> dict[Path, str]:
    """The files that a provenance speaks for: plain names beside it that begin like its own; all, where it is torn."""
    stem = beside.name.removesuffix(SUFFIX)
    named = found.get(FILES) or {name: "" for end in _ENDS if beside.with_name(name := stem + end).is_file()}
    return {
        beside.with_name(name): str(digest)
        for name, digest in named.items()
        if "/" not in name and name.startswith(stem) and name.endswith(_ENDS)
    }
