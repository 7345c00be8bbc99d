"""Verify an unpacked archive: check all checksums, and recompute the agreement from the tables."""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from .. import provenance, results, tables, trust
from ..jobs import calls
from ..provenance import FILES, SUFFIX
from ..verdicts import agreement
from .writing import SUMS

_SRC = Path(__file__).resolve().parents[2]
_BUILT = {".venv", ".snakemake", "build", "__pycache__", ".git"}  # folders that are created when an archive is used
_ENDS = (".so", ".pyd", ".pyc")
_ALL = "results/agreement.tsv"


class Differs(ValueError):
    """Raised if an archive does not match its checksums or tables; the message lists every differing file."""


def verified(folder: Path) -> str:
    """Verify an unpacked archive and return a sentence that states what was verified.

    Parameters
    ----------
    folder : where the archive was unpacked.

    Raises
    ------
    Differs
        If a file was changed, removed or added; a provenance has a different SHA-256 or different sources; or the
        agreement does not follow from the tables.
    """
    folder = folder.resolve()
    sums = _sums(folder)
    _stop([*_other(folder, sums), *_added(folder, sums)])
    _stop([*_provenance(folder), *_sources(folder, sums)])
    _stop([*_own_code(sums)])
    slugs = sorted(path.parent.name for path in (folder / "results").glob("*/agreement.csv"))
    _stop([why for slug in slugs for why in _agreement(folder, slug)])
    _stop([*_together(folder, slugs)])
    return f"{len(sums)} files match {SUMS}; the agreement of {', '.join(slugs)} follows from the tables"


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except OSError:
        raise Differs(f"{folder / SUMS} is missing: pass the folder of an unpacked archive") from None
    found = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    bad = [name for name in found if not name or name.startswith("/") or ".." in Path(name).parts]
    _stop([f"{SUMS} names {name!r}, which is outside the archive" for name in bad])
    return found


def _other(folder: Path, sums: dict[str, str]) -> Iterator[str]:
    for name, digest in sums.items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif provenance.sha256(path) != digest:
            yield f"{name} differs from the archived file"


def _added(folder: Path, sums: dict[str, str]) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        built = _BUILT & {*place.parts} or path.suffix in _ENDS or any(p.endswith(".egg-info") for p in place.parts)
        if path.is_file() and not built and place.as_posix() not in {*sums, SUMS}:
            yield f"{place} was added"


def _provenance(folder: Path) -> Iterator[str]:
    return (fault.why for fault in trust.untrusted(folder))


def _sources(folder: Path, sums: dict[str, str]) -> Iterator[str]:
    """Check that the results were computed from the archived sources."""
    for beside in sorted([*folder.glob(f"results/**/*{SUFFIX}"), *folder.glob(f"figures/**/*{SUFFIX}")]):
        stated = json.loads(beside.read_bytes()).get(provenance.SOURCES, {})
        other = [name for name, digest in stated.items() if sums.get(f"src/{name}") != digest]
        if other:
            yield f"{beside.relative_to(folder)}: was made by a version of src/{other[0]} that is not in the archive"


def _own_code(sums: dict[str, str]) -> Iterator[str]:
    """Check that the running code is the code of the archive, which must compute the agreement."""
    for name, digest in sums.items():
        if name.startswith("src/reproduction/") and name.endswith(".py"):
            path = _SRC.parent / name
            if not path.is_file() or provenance.sha256(path) != digest:
                yield f"{name} is not the archive's version: run make verify in the folder of the archive"


def _agreement(folder: Path, slug: str) -> Iterator[str]:
    """Yield differences between the paper's agreement and the agreement computed from its tables."""
    place = folder / "results" / slug
    record = json.loads((place / f"agreement{SUFFIX}").read_bytes())
    read = {Path(name).stem: results.read(place / Path(name).name) for name in record[provenance.INPUTS]}
    ours = calls.find(f"{slug}.agreement.ours")(read)
    published = agreement.read_published(folder / f"src/reproduction/papers/{slug}/published.tsv")
    tables = {"agreement.csv": agreement.compare(published, ours, paper=slug)}
    tables["agreement_tables.csv"] = agreement.variants(published, ours)
    for name, table in tables.items():
        if _written(table, ".csv") != record[FILES].get(name):
            yield f"results/{slug}/{name} does not follow from the tables"


def _together(folder: Path, slugs: list[str]) -> Iterator[str]:
    """Yield differences between the table of all papers and the concatenated tables of the papers."""
    papers = list(dict.fromkeys(results.read(folder / _ALL)["paper"]))
    if sorted(papers) != slugs:
        yield f"{_ALL} covers {', '.join(papers)}, but there are tables of {', '.join(slugs)}"
        return
    parts = [results.read(folder / "results" / slug / "agreement.csv") for slug in papers]
    if _written(pd.concat(parts, ignore_index=True), ".tsv") != provenance.sha256(folder / _ALL):
        yield f"{_ALL} differs from the concatenated agreement tables of the papers"


def _written(table: pd.DataFrame, end: str) -> str:
    """Return the SHA-256 of a table in the form in which a run would write it."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, f"table{end}")
        tables.write(table, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def _stop(found: list[str]) -> None:
    if found:
        raise Differs("\n".join(found))
