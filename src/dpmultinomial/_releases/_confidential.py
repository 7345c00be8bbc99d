"""The only module of the library that opens confidential files or writes files next to them.

``confidential/`` contains the data that must not leave the machine: the key with which fingerprints are computed, the
journal of spending, and reports about the changes made by a release, all with mode 0600. No error shows the content of
a file.
"""

import ctypes
import hashlib
import hmac
import math
import os
import re
import resource
import secrets
import stat
from pathlib import Path

from .._files.csv_table import LARGEST_FILE, CsvTable, parse
from . import _durable
from ._places import Refused

KEY, IGNORED = ".release_key", ".gitignore"
KEY_BYTES = 32
_LOST = "restore the key from a backup or, if there is no backup, move the present key to another folder"
_WHOLE = re.compile(r"\+?0*([0-9]+)")
_COUNT = re.compile(r"[1-9][0-9]{0,17}")
_KNOWN = 20  # number of bits of information in a table's counts, regardless of their order
_UNDUMPABLE = 4, 0  # prctl(PR_SET_DUMPABLE, 0)


def keep_in_memory() -> None:
    """Prevent the current process from writing a core dump (an image of its memory) to disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # on Linux, a core dump that is piped to a program is not limited by the resource limit
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(*_UNDUMPABLE)


def read(path: Path) -> bytes:
    """Return all bytes of a confidential file.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file does not exist, is not a regular file, or has more than 4 GiB.
    """
    _durable.step("open the confidential file")
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise Refused(f"{path}: the confidential data must be a regular file, not a folder or a device")
        if about.st_size > LARGEST_FILE:
            raise Refused(
                f"{path}: the confidential file must have at most {LARGEST_FILE:,} bytes, got {about.st_size:,} bytes: "
                "use a smaller file"
            )
        return file.read()


def table(raw: bytes, *, name: str, delimiter: str | None, encoding: str | None) -> CsvTable:
    """Parse the bytes of a confidential file with the strict reader of CSV files. Its errors state the place and the
    rule, but not the content.

    Parameters
    ----------
    raw : the whole file.
    name : name of the values, for error messages.
    delimiter, encoding : stated values, or None to detect them.

    Returns
    -------
    CsvTable
    """
    return parse(raw, name=name, confidential=True, delimiter=delimiter, encoding=encoding)


def content(table: CsvTable) -> bytes:
    """Return the content of a file in a canonical form. This form does not depend on the encoding, delimiter, quotes,
    order of rows and columns, or signs of numbers.

    If a file has enough counts to be identified by them (at least 2^20 alternatives), only the counts above 0 are used,
    and the names of its categories are ignored. For a tree, these are the counts of its leaves, so a tree has the same
    content as the file of its leaves.

    Parameters
    ----------
    table : the whole file.

    Returns
    -------
    bytes
        Confidential bytes, equal for two files that have the same records. The cost is O(records log records).
    """
    columns = sorted(table.columns)
    if columns in (["category", "count"], ["category", "count", "parent"]):
        inner = set(table.texts("parent")) if "parent" in columns else set()
        pairs = zip(table.texts("category"), table.texts("count"), strict=True)
        texts = [_plain(text) for name, text in pairs if name not in inner]
        counts = sorted(int(text) for text in texts if _COUNT.fullmatch(text))
        bits = math.fsum(math.log2(1 + count) for count in counts) - math.lgamma(len(counts) + 1) / math.log(2)
        if bits >= _KNOWN:
            return b"counts" + b"".join(b" %d" % count for count in counts)
    rows = sorted(zip(*(map(_plain, table.texts(c)) for c in columns), strict=True))
    parts = [str(len(columns)), *columns, *(value for row in rows for value in row)]
    return b"".join(b"%d:%b" % (len(raw), raw) for raw in (part.encode() for part in parts))


def _plain(value: str) -> str:
    match = _WHOLE.fullmatch(value)
    return match[1] if match else value


def key(place: Path) -> bytes:
    """Return the secret key with which fingerprints are computed. If there is no key yet, draw one from the operating
    system.

    Parameters
    ----------
    place : folder of the confidential files; it is created with access for its owner only, and excluded from git.

    Raises
    ------
    ValueError
        If users other than the owner can read the key, or the key does not have 32 bytes.
    """
    _durable.folder(place, mode=0o700)
    path = place / KEY
    if not (place / IGNORED).exists():
        _durable.replace(place / IGNORED, b"*\n", mode=0o600, name="what git ignores")
    if not path.exists():
        draw_key(path, name="key")
    if not stat.S_ISREG(path.lstat().st_mode):
        raise Refused(f"{path}: the key must be a regular file, not a link or a folder: {_LOST}")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise Refused(f"{path}: the key must be readable only by its owner: run chmod 600 {path}")
    secret = path.read_bytes()
    if len(secret) != KEY_BYTES:
        raise Refused(f"{path}: the key must contain {KEY_BYTES} bytes, got {len(secret)} bytes: {_LOST}")
    return secret


def draw_key(path: Path, *, name: str) -> None:
    """Draw a secret key from the operating system, and write the key to a new file that only its owner can read.

    Parameters
    ----------
    path : path that does not exist yet; the caller holds the lock.
    name : name of the key, for the names of the steps.

    Returns
    -------
    None
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    _durable.write(draft, secrets.token_bytes(KEY_BYTES), mode=0o600, name=name)
    _durable.step(f"{name}: its name")
    os.link(draft, path)
    draft.unlink()
    _durable.sync(path.parent, name=name)


def has_key(place: Path) -> bool:
    """Return whether a folder contains a secret key for fingerprints."""
    return (place / KEY).exists()


def fingerprint(secret: bytes, *parts: bytes) -> str:
    """Return the HMAC-SHA256 of several byte strings, each preceded by its length. Without the secret, the result
    reveals nothing about the parts.
    """
    code = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        code.update(len(part).to_bytes(8, "little"))
        code.update(part)
    return code.hexdigest()


def keep(place: Path, name: str, data: bytes) -> Path:
    """Write a confidential report with mode 0600. The report of an unpublished attempt is replaced.

    Parameters
    ----------
    place : folder of the confidential files.
    name : name of the report.
    data : content of the report.

    Returns
    -------
    Path of the report.
    """
    path = place / name
    path.unlink(missing_ok=True)
    _durable.write(path, data, mode=0o600, name="confidential report")
    return path
