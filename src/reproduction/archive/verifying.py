"""Verify an unpacked archive: check its checksums, and recompute its agreement tables from its tables of results.

The RO-Crate, the table of claims and the summary are recomputed too, except the times that only the run can know and
the accuracy of scenarios, whose results are not in an archive. Tables that take at most a quarter of a minute are
recomputed from the archive. Measured times, tables from other programs, longer computations and figures are compared
only by their digests, and their numbers are stated.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from .. import paper, provenance, tables, trust
from ..config import config
from ..jobs import artefacts, making
from ..provenance import FILES, SUFFIX
from ..verdicts import agreement, summary
from . import checksums, claims, contents, crate
from .checksums import Differs as Differs
from .checksums import stop

_SRC = Path(__file__).resolve().parents[2]
_ALL, _SUMMARY = "results/agreement.tsv", "results/summary.txt"
_SCENARIOS = re.compile(rf"{re.escape(summary.SCENARIOS)}\n(  .*\n)+\n")  # lines of a summary about scenarios
_MINUTES = 0.25  # longest declared time of a table that is recomputed
_PARTS = ("", "_tables")  # suffixes of the names of the agreement tables of a paper
_ROUNDED = 1e-6  # relative difference of numbers of a recomputed table on another machine


def verified(folder: Path) -> str:
    """Verify an unpacked archive, and return a sentence that states what was verified.

    Parameters
    ----------
    folder : folder of the unpacked archive.

    Raises
    ------
    Differs
        If a file was changed, removed or added, if a provenance has a different SHA-256 or different sources, or if the
        agreement does not follow from the tables.
    """
    folder = folder.resolve()
    sums, skipped = checksums.check(folder)
    stop([*_records(folder)])
    stop([*_provenance(folder), *_sources(folder, sums)])
    stop([*_own_code(sums)])
    slugs = sorted(path.parent.name for path in (folder / "results").glob("*/agreement.csv"))
    stop([why for slug in slugs for why in _agreement(folder, slug)])
    stop([*_together(folder, slugs)])
    stop([*_described(folder, sums)])
    stop([*_summarised(folder)])
    names = set(_tables(sums)) - {_ALL, *(f"results/{slug}/agreement{part}.csv" for slug in slugs for part in _PARTS)}
    again, faults = _recomputed(folder, slugs, names)
    stop(faults)
    figures = sum(name.startswith("figures/") and name.endswith(".png") for name in sums)
    return (
        f"{checksums.sentence(sums, skipped)}; the agreement of {', '.join(slugs)} follows from the tables; the crate "
        f"and the claims follow from the files; the summary follows from the agreement; of {len(names)} other tables, "
        f"{again} were recomputed and {len(names) - again} were compared with their digests only; {figures} figures "
        "were compared with their digests only"
    )


def _records(folder: Path) -> Iterator[str]:
    """Yield a message for each provenance file that is invalid. A valid file is a JSON object with the digests of
    files, inputs and sources.
    """
    for beside in _provenance_files(folder):
        try:
            record = json.loads(beside.read_bytes())
            digests = [record[FILES], record.get(provenance.INPUTS, {}), record.get(provenance.SOURCES, {})]
            good = bool(record[FILES]) and all(isinstance(d, str) for part in digests for d in part.values())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            good = False
        if not good:
            yield f"{beside.relative_to(folder)} is not a provenance record"


def _provenance_files(folder: Path) -> list[Path]:
    return sorted(path for place in trust.FOLDERS for path in (folder / place).rglob(f"*{SUFFIX}"))


def _tables(sums: Mapping[str, str]) -> list[str]:
    return [name for name in sums if name.startswith("results/") and name.endswith((".csv", ".tsv"))]


def _recomputed(folder: Path, slugs: list[str], names: set[str]) -> tuple[int, list[str]]:
    """Recompute the tables in `names` that can be computed in a short time from inputs in the archive.

    Returns
    -------
    The number of recomputed tables, and the tables that differ by more than rounding.
    """
    settings, papers, count, faults = config.read(folder / contents.CONFIG), paper.discover(), 0, []
    for slug in slugs:
        this_paper, section = papers[slug], settings[slug]
        loops = artefacts.loops(this_paper, section, settings.get("shards", "auto"))
        for artefact, table in artefacts.tables(this_paper):
            name = artefacts.table_file(this_paper, artefact.name)
            reads = artefacts.inputs(this_paper, table, section, loops)
            quick = table.by == "gather" or table.minutes <= _MINUTES
            if name not in names or table.by == "measure" or table.programs or not quick:
                continue
            if not all((folder / file).is_file() for file in reads.values()):
                continue
            count += 1
            recomputed = making.made(
                f"{slug}.{table.function}",
                by=table.by,
                settings=section[table.settings],
                read={key: trust.table(folder / file) for key, file in reads.items()},
                files={argument: this_paper.folder / file for argument, file in table.files.items()},
                programs={},
                names=(slug, table.settings),
                root_seed=settings["root_seed"],
            )
            if not _equal(trust.table(folder / name), recomputed):
                faults.append(f"{name} does not follow from the sources and the configuration of the archive")
    return count, faults


def _equal(stated: pd.DataFrame, made: pd.DataFrame) -> bool:
    """Return whether a recomputed table equals the table in the archive, up to rounding."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "table.csv")
        tables.write(made, path)
        again = tables.read(path)
    if stated.shape != again.shape or list(stated) != list(again):
        return False
    for column in stated:
        one, other = stated[column], again[column]
        if not (pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other)):
            if not one.astype(str).equals(other.astype(str)):
                return False
        elif not np.allclose(one, other, rtol=_ROUNDED, atol=1e-12, equal_nan=True):
            return False
    return True


