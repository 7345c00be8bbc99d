"""Record the provenance of results in a file in the same folder. The file states the origin and the SHA-256 checksum of
each result. Results without such a file are not read.

``<name>.provenance.json`` states the SHA-256 of the files that a function made under this name. `reproduction.trust`
reads only files whose bytes match.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dpmultinomial import __version__, _git
from dpmultinomial._files import places

from . import dependencies

SUFFIX = ".provenance.json"
FILES, INPUTS, RULE, PARAMS = "files_sha256", "inputs_sha256", "rule", "params_sha256"
SOURCES = "sources_sha256"
OWN = "record_sha256"  # digest of all other entries of a provenance record
_SRC = Path(__file__).resolve().parents[1]
_PLAIN = (type(None), int, float, bool, str, complex, range, list, tuple, dict, set, frozenset, bytes, bytearray)
_PACKAGES = ("numpy", "scipy", "pandas", "cython", "matplotlib", "snakemake")


@dataclass(frozen=True)
class Job:
    """Workflow job that computed a file, identified by its rule and parameters. The job is identified by the name of
    the rule and by the digest of the parameters, as recorded by Snakemake.
    """

    rule: str = ""
    params_sha256: str = ""


def job(snakemake: Any) -> Job:
    """Return the job of a workflow script, given the object that Snakemake passes to the script."""
    kept = sorted(repr(value) for value in snakemake.params if isinstance(value, _PLAIN))
    return Job(snakemake.rule, digest(kept))


def sha256(path: Path) -> str:
    """Return the SHA-256 checksum of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(settings: Any) -> str:
    """Return the SHA-256 checksum of settings that consist of plain YAML types. It does not depend on the order of the
    keys.
    """
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


@cache
def commit() -> str:
    """Return the commit of the source tree, with the suffix '-dirty' if tracked files have been changed, or 'unknown'
    outside a checkout.
    """
    folder = Path(__file__).resolve().parent
    try:
        return _git.commit(folder) + ("-dirty" if _git.is_changed(folder) else "")
    except _git.GitError:
        return "unknown"


def record(
    *,
    function: str,
    settings: dict[str, Any],
    root_seed: int,
    inputs: Iterable[Path] = (),
    code: Iterable[Path] = (),
    job: Job | None = None,
) -> dict[str, Any]:
    """Return the provenance record of a table of results.

    Parameters
    ----------
    function : dotted name of the function that made the table.
    settings : settings of the function, as in the configuration.
    root_seed : root seed of all random streams.
    inputs : tables that were read.
    code : modules and compiled kernels that were run.
    job : job that called the function.
    """
    code = tuple(code)
    return short(function=function, inputs=inputs, job=job) | {
        "settings": settings,
        "settings_sha256": digest(settings),
        "root_seed": root_seed,
        "code_sha256": digest([[Path(p).name, sha256(Path(p))] for p in code]),
        SOURCES: sources(code),
        "commit": commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.processor() or platform.machine(),
        "packages": _versions(),
    }


def short(*, function: str, inputs: Iterable[Path] = (), job: Job | None = None) -> dict[str, Any]:
    """Return the provenance record of a file that is computed without settings. The arguments are the same as for
    `record`.
    """
    job = job or Job()
    return {
        "function": function,
        RULE: job.rule,
        PARAMS: job.params_sha256,
        INPUTS: _inputs([Path(p) for p in inputs]),
        "dpmultinomial": __version__,
    }


def sources(code: Iterable[Path]) -> dict[str, str]:
    """Return a mapping from the source files of the given modules, as paths relative to ``src``, to their SHA-256
    checksums.

    The sources of a compiled kernel are its .pyx file, the .pxd files that it cimports, and the C headers that these
    files include.

    Parameters
    ----------
    code : modules and compiled kernels; files outside ``src`` are ignored.
    """
    files: set[Path] = set()
    for path in map(Path, code):
        if path.is_relative_to(_SRC):
            kernel = path.with_name(path.name.partition(".")[0]).relative_to(_SRC).as_posix()
            files |= {path} if path.suffix == ".py" else set(dependencies.kernel_sources(kernel))
    return {path.relative_to(_SRC).as_posix(): sha256(path) for path in sorted(files)}


def _inputs(paths: list[Path]) -> dict[str, str]:
    """Return a mapping from the names of input files to their SHA-256 checksums. A name includes the folder if two
    files have the same name.
    """
    names = [path.name for path in paths]
    return {f"{p.parent.name}/{p.name}" if names.count(p.name) > 1 else p.name: sha256(p) for p in paths}


def write(record: dict[str, Any], *files: str | Path) -> None:
    """Write a provenance record for several files of one folder, in a file that is named after the first of these
    files. The record is written completely or not at all.

    Parameters
    ----------
    record : provenance, as from `record`.
    files : all files, as they are currently on disk.
    """
    paths = [Path(file) for file in files]
    stated = record | {FILES: {path.name: sha256(path) for path in paths}}
    stated[OWN] = own_digest(stated)
    beside = paths[0].with_suffix(SUFFIX)
    draft = places.draft(beside)
    draft.write_text(json.dumps(stated, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(draft, beside)


def own_digest(record: dict[str, Any]) -> str:
    """Return the SHA-256 checksum of a provenance record, computed without the value under the key `OWN`."""
    return digest({key: value for key, value in json.loads(json.dumps(record)).items() if key != OWN})


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in _PACKAGES}
