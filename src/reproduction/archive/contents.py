"""What an archive holds: the files that git tracks, and what the papers under `run` declare. Never anything else.

Results are named one by one, from the papers' folders: a scenario's, a batch's or a release's files are none of them.
Nothing below ``confidential`` or ``releases`` is opened, not even to see what it is.
"""

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from .. import paper, trust
from ..config import config
from ..config.reading import ConfigError
from ..jobs import artefacts
from ..provenance import SUFFIX

ROOT = Path(__file__).resolve().parents[3]
PRIVATE = ("confidential", "releases")
CONFIG = "results/config.effective.yaml"
_WHOLE = ("results/agreement.tsv", CONFIG, "results/summary.txt")


class Refused(ValueError):
    """An archive cannot be made; the message says of what and the way out."""


def files(run: Path) -> dict[str, Path]:
    """Name in the archive -> file.

    Parameters
    ----------
    run : folder of the run.

    Raises
    ------
    Refused
        If something is missing, damaged, private, a link, or names this machine's folders.
    """
    sources = {name: ROOT / name for name in tracked()}
    made = {name: run / name for name in results(run)}
    _refuse_private([*sources, *made])
    _refuse_links({**sources, **made})
    _refuse_paths(sources, [ROOT, run])
    _refuse_paths(made, [ROOT, run, Path.home(), Path(sys.prefix)])
    return dict(sorted({**sources, **made}.items()))


def tracked() -> list[str]:
    """Files that git tracks, as they are now."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Refused(f"git does not say which files are sources ({error}); make the archive in a checkout") from None
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


def results(run: Path) -> list[str]:
    """What the papers under `run` declare with its provenance; the agreement, the configuration, the summary."""
    try:
        settings = config.read(run / CONFIG)
    except (OSError, ConfigError) as error:
        raise Refused(f"{CONFIG} cannot be read ({error}): make reproduce, then make archive") from None
    papers = paper.discover()
    asked = [slug for slug in settings["run"] if slug in papers]
    names = [*_WHOLE]
    for slug in asked:
        names += of_paper(papers[slug], settings.get(slug, {}), settings.get("shards", "auto"))
    beside = dict.fromkeys(_stated(run, name) for name in names)
    return sorted({*names, *beside})


def of_paper(found: paper.Paper, section: Mapping[str, Any], shards: int | str) -> list[str]:
    """Tables, pieces of loops, figures and agreement of one paper, without their provenance."""
    tables, figures = found.tables(), found.figures()
    views = [str(PurePosixPath(name).with_suffix(".pdf")) for name in figures]
    loops = [file for loop in artefacts.loops(found, section, shards) for file in loop.files]
    agreement = [f"results/{found.slug}/agreement{part}.csv" for part in ("", "_tables")]
    return [*tables, *figures, *views, *loops, *agreement]


def _stated(run: Path, name: str) -> str:
    """Name of the provenance of a file, whose bytes are what it states."""
    path = run / name
    try:
        trust.checked(path)
    except (OSError, trust.Damaged) as error:
        raise Refused(f"{name} cannot be archived: {error}. make reproduce makes it again") from None
    beside = path.with_suffix(SUFFIX)
    if not beside.is_file():
        beside = path.with_name(f"{path.stem.rpartition('_')[0]}{SUFFIX}")
    return beside.relative_to(run).as_posix()


def _refuse_private(names: Iterable[str]) -> None:
    found = [name for name in names if PurePosixPath(name).parts[0] in PRIVATE]
    if found:
        raise Refused(f"{found[0]} is confidential or a release, and git tracks it: git rm --cached it, then archive")


def _refuse_links(found: Mapping[str, Path]) -> None:
    for name, path in found.items():
        if path.is_symlink() or not path.is_file():
            raise Refused(f"{name} is no plain file; an archive holds no links: replace it by what it points to")


def _refuse_paths(found: Mapping[str, Path], folders: Iterable[Path]) -> None:
    """Nothing names a folder of this machine."""
    texts = {str(form).encode() for folder in folders for form in (folder, folder.resolve()) if len(form.parts) > 1}
    for name, path in found.items():
        raw = path.read_bytes()
        for text in sorted(texts):
            if text + b"/" in raw or text + b"\n" in raw or text + b'"' in raw:
                raise Refused(f"{name} names a folder of this machine, {text.decode()}: say it relative to the project")
