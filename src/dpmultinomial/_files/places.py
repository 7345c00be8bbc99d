"""Reject paths that refer to a confidential file, even if the path is a link to the file or another name of the file.
All readers of user files call this check, so that only `_releases` opens confidential files.

A file is confidential if it is in a folder named ``confidential``, if it is in the folder to which ``confidential/`` of
the working directory is linked, or if it is the same file as one in these folders (a hard link, a mount). The check
uses the metadata of the file system; no file is opened.

`FileFault` describes an error in a file without revealing confidential content. `draft` is for files that are written
completely or not at all: a draft is written next to the file and then renamed.
"""

import os
from collections.abc import Set
from pathlib import Path

Inode = tuple[int, int]  # device number and inode number


class FileFault(ValueError):
    """Error that is raised for a file that breaks a rule of the CSV reader. The message states file, line, column and
    rule. If the file is confidential, the message contains nothing else about the file.
    """


FOLDER = "confidential"
_WAY_OUT = (
    f"is confidential: only a release (key `releases` of the configuration) can read files in {FOLDER}/; use the "
    "published files of a release instead"
)


def public(path: str | Path) -> Path:
    """Return the path of a file, or raise an error if the file is confidential. Every reader of files that a user names
    calls this check.

    Parameters
    ----------
    path : path of a file or folder, which need not exist; relative paths are relative to the working directory.

    Returns
    -------
    Path

    Raises
    ------
    FileFault
        If the file is confidential, or the path contains a NUL.
    """
    if "\0" in str(path):
        raise FileFault(f"the path {str(path)!r} must not contain NUL characters")
    if is_confidential(Path(path)):
        raise FileFault(f"{path} {_WAY_OUT}")
    return Path(path)


def is_confidential(path: Path, known: Set[Inode] | None = None) -> bool:
    """Return whether a path resolves to a confidential file or folder after all symbolic links have been followed.

    Parameters
    ----------
    path : path without NUL.
    known : result of `inodes`, for the check of many paths; by default, the confidential files are listed again.
    """
    resolved, home = _resolved(path), _resolved(Path(FOLDER))
    if FOLDER in resolved.parts or resolved.is_relative_to(home):
        return True
    same = _inode(resolved)
    return same is not None and same in (_inodes(home) if known is None else known)


def inodes() -> set[Inode]:
    """Return the device numbers and inode numbers of all confidential files and folders of the working directory."""
    return _inodes(_resolved(Path(FOLDER)))


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # the links form a cycle, so the path cannot be opened
        return path.absolute()


def _inode(path: Path) -> Inode | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _inodes(home: Path) -> set[Inode]:
    """Return the device numbers and inode numbers of all files and folders below a folder."""
    found = {_inode(home)}
    for folder, folders, files in os.walk(home):
        found |= {_inode(Path(folder, name)) for name in (*folders, *files)}
    return {inode for inode in found if inode is not None}


def draft(path: Path) -> Path:
    """Return the path of the draft of a file. An existing file or link at this path is removed, because a link could
    lead to another file of the user account, which would then be overwritten.

    Parameters
    ----------
    path : path of the file, which need not exist.

    Raises
    ------
    OSError
        If a folder is in the place of the draft.
    """
    place = path.with_name(path.name + ".part")
    place.unlink(missing_ok=True)
    return place
