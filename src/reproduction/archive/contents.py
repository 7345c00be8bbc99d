"""Contents of an archive: the files tracked by git, and the declared results of the papers that are listed under `run`.

Results are listed one by one from the papers' folders, so files of scenarios, batches and releases are not included. No
file below ``confidential`` or ``releases`` is opened.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from dpmultinomial import _git
from dpmultinomial._files import places

from .. import paper, trust
from ..config import config
from ..config.reading import ConfigError
from ..jobs import artefacts
from ..provenance import SUFFIX

ROOT = Path(__file__).resolve().parents[3]
PRIVATE = ("confidential", "releases")
CONFIG = "results/config.effective.yaml"
_WHOLE = ("results/agreement.tsv", CONFIG, "results/summary.txt")


class ArchiveError(ValueError):
    """Error that is raised if an archive cannot be written, with a message that names the file and the remedy."""


def files(run: Path) -> dict[str, Path]:
    """Return a mapping from each file name in an archive to the path of the file that is archived under this name.

    Parameters
    ----------
    run : folder of the run.

    Raises
    ------
    ArchiveError
        If a file is missing, damaged, private or a link, or contains a path on this machine.
    """
    sources = {name: ROOT / name for name in tracked()}
    outputs = {name: run / name for name in results(run)}
    _refuse_private({**sources, **outputs})
    _refuse_links({**sources, **outputs})
    _refuse_paths(sources, [ROOT, run])
    _refuse_paths(outputs, [ROOT, run, Path.home(), Path(sys.prefix)])
    return dict(sorted({**sources, **outputs}.items()))


def tracked() -> list[str]:
    """Return the files that git tracks, in their current state."""
    try:
        listed = _git.files(ROOT)
    except _git.GitError as error:
        raise ArchiveError(f"git cannot list the source files ({error}): run make archive in a git checkout") from None
    return [name for name in listed if os.path.lexists(ROOT / name)]


def results(run: Path) -> list[str]:
    """Return the names of the result files of the papers that are listed under `run`. The files are the declared
    results, their provenance files, the agreement tables, the configuration and the summary.
    """
    try:
        settings = config.read(run / CONFIG)
    except (OSError, ConfigError) as error:
        raise ArchiveError(f"{CONFIG} cannot be read ({error}): run make reproduce, and then make archive") from None
    papers = paper.discover()
    asked = [slug for slug in settings["run"] if slug in papers]
    names = [*_WHOLE]
    for slug in asked:
        names += of_paper(papers[slug], settings.get(slug, {}), settings.get("shards", "auto"))
    beside = dict.fromkeys(_stated(run, name) for name in names)
    return sorted({*names, *beside})


def of_paper(found: paper.Paper, section: Mapping[str, Any], shards: int | str) -> list[str]:
    """Return the tables, partial results of simulations, figures and agreement tables of one paper, without their
    provenance files.
    """
    tables, figures = found.tables(), found.figures()
    views = [str(PurePosixPath(name).with_suffix(".pdf")) for name in figures]
    loops = [file for loop in artefacts.loops(found, section, shards) for file in loop.files]
    agreement = [f"results/{found.slug}/agreement{part}.csv" for part in ("", "_tables")]
    return [*tables, *figures, *views, *loops, *agreement]


def _stated(run: Path, name: str) -> str:
    """Return the name of the provenance file of a result, after the result has been checked against this file."""
    path = run / name
    try:
        trust.checked(path)
    except (OSError, trust.Damaged) as error:
        raise ArchiveError(f"{name} cannot be archived: {error}. Run `make reproduce` to regenerate the file") from None
    beside = path.with_suffix(SUFFIX)
    if not beside.is_file():
        beside = path.with_name(f"{path.stem.rpartition('_')[0]}{SUFFIX}")
    return beside.relative_to(run).as_posix()


def _refuse_private(found: Mapping[str, Path]) -> None:
    """Raise an error if a file is below a private folder, even if the file is reached through a symbolic link, a mount
    or a hard link. No file is opened.
    """
    folders = {path.parent: places.is_confidential(path.parent) for path in found.values()}
    private = [
        name
        for name, path in found.items()
        if PurePosixPath(name).parts[0] in PRIVATE
        or folders[path.parent]
        or (path.is_file() and path.stat().st_nlink > 1 and places.is_confidential(path))
    ]
    if private:
        raise ArchiveError(
            f"{private[0]} is confidential or belongs to a release, but git tracks this file: run `git rm "
            f"--cached {private[0]}`, and then `make archive`"
        )


def _refuse_links(found: Mapping[str, Path]) -> None:
    for name, path in found.items():
        if path.is_symlink() or not path.is_file():
            raise ArchiveError(
                f"{name} must be a regular file, because an archive must not contain links: replace "
                "the link with its target"
            )


def _refuse_paths(found: Mapping[str, Path], folders: Iterable[Path]) -> None:
    """Raise an error if a file contains a path on the machine on which the archive is written."""
    texts = {str(form).encode() for folder in folders for form in (folder, folder.resolve()) if len(form.parts) > 1}
    for name, path in found.items():
        raw = path.read_bytes()
        for text in sorted(texts):
            if text + b"/" in raw or text + b"\n" in raw or text + b'"' in raw:
                raise ArchiveError(
                    f"{name} contains a path on this machine, {text.decode()}: replace this path with a path "
                    "relative to the project"
                )
