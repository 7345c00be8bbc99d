"""Check the files of a run against their provenance records. A file is trusted if it is identical, byte for byte, to
the file that its provenance record describes.

An attempt to read a file that is incomplete, edited or from another run raises an error that names the file and the
rule that regenerates it. The function `untrusted` finds all such files of a folder, so that `python -m
reproduction.run` can regenerate them.
"""

import base64
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from . import provenance, tables
from .provenance import FILES, INPUTS, PARAMS, RULE, SUFFIX

FOLDERS = ("results", "figures")
_PARTS = (
    "_densities",
    "_comparison",
    "_summary",
    "_tables",
)  # suffixes of the names of files that have the same provenance record as the file without the suffix
_ENDS = (".csv", ".tsv", ".json", ".png", ".pdf", ".yaml", ".txt")
_RECORDS = Path(".snakemake/metadata")


class Damaged(ValueError):
    """Error that is raised if a file does not match its provenance record. The message names the rule that regenerates
    the file.
    """


@dataclass(frozen=True)
class Fault:
    """Group of files that fail the provenance check for the same reason.

    Parameters
    ----------
    why : reason with the name of the file.
    files : existing files of the group, including the provenance record.
    """

    why: str
    files: tuple[Path, ...]


def content(path: str | Path) -> bytes:
    """Return the bytes of a file that was written by a run, after checking the file against its provenance record.

    Raises
    ------
    Damaged
        If its provenance is missing or its SHA-256 differs.
    """
    raw = Path(path).read_bytes()
    _compare(Path(path), hashlib.sha256(raw).hexdigest())
    return raw


def checked(path: str | Path) -> Path:
    """Return the path of a large file that was written by a run, after checking the file against its provenance record.

    Raises
    ------
    Damaged
        In the same cases as `content`.
    """
    _compare(Path(path), provenance.sha256(Path(path)))
    return Path(path)


def stated(path: str | Path) -> dict[str, Any]:
    """Return the provenance record of a file of a run.

    Raises
    ------
    Damaged
        If it is missing, or is not a JSON object with the digests of files.
    """
    path = Path(path)
    for beside in _candidates(path):
        if beside.is_file():
            record = _loaded(beside)
            if record is None:
                raise Damaged(f"{beside} is incomplete or is not a provenance record. {_way_out(path, '')}")
            return record
    raise Damaged(f"no provenance record contains the SHA-256 checksum of {path}. {_way_out(path, '')}")


def untrusted(root: Path, expected: Iterable[str] = (), requested: Iterable[str] | None = None) -> Iterator[Fault]:
    """Yield all files below `root` that do not match their provenance record or have no provenance record.

    Parameters
    ----------
    root : working directory of runs.
    expected : files of the workflow that need a provenance record if they exist.
    requested : files that every run makes. If they are given, files that were made from an untrusted file which no run
        requests are also untrusted, because Snakemake regenerates an intermediate file only if another file needs it.

    Yields
    ------
    Fault
        Four kinds of files: incomplete, edited or missing files that have a provenance record; files whose provenance
        record is not from the last run that Snakemake recorded for this folder; files without a provenance record; and
        unreadable records of Snakemake, with their files.
    """
    yield from _torn_records(root)
    known: set[Path] = set()
    groups: list[_Group] = []
    waiting: list[_Group] = []
    for folder in FOLDERS:
        for beside in sorted((root / folder).rglob(f"*{SUFFIX}")):
            record = _loaded(beside)
            files = _named(beside, record or {})
            known.update(files)
            torn = f"{beside.relative_to(root)} is incomplete"
            group: _Group = (beside, record or {}, files)
            if why := torn if record is None else _broken(root, files, record):
                yield Fault(why, _removable(files, beside))
                waiting.append(group)
            else:
                groups.append(group)
    yield from _consumers(root, groups, waiting, requested)
    for name in expected:
        if (root / name).is_file() and root / name not in known:
            yield Fault(f"{name} has no provenance", (root / name,))


# path of the provenance record, content of the record, and files with their digests
_Group = tuple[Path, Mapping[str, Any], Mapping[Path, str]]


def _removable(files: Iterable[Path], beside: Path) -> tuple[Path, ...]:
    return tuple(path for path in (*files, beside) if path.is_file() or path.is_symlink())


def _consumers(
    root: Path, groups: list[_Group], waiting: list[_Group], requested: Iterable[str] | None
) -> Iterator[Fault]:
    """Yield the files that were computed, directly or indirectly, from untrusted files. Files that were computed only
    from untrusted files that the run requests are omitted.
    """
    if requested is None:
        return
    made_by_every_run = {root / name for name in requested}
    while waiting:
        _, _, files = waiting.pop()
        if made_by_every_run & {*files}:
            continue
        for group in list(groups):
            beside, record, consumers = group
            stated = record.get(INPUTS)
            inputs = [(Path(name).name, digest) for name, digest in stated.items()] if isinstance(stated, dict) else []
            if any((path.name, digest) in inputs for path, digest in files.items()):
                groups.remove(group)
                waiting.append(group)
                source = next(iter(files)).relative_to(root)
                yield Fault(f"{next(iter(consumers), beside).relative_to(root)} was made from {source}",
                            _removable(consumers, beside))  # fmt: skip


