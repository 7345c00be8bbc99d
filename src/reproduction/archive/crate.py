"""Write the archive of a run with its machine-readable description, a Workflow Run RO-Crate that is built from the
provenance of the results.

The tar file is identical on every machine: sorted names, no times, no owners, no compression.

The description follows RO-Crate 1.1 with the profiles Process Run Crate 0.5, Workflow Run Crate 0.5 and Workflow
RO-Crate 1.0: one action for the run, and one action for each function, with its input and output files.
"""

import hashlib
import io
import json
import mimetypes
import os
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from dpmultinomial import __version__, _git
from dpmultinomial._files import places

from ..jobs import costs
from ..provenance import FILES, INPUTS, SUFFIX, sha256
from . import claims, contents
from .checksums import SUMS

NAME = "ro-crate-metadata.json"
_RUN = "https://w3id.org/ro/wfrun"
_PROFILES = {
    f"{_RUN}/process/0.5": ("Process Run Crate", "0.5"),
    f"{_RUN}/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
_MAIN = "Snakefile"
_FORM = "%Y-%m-%dT%H:%M:%SZ"
_TYPES = {
    ".tsv": "text/tab-separated-values",
    ".yaml": "application/yaml",
    ".smk": "text/x-python",
    ".md": "text/markdown",
}
Entity = dict[str, Any]


@dataclass(frozen=True)
class Times:
    """Date of a commit, and start and end of a run, which cannot be derived from the files of an archive.

    Parameters
    ----------
    published : date of the commit.
    run : start and end of the run; empty if they are unknown.
    """

    published: str
    run: tuple[str, ...]


def text(found: Mapping[str, Path], run: Path, times: Times | None = None) -> bytes:
    """Return the content of the metadata file of an RO-Crate.

    Parameters
    ----------
    found : mapping from the name in the archive to the file, as in `contents.files`.
    run : folder of the run.
    times : times to state; None uses the times of git and of the run.
    """
    times = times or Times(published(), _run_times(run))
    digests = {name: sha256(path) for name, path in found.items()}
    records = {name: _record(found[name]) for name in found if name.endswith(SUFFIX)}
    files = sorted(
        {str(PurePosixPath(name).with_name(file)) for name in records for file in records[name][FILES]} & {*found}
    )
    actions = [_action(name, record, digests) for name, record in records.items()]
    graph = [
        *_frame([*found], [_id("#run"), *(_id(action["@id"]) for action in actions)], times),
        {**_file(_MAIN, found[_MAIN], digests[_MAIN]), **_workflow()},
        *(_file(name, path, digests[name]) for name, path in found.items() if name != _MAIN),
        _whole(files, found, times),
        *actions,
    ]
    instruments = {action["instrument"]["@id"] for action in actions}
    for entity in graph:
        if entity["@id"] in instruments and entity["@type"] == "File":
            entity["@type"] = ["File", "SoftwareSourceCode"]
    context = [f"{_SPECIFICATION}/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
    return (json.dumps({"@context": context, "@graph": graph}, indent=1, ensure_ascii=False) + "\n").encode()


def stated_times(raw: bytes) -> Times:
    """Return the date of publication of an RO-Crate, and the start time and the end time of the run if the crate states
    these times. Raise ValueError, KeyError or TypeError if the bytes are not a crate.
    """
    entities = {entity["@id"]: entity for entity in json.loads(raw)["@graph"]}
    run = tuple(str(entities["#run"][key]) for key in ("startTime", "endTime") if key in entities["#run"])
    for value, form in ((entities["./"]["datePublished"], "%Y-%m-%d"), *((text, _FORM) for text in run)):
        datetime.strptime(value, form)
    return Times(entities["./"]["datePublished"], run)


def _run_times(run: Path) -> tuple[str, ...]:
    """Return the start time and the end time of the Snakemake process of a run. The result is empty for a run from
    another Snakefile, because such a run records no times.
    """
    try:
        started, took = costs.clock(run / costs.BENCHMARKS)
    except FileNotFoundError:
        return ()
    return _time(started), _time(started + took)


def published() -> str:
    """Return the date of the commit in UTC, so that the date does not depend on the time at which the archive is
    written.
    """
    return _time(_git.commit_time(contents.ROOT))[:10]


def _project() -> dict[str, str]:
    """Return the title, the description, the author, the version and the licence of the project, from CITATION.cff and
    pyproject.toml.
    """
    citation = yaml.safe_load((contents.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    declared = tomllib.loads((contents.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licence = f"https://spdx.org/licenses/{citation['license']}"
    described = {"description": declared["description"], "version": __version__, "license": licence}
    return {"title": citation["title"], "author": citation["authors"][0]["name"]} | described


def _frame(names: list[str], mentions: list[Entity], times: Times) -> list[Entity]:
    """Return the general entities of an RO-Crate: the dataset, its profiles, its licence, its author and its
    language.
    """
    project = _project()
    whole = {
        **{"@id": "./", "@type": "Dataset", "name": f"{project['title']}, version {project['version']}"},
        **{"description": project["description"], "datePublished": times.published, "license": _id(project["license"])},
        **{"author": _id("#contributors"), "conformsTo": [_id(profile) for profile in _PROFILES]},
        **{"mainEntity": _id(_MAIN), "mentions": mentions, "hasPart": [_id(name) for name in names]},
    }
    entity: Entity = {"@id": NAME, "@type": "CreativeWork", "about": _id("./")}
    entity["conformsTo"] = [_id(_SPECIFICATION), _id([*_PROFILES][-1])]
    profiles = [
        {"@id": url, "@type": "CreativeWork", "name": name, "version": version}
        for url, (name, version) in _PROFILES.items()
    ]
    language: Entity = {
        "@id": _LANGUAGE,
        "@type": "ComputerLanguage",
        "name": "Snakemake",
        "url": "https://snakemake.github.io",
    }
    language["identifier"] = _id(language["url"])
    licence = {"@id": project["license"], "@type": "CreativeWork", "name": "MIT License"}
    return [
        entity,
        whole,
        *profiles,
        language,
        licence,
        {"@id": "#contributors", "@type": "Organization", "name": project["author"]},
    ]


def _workflow() -> Entity:
    project = _project()
    return {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        **{"name": project["title"], "version": project["version"], "programmingLanguage": _id(_LANGUAGE)},
        **{"license": _id(project["license"]), "creator": _id("#contributors")},
    }


def _whole(made: list[str], found: Mapping[str, Path], times: Times) -> Entity:
    """Return the RO-Crate action of the complete run, with the start and end of the Snakemake process."""
    read = [name for name in ("config.yaml", contents.CONFIG) if name in found]
    action: Entity = {"@id": "#run", "@type": "CreateAction", "name": "One run of the whole workflow"}
    action["instrument"] = _id(_MAIN)
    action |= {"agent": _id("#contributors"), "actionStatus": _id("http://schema.org/CompletedActionStatus")}
    action |= dict(zip(("startTime", "endTime"), times.run, strict=False))
    return action | {"object": [_id(name) for name in read], "result": [_id(name) for name in made]}


def _action(name: str, record: Mapping[str, Any], digests: Mapping[str, str]) -> Entity:
    """Return the RO-Crate action of one function, with the input and output files that the provenance record states.
    The inputs are identified by SHA-256.
    """
    place = PurePosixPath(name)
    read = {
        other
        for file, digest in record.get(INPUTS, {}).items()
        for other, known in digests.items()
        if known == digest and other.endswith(f"/{file}")
    }
    names = [str(place.with_name(file)) for file in sorted(record[FILES])]
    entity: Entity = {
        "@id": f"#{name.removesuffix(SUFFIX)}",
        "@type": "CreateAction",
        "name": f"{record['function']} makes {names[0]}",
    }
    entity |= {"instrument": _id(_instrument(record["function"], digests)), "agent": _id("#contributors")}
    return entity | {"object": [_id(file) for file in sorted(read)], "result": [_id(file) for file in names]}


def _instrument(function: str, names: Mapping[str, str]) -> str:
    """Return the source file of a function, or the workflow file if the function has no source file."""
    parts = function.split(".")
    for base in ("src/reproduction/papers", "src/reproduction", "src"):
        for end in range(len(parts), 0, -1):
            for name in (f"{base}/{'/'.join(parts[:end])}.py", f"{base}/{'/'.join(parts[:end])}/__init__.py"):
                if name in names:
                    return name
    return _MAIN


def _file(name: str, path: Path, digest: str) -> Entity:
    kind = _TYPES.get(path.suffix) or mimetypes.types_map.get(path.suffix, "text/plain")
    entity: Entity = {"@id": name, "@type": "File", "name": name, "contentSize": str(path.stat().st_size)}
    return entity | {"sha256": digest, "encodingFormat": kind}


def _record(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_bytes())
    return record


def _id(name: str) -> Entity:
    return {"@id": name}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(_FORM)


_EXECUTABLE = 0o111


def default_name() -> str:
    """Return the default name of the archive file."""
    return f"build/dpmultinomial-{__version__}.tar"


def write(target: Path, run: Path) -> str:
    """Write the archive of a run as a single tar file.

    Parameters
    ----------
    target : file of the archive; after an error, no file remains.
    run : folder of the run.

    Returns
    -------
    SHA-256, number of files and size, as text.

    Raises
    ------
    ArchiveError
        As in `contents.files`.
    """
    files = contents.files(run)
    texts = {NAME: text(files, run), claims.NAME: claims.text(run).encode()}
    texts[SUMS] = _sums(files, texts)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = places.draft(target)
    try:
        with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted([*files, *texts]):
                raw = texts[name] if name in texts else files[name].read_bytes()
                runs = name in files and bool(files[name].stat().st_mode & _EXECUTABLE)
                archive.addfile(_member(name, raw, executable=runs), io.BytesIO(raw))
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    return f"{len(files) + len(texts)} files, {target.stat().st_size / 1e6:.0f} MB, SHA-256 {digest}"


def _member(name: str, raw: bytes, *, executable: bool) -> tarfile.TarInfo:
    member = tarfile.TarInfo(f"dpmultinomial-{__version__}/{name}")
    member.size, member.mtime = len(raw), 0
    member.mode = 0o755 if executable else 0o644
    return member


def _sums(found: Mapping[str, Path], texts: Mapping[str, bytes]) -> bytes:
    """Return the input of ``sha256sum --check``, with the checksum of every file except the list of checksums."""
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}
    digests |= {name: hashlib.sha256(raw).hexdigest() for name, raw in texts.items()}
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()
