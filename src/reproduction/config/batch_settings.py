"""What a configuration says about batches: what may be a key or a column, and what a file must have. Plain Python."""

import csv
from collections.abc import Iterator, Mapping
from os.path import isfile
from pathlib import Path
from typing import Any

from dpmultinomial._files import places

TABLE = "table"
_READ = 1 << 20  # bytes of a file that are looked at before any job
_PLACE = "paths start where snakemake was started"
_RULE = "a batch is a file of public numbers, CSV in UTF-8 with a header, or .parquet"


def columns_used(path: Path, about: Mapping[str, Any]) -> dict[str, str]:
    """Column -> ``text`` or ``number``, of those a file has and a batch reads, beside `TABLE`."""
    found = header(path)
    return dict(about["columns"]) | {c: kind for c, kind in about["by_table"].items() if c in found}


def header(path: Path) -> list[str]:
    """Names of the columns.

    Raises
    ------
    ValueError
        With the rule that is broken: confidential, missing, unreadable, no UTF-8, empty, no rows, a name twice.
    """
    if not isfile(places.public(path)):
        raise ValueError(f"{str(path)!r} is no file; {_PLACE}")
    try:
        names = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(path)!r} is not text in UTF-8 (byte {error.start}); {_RULE}") from None
    except (OSError, csv.Error) as error:
        raise ValueError(f"{str(path)!r} cannot be read ({error}); {_RULE}") from None
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{str(path)!r} names the column {twice[0]!r} twice")
    return names


def _csv(path: Path) -> list[str]:
    with path.open("rb") as stream:
        start = stream.read(_READ)
    if b"\0" in start:
        raise ValueError(f"{str(path)!r} is not text in UTF-8 (it has NUL bytes); {_RULE}")
    whole = start if len(start) < _READ else start.rpartition(b"\n")[0]
    lines = whole.decode("utf-8-sig").splitlines()
    rows = csv.reader(lines)
    names = next(rows, [])
    if not next(rows, []):
        raise ValueError(f"{str(path)!r} has no rows; {_RULE}")
    return names


def _parquet(path: Path) -> list[str]:
    import pyarrow as pa  # only who has a Parquet file pays for it
    import pyarrow.parquet

    try:
        file = pa.parquet.ParquetFile(path)
    except pa.ArrowException as error:
        raise ValueError(f"{str(path)!r} is no Parquet file ({error}); {_RULE}") from None
    if not file.metadata.num_rows:
        raise ValueError(f"{str(path)!r} has no rows; {_RULE}")
    return list(file.schema_arrow.names)


def mistakes(about: Mapping[str, Any], batches: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every rule that a paper's batches break.

    Parameters
    ----------
    about : the paper's `batch` in settings.yaml: `columns` a file must have, `by_table` what is a key or a column,
        `one_of`: of each list exactly one.
    batches : name -> settings.
    """
    for name, batch in batches.items():
        if name.endswith("_summary"):
            yield f"batches.{name}", "is taken by the summary of another batch; end the name otherwise"
        if isinstance(batch, dict) and isinstance(batch.get("data"), str):
            for key, text in _batch(about, batch):
                yield f"batches.{name}{key}", text


def _batch(about: Mapping[str, Any], batch: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    path = Path(batch["data"])
    try:
        found = header(path)
    except ValueError as error:
        yield ".data", str(error)
        return
    wanted = [TABLE, *about["columns"]]
    if missing := [column for column in wanted if column not in found]:
        yield (
            ".data",
            f"{str(path)!r} lacks {', '.join(missing)}; its columns are {', '.join(found)}, it must have "
            f"{', '.join(wanted)}",
        )
    for key in about["by_table"]:
        if key in batch and key in found:
            yield f".{key}", f"is a column of {str(path)!r} too; give one of them"
    for group in about["one_of"]:
        given = [key for key in group if key in batch or key in found]
        if len(given) != 1:
            words = " and ".join(given) or f"no {' or '.join(group)}"
            yield "", f"has {words}; give exactly one of {', '.join(group)}, as a key or as a column"