def _broken(root: Path, files: Mapping[Path, str], found: Mapping[str, Any]) -> str:
    """Return the reason why the files in a provenance record differ from the record or from the last run, or an empty
    string if they do not differ.
    """
    for path, digest in files.items():
        if path.is_symlink():
            return f"{path.relative_to(root)} was replaced by a link"
        if not path.is_file():
            return f"{path.relative_to(root)} is {'a folder' if path.is_dir() else 'missing'}"
        if provenance.sha256(path) != digest:
            return f"{path.relative_to(root)} does not match its provenance"
    if provenance.OWN in found and found[provenance.OWN] != provenance.own_digest(dict(found)):
        return f"the provenance of {next((str(path.relative_to(root)) for path in files), 'a file')} was changed"
    first = next(iter(files), None)
    recorded = _recorded(root, first) if first else None
    if first and recorded is not None and found.get(PARAMS) and recorded != found[PARAMS]:
        return f"{first.relative_to(root)} is not from the last run here"
    return ""


def _recorded(root: Path, path: Path) -> str | None:
    """Return the digest of the parameters with which Snakemake last computed a file, or None if Snakemake has no record
    of the file.
    """
    name = base64.urlsafe_b64encode(str(path.relative_to(root)).encode()).decode()
    try:
        params = json.loads((root / _RECORDS / name).read_bytes())["params"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return provenance.digest(params)


def _torn_records(root: Path) -> Iterator[Fault]:
    """Yield incomplete metadata records of Snakemake, together with the files that these records describe. Such a
    record would stop Snakemake with an unclear error, and the run that made its files is unknown.
    """
    for path in sorted((root / _RECORDS).rglob("*")):
        if not path.is_file() or _json(path) is not None:
            continue
        encoded = "".join(part.removeprefix("@") for part in path.relative_to(root / _RECORDS).parts)
        try:
            name = base64.urlsafe_b64decode(encoded).decode()
        except ValueError:
            name = ""
        file = root / name
        is_made = name.partition("/")[0] in FOLDERS and ".." not in file.parts and "\0" not in name and file.is_file()
        yield Fault(f"Snakemake's record of {name or path.name} is incomplete", (path, *((file,) if is_made else ())))


def _json(path: Path) -> dict[str, Any] | None:
    try:
        parsed = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _compare(path: Path, digest: str) -> None:
    record = stated(path)
    wanted = record[FILES].get(path.name)
    if wanted != digest:
        rule = str(record.get(RULE, ""))
        raise Damaged(
            f"{path} does not match its provenance (the SHA-256 checksum is {digest}, but the provenance states "
            f"{wanted}), because the file is incomplete, was edited, or is from another run. {_way_out(path, rule)}"
        )


def _way_out(path: Path, rule: str) -> str:
    way = f"Rule {rule} regenerates it" if rule else "Regenerate it"
    return f"{way}: snakemake --cores 1 --force {path}; `make` does this automatically"


def _candidates(path: Path) -> Iterator[Path]:
    yield path.with_suffix(SUFFIX)
    for part in _PARTS:
        if path.stem.endswith(part):
            yield path.with_name(path.stem.removesuffix(part) + SUFFIX)


def _loaded(path: Path) -> dict[str, Any] | None:
    parsed = _json(path)
    return {FILES: {}, **parsed} if parsed is not None and isinstance(parsed.get(FILES, {}), dict) else None


def _named(beside: Path, found: Mapping[str, Any]) -> dict[Path, str]:
    """Return a mapping from the files in a provenance record to the digests in the record. The mapping is limited to
    files in the folder of the record whose names begin with the name of the record. If the record is incomplete, all
    such files are returned.
    """
    stem = beside.name.removesuffix(SUFFIX)
    named = found.get(FILES) or {name: "" for end in _ENDS if beside.with_name(name := stem + end).is_file()}
    return {
        beside.with_name(name): str(digest)
        for name, digest in named.items()
        if "/" not in name and name.startswith(stem) and name.endswith(_ENDS)
    }


_SOURCES = Path(__file__).resolve().parent  # files in the folder of a paper are code, not results


def table(path: str | Path) -> pd.DataFrame:
    """Return a table that was computed by a run, or a table in the folder of a paper.

    Raises
    ------
    Damaged
        If its provenance is missing or its SHA-256 differs.
    """
    if Path(path).resolve().is_relative_to(_SOURCES):
        return tables.read(path)
    return tables.read(path, io.BytesIO(content(path)))
