"""The raw files: from local folders, else from the UCI archive; every byte is verified before it is used or kept."""

import gzip
import hashlib
import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pooch
import requests

from dpmultinomial._files.places import public

from .catalogue import DOWNLOADED, File, Source, places

_TIMEOUT = 20


class ChecksumError(ValueError):
    """A file is there but is not the right one."""


class UnavailableError(RuntimeError):
    """A data set is in no folder and could not be downloaded."""


def obtain(source: Source, *, folders: Sequence[str | Path], download: bool, retries: int = 2) -> dict[str, bytes]:
    """Content of a data set's files by name, verified.

    Parameters
    ----------
    source : which files.
    folders : searched in order for ``<folder>/<data set>/<file>`` or ``<folder>/<file>``, plain or with .gz added; a
        wrong file is passed over for the next folder's.
    download : whether to fetch from `source.archive` what no folder has. What arrives is kept in the first folder.
    retries : further attempts at a failed download.

    Raises
    ------
    ChecksumError
        If a downloaded file has another SHA-256; names file, expected and found. Nothing is written then.
    UnavailableError
        If no folder has the right files and they could not be downloaded; says why, and which files were wrong.
    """
    wanted = [source.files] + ([source.archive_files] if source.archive_files else [])
    wrong: list[str] = []
    for files in wanted:
        found = {file.name: _local(source.name, file, folders, wrong) for file in files}
        there = {name: content for name, content in found.items() if content is not None}
        if len(there) == len(found):
            return there
    looked = "; ".join([", ".join(map(str, folders)) or "no folder", *dict.fromkeys(wrong)])
    if not download:
        raise UnavailableError(f"{source.name}: not in {looked}, and downloads are switched off")
    try:
        content = _download(source.archive, retries)
    except (requests.RequestException, ValueError, OSError) as error:
        raise UnavailableError(f"{source.name}: not in {looked}; {source.archive}: {_reason(error)}") from None
    files = source.archive_files or source.files
    arrived = {file.name: verified(_member(content, file, source.archive), file, source.archive) for file in files}
    if folders:
        _keep(Path(folders[0]) / source.name, arrived)
    return arrived


def verified(content: bytes, file: File, place: str | Path) -> bytes:
    """`content` if it has the SHA-256 of `file`."""
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise ChecksumError(
            f"{file.name} ({place}): SHA-256 expected {file.sha256}, found {found} ({len(content):,} bytes); "
            "remove or replace that file"
        )
    return content


def _local(name: str, file: File, folders: Sequence[str | Path], wrong: list[str]) -> bytes | None:
    """The first file that is the right one; what is wrong with the others is added to `wrong`."""
    for path in places(name, file, folders):
        if path.is_file():
            try:
                public(path)
                return verified(_unpacked(path) if path.suffix == ".gz" else path.read_bytes(), file, path)
            except ChecksumError as error:
                wrong.append(str(error))
    return None


def _unpacked(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise ChecksumError(f"{path}: is damaged ({error}); remove or replace that file") from None


def _download(address: str, retries: int) -> bytes:
    """Bytes at `address`, with a progress bar; only a transfer of full length counts."""
    with pooch.utils.temporary_file() as path:
        downloader = pooch.HTTPDownloader(progressbar=True, timeout=_TIMEOUT)
        for attempt in range(retries + 1):
            try:
                downloader(address, path, None)
                return Path(path).read_bytes()
            except requests.RequestException:
                if attempt == retries:
                    raise
    raise AssertionError("unreachable")


def _member(archive: bytes, file: File, place: str) -> bytes:
    """One file out of a zip, through zips inside it."""
    for member in file.member:
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as opened:
                archive = opened.read(member)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ChecksumError(f"{file.name} ({place}): the download is no zip with {member} ({error})") from None
    return archive


def _keep(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        part = folder / f"{name}.part"
        part.write_bytes(content)
        os.replace(part, folder / name)
    (folder / DOWNLOADED).touch()


def _reason(error: Exception) -> str:
    """The first line of an error without its address and object numbers."""
    if isinstance(error, requests.HTTPError):
        return f"HTTP status {cast(requests.Response, error.response).status_code}"
    if isinstance(error, (requests.ConnectionError, requests.Timeout)):
        return "no connection"
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
