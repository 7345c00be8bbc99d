"""Compare an unpacked archive with its list of checksums, and copy the files that match.

This file uses only the standard library, and `make verify` runs it before anything else, with Python's option -I: no
other code of the folder is imported. The module opens only the files in the list. Folders that are created when an
archive is used (`BUILT`) are skipped at the top level only, and are listed.

``python3 -I -B -X pycache_prefix=NEW checksums.py FOLDER TARGET`` copies the files that match to the new folder TARGET.
"""

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

SUMS = "SHA256SUMS"
BUILT = (".git", ".snakemake", ".venv", "build")
_LINE = re.compile(r"([0-9a-f]{64})  ([^\x00-\x1f\x7f\\]+)")
_SHOWN = 50


class Differs(ValueError):
    """Error that is raised if an archive does not match its checksums or tables. The message lists the files that
    differ.
    """


def read(folder: Path) -> dict[str, str]:
    """Return the list of checksums as a mapping from each file name to its SHA-256.

    Parameters
    ----------
    folder : folder of an unpacked archive.

    Raises
    ------
    Differs
        If the list does not exist or is not a regular UTF-8 file, or a line is not a digest and a name in the archive.
    """
    path = folder / SUMS
    if not _is_regular(path):
        raise Differs(f"{path} is missing or is not a regular file: pass the folder of an unpacked archive")
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise Differs(
            f"{SUMS} is not valid UTF-8 (invalid byte at position {error.start}): unpack the archive again"
        ) from None
    checksums: dict[str, str] = {}
    wrong = []
    for number, line in enumerate(lines, start=1):
        parts = _LINE.fullmatch(line)
        name = parts[2] if parts else ""
        if not parts:
            wrong.append(
                f"{SUMS}, line {number}: the line must consist of a SHA-256, two spaces and a name, got {line[:100]!r}"
            )
        elif name.startswith("/") or {"", ".", ".."} & {*name.split("/")} or name.split("/")[0] in BUILT:
            wrong.append(f"{SUMS}, line {number}: {name!r} must be a file in the archive")
        elif name in checksums:
            wrong.append(f"{SUMS}, line {number}: the name {name!r} occurs twice")
        else:
            checksums[name] = parts[1]
    stop(wrong)
    if not checksums:
        raise Differs(f"{SUMS} contains no file names: unpack the archive again")
    return checksums


def stop(found: list[str]) -> None:
    """Raise `Differs` with the given differences, if there are any."""
    if found:
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        raise Differs("\n".join([*found[:_SHOWN], *more]))


def check(folder: Path, target: Path | None = None) -> tuple[dict[str, str], list[str]]:
    """Check that a folder contains all listed files and no other files.

    Parameters
    ----------
    folder : folder of an unpacked archive.
    target : new folder to which the files are copied; None copies nothing.

    Returns
    -------
    sums, skipped : mapping from names to SHA-256, and the folders at the top level that were not checked.

    Raises
    ------
    Differs
        If a file is missing, differs, or was added, or if the folder contains a link, a pipe or another special file.
    """
    sums = read(folder)
    added, skipped = _added(folder, {*sums, SUMS})
    stop([*_different(folder, sums, target), *added])
    return sums, skipped


def _different(folder: Path, sums: dict[str, str], target: Path | None) -> Iterator[str]:
    for name, digest in sums.items():
        parts = PurePosixPath(name).parts
        above = next((p for k in range(1, len(parts)) if (p := folder.joinpath(*parts[:k])).is_symlink()), None)
        path = folder / name
        if above is not None:
            yield f"{name} must not be below the link {above.relative_to(folder)}"
        elif not os.path.lexists(path):
            yield f"{name} is missing"
        elif not _is_regular(path):
            yield f"{name} was replaced by {_kind(path)}"
        else:
            raw = path.read_bytes()
            if hashlib.sha256(raw).hexdigest() != digest:
                yield f"{name} differs from the archived file"
            elif target is not None:
                _copy(raw, target / name, executable=bool(path.stat().st_mode & 0o100))


def _copy(raw: bytes, path: Path, *, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    path.chmod(0o755 if executable else 0o644)


def _added(folder: Path, listed: set[str]) -> tuple[list[str], list[str]]:
    """Return a sentence for each file or folder that is not listed, and the folders that were skipped."""
    above = {parent.as_posix() for name in listed for parent in PurePosixPath(name).parents}
    added: list[str] = []
    skipped: list[str] = []
    waiting = [""]
    while waiting:
        place = waiting.pop()
        for entry in sorted(os.scandir(folder / place), key=lambda entry: entry.name):
            name = f"{place}/{entry.name}" if place else entry.name
            if not place and name in BUILT and entry.is_dir(follow_symlinks=False):
                skipped.append(name)
            elif entry.is_dir(follow_symlinks=False) and name in above:
                waiting.append(name)
            elif name not in listed:
                added.append(f"{name} was added ({_kind(Path(entry.path))})")
    return sorted(added), skipped


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _kind(path: Path) -> str:
    mode = path.lstat().st_mode
    kinds = ((stat.S_ISREG, "a file"), (stat.S_ISDIR, "a folder"), (stat.S_ISLNK, "a link"), (stat.S_ISFIFO, "a pipe"))
    return next((word for is_kind, word in kinds if is_kind(mode)), "a special file")


def main(arguments: list[str]) -> None:
    """Check a folder, copy the folder if a second folder is given, and print which files were checked and which folders
    were skipped.
    """
    try:
        sums, skipped = check(Path(arguments[0]).resolve(), Path(arguments[1]) if arguments[1:] else None)
    except (Differs, OSError) as error:
        sys.exit(f"make verify: {_printable(str(error))}")
    print(_printable(sentence(sums, skipped)), flush=True)


def _printable(text: str) -> str:
    """Return the string with escape sequences in place of all non-printable characters except line breaks."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def sentence(sums: dict[str, str], skipped: list[str]) -> str:
    """Return a sentence that states which files were checked and which folders were skipped."""
    rest = f"; skipped, because they are made when an archive is used: {', '.join(skipped)}" if skipped else ""
    return f"{len(sums)} files match {SUMS}, and there are no others{rest}"


if __name__ == "__main__":
    main(sys.argv[1:])
