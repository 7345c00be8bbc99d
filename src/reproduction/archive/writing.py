"""Write a run as a tar file that is identical on every machine: sorted names, no times, no owners, no compression."""

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

from dpmultinomial import __version__

from . import claims, contents, crate
from .checksums import SUMS

_EXECUTABLE = 0o111


def default_name() -> str:
    """Return the default name of the archive file."""
    return f"build/dpmultinomial-{__version__}.tar"


def write(target: Path, run: Path) -> str:
    """Write the archive of a run.

    Parameters
    ----------
    target : file of the archive; all or nothing.
    run : folder of the run.

    Returns
    -------
    SHA-256, number of files and size as text.

    Raises
    ------
    ArchiveError
        As `contents.files`.
    """
    found = contents.files(run)
    texts = {crate.NAME: crate.text(found, run), claims.NAME: claims.text(run).encode()}
    texts[SUMS] = _sums(found, texts)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted([*found, *texts]):
            raw = texts[name] if name in texts else found[name].read_bytes()
            runs = name in found and bool(found[name].stat().st_mode & _EXECUTABLE)
            archive.addfile(_member(name, raw, executable=runs), io.BytesIO(raw))
    os.replace(part, target)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    return f"{len(found) + len(texts)} files, {target.stat().st_size / 1e6:.0f} MB, SHA-256 {digest}"


def _member(name: str, raw: bytes, *, executable: bool) -> tarfile.TarInfo:
    member = tarfile.TarInfo(f"dpmultinomial-{__version__}/{name}")
    member.size, member.mtime = len(raw), 0
    member.mode = 0o755 if executable else 0o644
    return member


def _sums(found: Mapping[str, Path], texts: Mapping[str, bytes]) -> bytes:
    """Return the input of ``sha256sum --check``: the checksum of every file except the list of checksums."""
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}
    digests |= {name: hashlib.sha256(raw).hexdigest() for name, raw in texts.items()}
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()