def _provenance(folder: Path) -> Iterator[str]:
    return (fault.why for fault in trust.untrusted(folder))


def _sources(folder: Path, sums: dict[str, str]) -> Iterator[str]:
    """Check that the results of an archive were computed from the archived sources."""
    for beside in _provenance_files(folder):
        stated = json.loads(beside.read_bytes()).get(provenance.SOURCES, {})
        other = [name for name, digest in stated.items() if sums.get(f"src/{name}") != digest]
        if other:
            yield f"{beside.relative_to(folder)} was made by a version of src/{other[0]} that is not in the archive"


def _own_code(sums: dict[str, str]) -> Iterator[str]:
    """Check that the running code is identical to the code in the archive. The agreement must be computed with the code
    of the archive.
    """
    for name, digest in sums.items():
        if name.startswith("src/") or name in ("CITATION.cff", "pyproject.toml"):
            path = _SRC.parent / name
            if not path.is_file() or provenance.sha256(path) != digest:
                yield f"{name} is not the archive's version: run make verify in the folder of the archive"


def _described(folder: Path, sums: Mapping[str, str]) -> Iterator[str]:
    """Compare the two description files of an archive with descriptions of the actual contents of the archive, and
    yield a message for each file that differs.
    """
    files = {name: folder / name for name in sorted(sums) if name not in (crate.NAME, claims.NAME)}
    stated = (folder / crate.NAME).read_bytes() if crate.NAME in sums else b""
    try:
        expected = crate.text(files, folder, crate.stated_times(stated))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        expected = b""
    if not stated or stated != expected:
        yield f"{crate.NAME} does not follow from the files of the archive"
    stated_claims = (folder / claims.NAME).read_bytes() if claims.NAME in sums else b""
    if _without_seconds(stated_claims) != _without_seconds(claims.text().encode()):
        yield f"{claims.NAME} does not follow from the papers of the archive"


def _summarised(folder: Path) -> Iterator[str]:
    """Compare the summary of an archive with a summary of its agreement table, and yield a message if they differ. The
    lines about scenarios are not compared, because the results of scenarios are not in an archive.
    """
    settings, papers = config.read(folder / contents.CONFIG), paper.discover()
    run = [slug for slug in settings["run"] if slug in papers]
    files = [file for slug in run for file in (*papers[slug].tables(), *papers[slug].figures(), "agreement.csv")]
    files += [file for name in settings.get("scenarios") or {} for file in (f"{name}.csv", f"{name}.json", "x.png")]
    expected = summary.text(trust.table(folder / _ALL), made=files, papers=run)
    stated = (folder / _SUMMARY).read_text(encoding="utf-8", errors="replace") if (folder / _SUMMARY).is_file() else ""
    if _SCENARIOS.sub("", stated, count=1) != expected:
        yield f"{_SUMMARY} does not follow from {_ALL}"


def _without_seconds(table: bytes) -> list[bytes]:
    """Return the rows of the table of claims without the last column, which contains the CPU seconds of the run."""
    return [line.rpartition(b"\t")[0] for line in table.splitlines()]


def _agreement(folder: Path, slug: str) -> Iterator[str]:
    """Yield the differences between the stored agreement table of a paper and the table that is recomputed from the
    paper's results.
    """
    place = folder / "results" / slug
    record = json.loads((place / f"agreement{SUFFIX}").read_bytes())
    read = {Path(name).stem: trust.table(place / Path(name).name) for name in record[provenance.INPUTS]}
    ours = making.find(f"{slug}.agreement.ours")(read)
    published = agreement.read_published(folder / f"src/reproduction/papers/{slug}/published.tsv")
    tables = {"agreement.csv": agreement.compare(published, ours, paper=slug)}
    tables["agreement_tables.csv"] = agreement.variants(published, ours)
    for name, table in tables.items():
        if _written(table, ".csv") != record[FILES].get(name):
            yield f"results/{slug}/{name} does not follow from the tables"


def _together(folder: Path, slugs: list[str]) -> Iterator[str]:
    """Yield the differences between the agreement table of all papers and the concatenated agreement tables of the
    papers.
    """
    papers = list(dict.fromkeys(trust.table(folder / _ALL)["paper"]))
    if sorted(papers) != slugs:
        yield f"{_ALL} covers {', '.join(papers)}, but there are tables of {', '.join(slugs)}"
        return
    parts = [trust.table(folder / "results" / slug / "agreement.csv") for slug in papers]
    if _written(pd.concat(parts, ignore_index=True), ".tsv") != provenance.sha256(folder / _ALL):
        yield f"{_ALL} differs from the concatenated agreement tables of the papers"


def _written(table: pd.DataFrame, end: str) -> str:
    """Return the SHA-256 checksum of the file that a run would write for a table."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, f"table{end}")
        tables.write(table, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
