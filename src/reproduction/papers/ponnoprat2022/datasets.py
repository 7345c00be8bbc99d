"""Read raw files from local folders or the UCI archive, convert them to integer-coded tables, and record the schema of
each table.

Every byte of a raw file is verified before it is used or stored.
"""

import gzip
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pooch
import requests
from sklearn import datasets as bundled

from dpmultinomial._files.places import public
from dpmultinomial._models import coded_table
from dpmultinomial._models.coded_table import CodedTable

from . import catalogue
from .catalogue import DOWNLOADED, File, Source, places

NOT_RUN = "not_run"
_TIMEOUT = 20
_ROOT = Path(__file__).resolve().parents[4]


class ChecksumError(ValueError):
    """Error that is raised if a file exists but has the wrong checksum."""


class UnavailableError(RuntimeError):
    """Error that is raised if a data set is not in any folder and cannot be downloaded."""


def obtain(source: Source, *, folders: Sequence[str | Path], download: bool, retries: int = 2) -> dict[str, bytes]:
    """Return the verified contents of the files of a data set, by file name.

    Parameters
    ----------
    source : data set to obtain.
    folders : folders that are searched in order for ``<folder>/<data set>/<file>`` or ``<folder>/<file>``, plain or
        with .gz added; a file with the wrong checksum is skipped.
    download : whether to download missing files from `source.archive`. They are kept in the first folder.
    retries : number of further attempts after a failed download.

    Raises
    ------
    ChecksumError
        If a downloaded file has a different SHA-256; the message states the file, the expected value and the actual
        value. No file is written.
    UnavailableError
        If no folder contains the right files and they could not be downloaded; the message states the reason and the
        wrong files.
    """
    wanted = [source.files] + ([source.archive_files] if source.archive_files else [])
    wrong: list[str] = []
    for files in wanted:
        contents = {file.name: _local(source.name, file, folders, wrong) for file in files}
        files_found = {name: content for name, content in contents.items() if content is not None}
        if len(files_found) == len(contents):
            return files_found
    looked = "; ".join([", ".join(map(_shown, folders)) or "no folder", *dict.fromkeys(wrong)])
    if not download:
        raise UnavailableError(
            f"{source.name} was not found in {looked}, and downloads are switched off: add the files to one of the "
            "folders, or set download to true"
        )
    try:
        content = _download(source.archive, retries)
    except (requests.RequestException, ValueError, OSError) as error:
        raise UnavailableError(
            f"{source.name} was not found in {looked}, and could not be downloaded from {source.archive} "
            f"({_reason(error)}): add the files to one of the folders, or repeat the download later"
        ) from None
    files = source.archive_files or source.files
    arrived = {file.name: verified(_member(content, file, source.archive), file, source.archive) for file in files}
    if folders:
        _keep(Path(folders[0]) / source.name, arrived)
    return arrived


def _shown(path: str | Path) -> str:
    """Return a path relative to the root of the project, because published messages must not name folders of the user's
    machine.
    """
    return os.path.relpath(path, _ROOT)


