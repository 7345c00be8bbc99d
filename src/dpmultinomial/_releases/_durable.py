"""Functions that write files in such a way that the content survives a crash. Every step that changes the disk has a
name, and tests simulate a crash after each step.

The function `at` is called with the name of each step before the step, and does nothing. A test that simulates a crash
replaces this function.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path


def nothing(name: str) -> None:
    """Do nothing: this function is the default of a callback, which is called with the name of every step."""


at: Callable[[str], None] = nothing


def step(name: str) -> None:
    """Call the function `at` with the name of the next step."""
    at(name)


def write(path: Path, data: bytes, *, mode: int, name: str) -> None:
    """Write a new file with its final permissions, and wait until all of `data` is on disk.

    Parameters
    ----------
    path : path that does not exist yet.
    data : complete content.
    mode : permissions of the file.
    name : name of the values, for error messages.

    Returns
    -------
    None

    Raises
    ------
    FileExistsError, OSError
        If a file of that name exists, or the disk is full.
    """
    step(f"{name}: create")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        for part, piece in (("half", data[: len(data) // 2]), ("rest", data[len(data) // 2 :])):
            step(f"{name}: write the {part}")
            _write_all(handle, piece)
        step(f"{name}: mode")
        os.fchmod(handle, mode)
        step(f"{name}: to disk")
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(path: Path, data: bytes, *, mode: int, name: str) -> None:
    """Replace the content of a file atomically: after a crash, the file has either the old or the new content. The new
    file is written next to the old file and then renamed.

    Parameters
    ----------
    path : path of the file, which need not exist.
    data : complete content.
    mode : permissions of the file.
    name : name of the values, for error messages.

    Returns
    -------
    None
    """
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    write(draft, data, mode=mode, name=name)
    step(f"{name}: its name")
    os.replace(draft, path)
    sync(path.parent, name=name)


def append(path: Path, line: bytes, *, name: str, mode: int = 0o644) -> None:
    """Append one line to a file, and wait until the line is on disk. The file is created if it is missing. A crash may
    leave part of the line.

    Parameters
    ----------
    path : path of the file.
    line : line with its line break.
    name : name of the values, for error messages.
    mode : permissions of a new file.

    Returns
    -------
    None
    """
    step(f"{name}: open")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        for part, piece in (("half", line[: len(line) // 2]), ("rest", line[len(line) // 2 :])):
            step(f"{name}: write the {part}")
            _write_all(handle, piece)
        step(f"{name}: to disk")
        os.fsync(handle)
    finally:
        os.close(handle)


def cut(path: Path, size: int) -> None:
    """Truncate a file to `size` bytes, and wait until the new size is on disk."""
    step("cut a torn line")
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.ftruncate(handle, size)
        os.fsync(handle)
    finally:
        os.close(handle)


def folder(path: Path, *, mode: int = 0o755) -> None:
    """Create a folder and its missing parents, and wait until every new directory entry is on disk. An existing folder
    is not changed.
    """
    if path.is_dir():
        return
    folder(path.parent)
    if os.path.lexists(path) and not path.is_dir():
        text = "this path must be a folder, got a file or a link: move the file or link to another place"
        raise FileExistsError(errno.EEXIST, text, str(path))
    step(f"make the folder {path.name}")
    path.mkdir(mode=mode, exist_ok=True)
    sync(path.parent, name=f"folder {path.name}")


def sync(path: Path, *, name: str) -> None:
    """Write the directory entries of a folder to disk."""
    step(f"{name}: entry to disk")
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
