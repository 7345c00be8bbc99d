"""Where the raw files of the data sets are.

The standard library alone: the workflow asks this before anything is installed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from . import catalogue
from .catalogue import File

DOWNLOADED = "downloaded"  # marks a folder whose files came from the archive, not from the user


def places(name: str, file: File, folders: Sequence[str | Path]) -> Iterator[Path]:
    """Every path at which a file of the data set `name` is looked for, in this order; not all of them exist."""
    for folder in map(Path, folders):
        for path in (folder / name / file.name, folder / file.name):
            yield path
            yield path.with_name(path.name + ".gz")


def brought(name: str, folders: Sequence[str | Path]) -> list[str]:
    """Files of a data set that the user has put into a folder: when one comes, the set is prepared again.

    Downloads are ignored: they are what a preparation left over, not a reason for another one.
    """
    source = catalogue.SOURCES.get(name)
    if source is None:
        return []
    files = (*source.files, *source.archive_files)
    found = [path for file in files for path in places(name, file, folders) if path.is_file()]
    return [str(path) for path in found if not (path.parent / DOWNLOADED).exists()]