def verified(content: bytes, file: File, place: str | Path) -> bytes:
    """Return `content` after checking that its SHA-256 checksum equals the checksum recorded in `file`."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ChecksumError(
            f"{file.name} ({place}, {len(content):,} bytes): the SHA-256 checksum is {digest}, but the expected "
            f"checksum is {file.sha256}: remove or replace this file"
        )
    return content


def _local(name: str, file: File, folders: Sequence[str | Path], wrong: list[str]) -> bytes | None:
    """Return the content of the first local file with the right checksum, or None if there is no such file. Messages
    about files with a wrong checksum are added to `wrong`.
    """
    for path in places(name, file, folders):
        if path.is_file():
            try:
                public(path)
                return verified(_unpacked(path) if path.suffix == ".gz" else path.read_bytes(), file, _shown(path))
            except ChecksumError as error:
                wrong.append(str(error))
    return None


def _unpacked(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise ChecksumError(f"{_shown(path)}: the file is damaged ({error}): remove or replace this file") from None


def _download(address: str, retries: int) -> bytes:
    """Download the file at `address` with a progress bar and return its bytes. Only a complete transfer is accepted."""
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
    """Return the content of one file from a zip archive, which may contain nested archives."""
    for member in file.member:
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as opened:
                archive = opened.read(member)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ChecksumError(
                f"{file.name} ({place}): the download is not a zip archive that contains {member} ({error})"
            ) from None
    return archive


def _keep(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        part = folder / f"{name}.part"
        part.write_bytes(content)
        os.replace(part, folder / name)
    (folder / DOWNLOADED).touch()


def _reason(error: Exception) -> str:
    """Return a short reason for an error, which is the HTTP status, ``no connection``, or the first line of the error
    message.
    """
    if isinstance(error, requests.HTTPError):
        return f"HTTP status {cast(requests.Response, error.response).status_code}"
    if isinstance(error, (requests.ConnectionError, requests.Timeout)):
        return "no connection"
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def load(name: str, *, folders: Sequence[str | Path], download: bool, retries: int = 2) -> CodedTable:
    """Return a data set of the catalogue, or a data set that scikit-learn provides (named ``bundled_...``).

    Relative folders are relative to the repository. The reasons why a data set is missing name the folders as they are
    configured.

    Raises
    ------
    ChecksumError, UnavailableError
        As in `obtain`.
    """
    if name in catalogue.BUNDLED:
        bunch = getattr(bundled, f"load_{name.removeprefix('bundled_')}")(as_frame=True)
        return coded_table.encode(bunch.frame, name=name, target="target", numeric=list(bunch.data.columns))
    source = catalogue.SOURCES[name]
    content = obtain(source, folders=[_ROOT / folder for folder in folders], download=download, retries=retries)
    return coded_table.encode(tidy(source, content), name=name, target=source.target, numeric=source.numeric)


def tidy(source: Source, content: dict[str, bytes]) -> pd.DataFrame:
    """Return the raw files of a data set as one data frame of strings."""
    if any(name.endswith(".xls") for name in content):
        frame = _workbook(source, *content.values())
    else:
        skips = source.skip or (0,) * len(content)
        parts = [_text(source, raw, skip) for raw, skip in zip(content.values(), skips, strict=True)]
        frame = pd.concat(parts, ignore_index=True)
    frame = frame.drop(columns=list(source.dropped))
    if source.strip:
        frame[source.target] = frame[source.target].str.rstrip(source.strip)
    return frame


def _text(source: Source, raw: bytes, skip: int) -> pd.DataFrame:
    header: dict[str, Any] = {"header": 0} if source.header else {"header": None, "names": list(source.columns)}
    separator: dict[str, Any] = {"sep": source.separator, "skipinitialspace": source.separator == ","}
    return pd.read_csv(io.BytesIO(raw), dtype=str, keep_default_na=False, skiprows=skip, **header, **separator)


def _workbook(source: Source, raw: bytes) -> pd.DataFrame:
    frame = pd.read_excel(io.BytesIO(raw), header=1, engine="calamine")
    return frame.rename(columns={"default payment next month": source.target}).astype(str)


def write(table: CodedTable, csv: str | Path, schema: str | Path) -> None:
    """Write the integer codes of a table as a CSV file, and the levels and roles of the columns as a JSON file. Each
    file is written completely or not at all.
    """
    columns = [
        {"name": n, "numeric": bool(q), "levels": v.tolist()}
        for n, q, v in zip(table.columns, table.numeric, table.levels, strict=True)
    ]
    frame = pd.DataFrame(table.codes, columns=list(table.columns))
    _replace(csv, frame.to_csv(index=False, lineterminator="\n"))
    _replace(schema, json.dumps({"name": table.name, "status": "ready", "columns": columns}) + "\n")


def write_missing(name: str, reason: str, csv: str | Path, schema: str | Path) -> None:
    """Write a placeholder for a data set that could not be obtained."""
    _replace(csv, "\n")
    _replace(schema, json.dumps({"name": name, "status": NOT_RUN, "reason": reason}) + "\n")


def read(csv: str | Path, schema: str | Path) -> CodedTable | str:
    """Return the table of a prepared data set, or the reason why the data set has no table."""
    about: dict[str, Any] = json.loads(Path(schema).read_text(encoding="utf-8"))
    if about["status"] == NOT_RUN:
        return about["reason"]
    codes = pd.read_csv(csv, dtype=np.int32)
    return CodedTable(
        name=about["name"],
        columns=tuple(c["name"] for c in about["columns"]),
        codes=np.ascontiguousarray(codes.to_numpy()),
        levels=tuple(np.array(c["levels"]) for c in about["columns"]),
        numeric=tuple(c["numeric"] for c in about["columns"]),
    )


def _replace(path: str | Path, text: str) -> None:
    part = Path(f"{path}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
