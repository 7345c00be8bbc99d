"""The only module of the library that opens a confidential file, and what it keeps beside it.

``confidential/`` holds what must not leave the machine: the key of the fingerprints and reports about what a release
changed, mode 0600. No error here shows what a file holds.
"""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from .._files.csv_table import CsvTable, parse
from .._files.public import LARGEST_FILE
from . import _durable
from ._refused import Refused

FOLDER, KEY = "confidential", ".release_key"


def read(path: Path) -> bytes:
    """All bytes of a confidential file.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, it is no regular file, or it has more than 4 GiB.
    """
    _durable.step("open the confidential file")
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST_FILE:
            raise Refused(f"{path}: must be a regular file of at most {LARGEST_FILE} bytes")
        return file.read()


def table(raw: bytes, *, name: str, delimiter: str | None, encoding: str | None) -> CsvTable:
    """The strict reader on a confidential file's bytes: its errors say where and which rule, never what is there.

    Parameters
    ----------
    raw : the whole file.
    name : for errors.
    delimiter, encoding : as stated, or None to find them.

    Returns
    -------
    CsvTable
    """
    return parse(raw, name=name, confidential=True, delimiter=delimiter, encoding=encoding)


def key(root: Path) -> bytes:
    """The secret under which fingerprints are made; drawn from the operating system when there is none yet.

    Raises
    ------
    ValueError
        If others than its owner can read the key, or it is not 32 bytes.
    """
    folder = root / FOLDER
    _durable.folder(folder, mode=0o700)
    path = folder / KEY
    if not path.exists():
        draft = folder / f"{KEY}.{secrets.token_hex(8)}"
        _durable.write(draft, secrets.token_bytes(32), mode=0o600, name="key")
        _durable.step("key: its name")
        os.link(draft, path)
        draft.unlink()
        _durable.sync(folder, name="key")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise Refused(f"{path}: must be readable by its owner alone (chmod 600)")
    found = path.read_bytes()
    if len(found) != 32:
        raise Refused(f"{path}: must hold 32 bytes, got {len(found)}")
    return found


def has_key(root: Path) -> bool:
    """Whether there is a key already."""
    return (root / FOLDER / KEY).exists()


def fingerprint(secret: bytes, *parts: bytes) -> str:
    """HMAC-SHA256 of the parts, each with its length; without the secret it tells nothing about them."""
    code = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        code.update(len(part).to_bytes(8, "little"))
        code.update(part)
    return code.hexdigest()


def keep(root: Path, name: str, data: bytes) -> Path:
    """Write a confidential report, mode 0600, in place of one of an attempt that was not published.

    Parameters
    ----------
    root : folder of the configuration.
    name : of the report.
    data : what it says.

    Returns
    -------
    Path of the report.
    """
    path = root / FOLDER / name
    path.unlink(missing_ok=True)
    _durable.write(path, data, mode=0o600, name="confidential report")
    return path
