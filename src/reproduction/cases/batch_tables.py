"""Writing the pieces of a batch, putting its shards together byte by byte, and reading what came out."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from .batches import COLUMNS

_TEXTS = ("table", "category", "status", "note")
_SCHEMA = pa.schema([(name, pa.string() if name in _TEXTS else pa.float64()) for name in COLUMNS])
_HEADER = (",".join(COLUMNS) + "\n").encode()
_BLOCK = 1 << 24  # bytes read at a time


def write(parts: Iterable[pd.DataFrame], path: Path) -> None:
    """CSV of the parts, with `batches.COLUMNS`, one below the other; floats to the last bit; all or nothing."""
    making = path.with_name(path.name + ".part")
    plain = pa.csv.WriteOptions(include_header=False, quoting_style="needed")
    with making.open("wb") as stream:
        stream.write(_HEADER)
        for part in parts:
            pa.csv.write_csv(pa.Table.from_pandas(part, schema=_SCHEMA, preserve_index=False), stream, plain)
    os.replace(making, path)


def together(shards: Sequence[Path], path: Path) -> None:
    """The rows of all shards in their order under one header; all or nothing."""
    making = path.with_name(path.name + ".part")
    with making.open("wb") as out:
        out.write(_HEADER)
        for shard in shards:
            with shard.open("rb") as stream:
                stream.readline()
                shutil.copyfileobj(stream, out, 1 << 20)
    os.replace(making, path)


def read(path: Path, columns: Sequence[str] = COLUMNS) -> Iterator[pd.DataFrame]:
    """The rows of a batch's table, some at a time; empty texts as they are, numbers that are not there as NaN."""
    reader = pa.csv.open_csv(
        path,
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK),
        convert_options=pa.csv.ConvertOptions(
            include_columns=list(columns), column_types=dict(zip(_SCHEMA.names, _SCHEMA.types, strict=True))
        ),
    )
    with reader:
        for batch in reader:
            yield batch.to_pandas()
