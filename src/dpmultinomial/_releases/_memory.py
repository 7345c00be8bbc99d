"""What the account remembers of journals: a copy of each outside of the project, below ``~/.local/state``.

It notices what the files beside the data cannot: that all of them were put back from an older copy, that two copies of
a project spend on, that a confidential file was carried to another checkout without its journal. It is no promise:
another account, another machine or a home that cannot be written remembers nothing (`Memory.there` says so).
"""

import errno
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _durable
from ._refused import Refused

_KEY = "key"
_NO_HOME = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST)


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """A journal as the account remembers it.

    Parameters
    ----------
    identity : of the journal.
    place : the folder it was in.
    text : all its lines.
    files : fingerprints, under the account's own key, of what was released.
    """

    identity: str
    place: str
    text: bytes
    files: tuple[str, ...]


@dataclass(frozen=True)
class Memory:
    """The account's memory in `folder`."""

    folder: Path

    @property
    def there(self) -> bool:
        """Whether something can be remembered here; raises OSError only where a disk is full or broken."""
        try:
            _durable.folder(self.folder, mode=0o700)
        except OSError as error:
            if error.errno in _NO_HOME:
                return False
            raise
        return os.access(self.folder, os.W_OK | os.X_OK)

    def all(self) -> Iterator[Remembered]:
        """Every journal that is remembered.

        Raises
        ------
        ValueError
            If a file cannot be read (its name).
        """
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ():
            try:
                found = json.loads(path.read_bytes())
                yield Remembered(
                    identity=path.stem,
                    place=str(found["place"]),
                    text=found["text"].encode(),
                    files=tuple(map(str, found["files"])),
                )
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                raise Refused(f"{path}: cannot be read; it is the account's memory of what was spent") from None

    def find(self, identity: str) -> Remembered | None:
        """What is remembered of one journal, or None."""
        return next((found for found in self.all() if found.identity == identity), None)

    def fingerprint(self, content: bytes) -> str:
        """Of what a confidential file holds, under the account's own key; empty where nothing can be remembered."""
        if not self.there:
            return ""
        path = self.folder / _KEY
        if not path.exists():
            draft = self.folder / f"{_KEY}.{secrets.token_hex(8)}"
            _durable.write(draft, secrets.token_bytes(32), mode=0o600, name="the account's key")
            with suppress(FileExistsError):  # another process was first
                os.link(draft, path)
            draft.unlink()
        return hmac.new(path.read_bytes(), content, hashlib.sha256).hexdigest()

    def keep(self, journal: Remembered) -> None:
        """Remember a journal as it is now, on disk; what was remembered of it before is replaced."""
        known: dict[str, Any] = {"place": journal.place, "text": journal.text.decode(), "files": list(journal.files)}
        raw = (json.dumps(known) + "\n").encode()
        _durable.replace(self.folder / f"{journal.identity}.json", raw, mode=0o600, name="the account's memory")

    def forget(self, identity: str) -> None:
        """Take a journal out that another has taken over."""
        (self.folder / f"{identity}.json").unlink(missing_ok=True)


def of_account() -> Memory:
    """The memory of the account that runs this process."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Memory(Path(home) / "dpmultinomial/spent")
