"""Read files that contain many public tables, in CSV or Parquet format, as a stream. The tables can be split into any
number of shards.

A row belongs to the table whose name is in its column `table`; the rows may be in any order. In a numeric column, an
empty cell is read as NaN, which may be valid (a withheld count). Any other text that is not a number is read as
infinity, which is always a mistake. A row with too few or too many fields invalidates only its own table.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from dpmultinomial._files import places

from ..config import file_columns, published_cells, table_files

TABLE = "table"
Array = NDArray[np.float64]
_BLOCK = 1 << 24  # bytes of a CSV file, and 128 times the rows of a Parquet file, that are in memory at a time
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_LAW: Any = pc  # pyarrow creates its functions when it is imported, so type checkers do not know them


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables from one file, ordered by the first row of each table in the file.

    Parameters
    ----------
    names : names of the n tables.
    starts : int64 (n + 1,); table t consists of the rows starts[t]..starts[t + 1] - 1 of the columns.
    columns : dictionary from names to arrays of shape (rows,). They contain either float64 values, which are NaN if a
        cell is empty and inf if it is not a number, or strings.
    reasons : one string per table, empty if its rows could be read.
    """

    names: list[str]
    starts: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]
    reasons: list[str]

    def pieces(self, size: int) -> Iterator["Tables"]:
        """Yield the tables in consecutive groups of at most `size` tables."""
        for first in range(0, len(self.names), size):
            bounds = self.starts[first : first + size + 1]
            part_rows = slice(bounds[0], bounds[-1])
            columns = {name: values[part_rows] for name, values in self.columns.items()}
            last = first + size
            yield Tables(self.names[first:last], bounds - bounds[0], columns, self.reasons[first:last])


def of_shard(path: Path, columns: Mapping[str, str], shard: int, shards: int) -> Tables:
    """Return the tables of a file that belong to one shard (part of the file). The tables of a shard are consecutive in
    the file, and the numbers of tables in two shards differ by at most one.

    Parameters
    ----------
    path : CSV (UTF-8, with a header), or Parquet if the name ends in ``.parquet``.
    columns : dictionary from the name of each required column to ``text`` or ``number``, in addition to `TABLE`.
    shard : number of the shard, beginning with 1.
    shards : number of shards.

    Raises
    ------
    ValueError
        If the file cannot be read, lacks a column or is not encoded in UTF-8.
    """
    try:
        return _of_shard(path, columns, shard, shards)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise ValueError(f"{path} cannot be read as a file of tables: {error}") from None


# columns with the bounds of counts without a number, if a table has such counts
LIMITS = ("lower_bound", "upper_bound")


def named(
    path: Path,
    columns: Mapping[str, str],
    settings: Mapping[str, Any],
    names: Mapping[str, Any],
    shard: int,
    shards: int,
) -> Tables:
    """Return the tables of one shard (a separately computed part of a batch), with the column names that a kind of
    scenario expects.

    Parameters
    ----------
    path, shard, shards : arguments of `of_shard`.
    columns : dictionary from the name of each expected column to ``text``, ``number`` or ``published``. Values of the
        last kind are numbers, ranges, limits or symbols (`published_cells`).
    settings : settings of the scenario, which contain the meaning of symbols.
    names : dictionary from the expected name of a column to its name in the file, if the names differ.

    Returns
    -------
    Tables
        A published cell without a number is NaN. If there are such cells, the columns `LIMITS` contain their bounds,
        which are -inf and inf for all other cells.

    Raises
    ------
    ValueError
        In the cases of `of_shard`, or if a name would be made from several columns.
    """
    if several := [name for name in columns if not isinstance(names.get(name, name), str)]:
        raise ValueError(f"columns: for a batch, {several[0]!r} must be a single column, got {names[several[0]]!r}")
    if settings.get("absent"):
        columns = {"name": "text", **columns}
    kinds = {str(names.get(name, name)): "text" if form == "text" else "number" for name, form in columns.items()}
    shard_tables = of_shard(path, kinds, shard, shards)
    listed = {name: shard_tables.columns[str(names.get(name, name))] for name in columns}
    for name in (name for name, form in columns.items() if form == "published" and np.isinf(listed[name]).any()):
        column = str(names.get(name, name))
        texts = of_shard(path, {column: "text"}, shard, shards).columns[column]
        listed[name], *ends = _published(texts, settings)
        if any(np.isfinite(end).any() for end in ends):
            listed |= dict(zip(LIMITS, ends, strict=True))
    shard_tables = Tables(shard_tables.names, shard_tables.starts, listed, shard_tables.reasons)
    return _with_absent(shard_tables, columns, settings, names) if settings.get("absent") else shard_tables


def _with_absent(
    found: Tables, columns: Mapping[str, str], settings: Mapping[str, Any], names: Mapping[str, Any]
) -> Tables:
    """Return the tables with rows appended for the cells that the tables do not list."""
    cells = file_columns.listed_cells(settings, columns, dict(names))
    every = {name: i for i, name in enumerate(cells["name"])}
    numbers = {
        name: np.array([float(text) if text else np.nan for text in texts]) if columns[name] != "text" else
        np.array(texts, dtype=object)
        for name, texts in cells.items()
    }  # fmt: skip
    value, *ends = _published(np.array([file_columns.absent_value(settings)]), settings)
    listed = dict(found.columns)
    if np.isfinite(ends[1][0]) and LIMITS[0] not in listed:
        listed |= {
            name: np.full(len(listed["value"]), end) for name, end in zip(LIMITS, (-np.inf, np.inf), strict=True)
        }
    fixed = {"value": value, **(dict(zip(LIMITS, ends, strict=True)) if LIMITS[0] in listed else {})}
    pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in listed}
    sizes, reasons = [], list(found.reasons)
    for t in range(len(found.names)):
        place = slice(found.starts[t], found.starts[t + 1])
        known = set(listed["name"][place].tolist())
        if strange := [name for name in listed["name"][place] if name not in every]:
            reasons[t] = reasons[t] or file_columns.not_a_cell(strange[0], cells["name"])
        rows = np.array(
            [i for name, i in every.items() if name not in known and place.stop > place.start], dtype=np.int64
        )
        sizes.append(place.stop - place.start + len(rows))
        for name, column in listed.items():
            part = column[place]
            if name in numbers:
                more = numbers[name][rows]
            else:
                more = np.repeat(fixed.get(name, part[:1]), len(rows))
                if name not in fixed and len(rows) and len(set(part.tolist())) > 1:
                    theirs = str(names.get(name, name))
                    reasons[t] = reasons[t] or file_columns.not_constant(theirs, cells["name"][rows[0]])
            pieces[name] += [part, more]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    joined = {name: np.concatenate([column[:0], *pieces[name]]) for name, column in listed.items()}
    return Tables(found.names, starts, joined, reasons)


def _published(texts: NDArray[Any], settings: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return three arrays for the published cells: the numbers, the lower bounds and the upper bounds. The number is
    inf if the text has no meaning.
    """
    different, places = np.unique(texts.astype(str), return_inverse=True)
    rows = np.tile([np.nan, -np.inf, np.inf], (len(different), 1))
    for i, text in enumerate(different):
        try:
            number, bounds = published_cells.meaning(str(text), settings)
        except ValueError:
            rows[i, 0] = np.inf
            continue
        rows[i, 0] = np.nan if number is None else number
        rows[i, 1:] = bounds or rows[i, 1:]
    read = rows[places.ravel()]
    return read[:, 0], read[:, 1], read[:, 2]


def _of_shard(path: Path, columns: Mapping[str, str], shard: int, shards: int) -> Tables:
    bad: dict[str, str] = {}
    places: dict[str, int] = {}
    for chunk in _chunks(path, {TABLE: "text"}, bad):
        for name in _LAW.unique(chunk[TABLE]).to_pylist():
            places.setdefault(name, len(places))
    for name in bad:
        places.setdefault(name, len(places))
    first, last = (len(places) * s // shards for s in (shard - 1, shard))
    kinds = {TABLE: "text", **columns}
    parts, owners = [], []
    for chunk in _chunks(path, kinds, {}):
        owner = _owner(chunk[TABLE], places)
        mine = (owner >= first) & (owner < last)
        owners.append(owner[mine] - first)
        parts.append({name: chunk[name].filter(pa.array(mine)) for name in columns})
    owner = np.concatenate([np.empty(0, dtype=np.int64), *owners])
    order = np.argsort(owner, kind="stable")
    joined = {name: _joined([part[name] for part in parts], kind)[order] for name, kind in columns.items()}
    names = list(places)[first:last]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(names)))]).astype(np.int64)
    return Tables(names, starts, joined, [bad.get(name, "") for name in names])


def _owner(names: pa.Array, places: Mapping[str, int]) -> NDArray[np.int64]:
    """Return, for each row of a file, the position of its table among all tables."""
    coded = names.dictionary_encode()
    known = np.array([places[name] for name in coded.dictionary.to_pylist()], dtype=np.int64)
    return known[coded.indices.to_numpy(zero_copy_only=False)]


def _joined(parts: Sequence[pa.Array], kind: str) -> NDArray[Any]:
    if kind == "number":
        return np.concatenate([np.empty(0), *(part.to_numpy(zero_copy_only=False) for part in parts)])
    whole = pa.chunked_array(parts, type=pa.string()).combine_chunks().dictionary_encode()
    texts = np.array([*whole.dictionary.to_pylist(), ""], dtype=object)  # each distinct string is stored only once
    return texts[whole.indices.to_numpy(zero_copy_only=False)]


def _chunks(path: Path, kinds: Mapping[str, str], bad: dict[str, str]) -> Iterator[dict[str, pa.Array]]:
    """Yield the required columns of a file in batches of consecutive rows. Tables with unreadable rows are added to
    `bad`, together with the reason.
    """
    parquet = places.public(path).suffix.lower() == ".parquet"
    with _parquet(path, kinds) if parquet else _csv(path, list(kinds), bad) as reader:
        for batch in reader:
            yield {
                name: _text(batch[name]) if kind == "text" else _numbers(batch[name]) for name, kind in kinds.items()
            }


def _parquet(path: Path, kinds: Mapping[str, str]) -> Any:
    names = list(kinds)
    table_files.header(path)
    texts = [name for name in names if kinds[name] == "text"]
    file = pa.parquet.ParquetFile(path, read_dictionary=texts)
    schema = pa.schema([file.schema_arrow.field(name) for name in names])
    return pa.RecordBatchReader.from_batches(schema, file.iter_batches(_BLOCK // 128, columns=names))


def _csv(path: Path, names: list[str], bad: dict[str, str]) -> Any:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        place = next(csv.reader(stream)).index(TABLE)

    def refuse(row: Any) -> str:
        fields = next(csv.reader([row.text]), [])
        name = fields[place] if place < len(fields) else ""
        bad.setdefault(name, f"a row has {row.actual_columns} fields, but the header has {row.expected_columns}")
        return "skip"

    return pa.csv.open_csv(
        path,
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK),
        parse_options=pa.csv.ParseOptions(invalid_row_handler=refuse),
        convert_options=pa.csv.ConvertOptions(
            include_columns=names, column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )


def _text(values: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        lengths = _LAW.binary_length(values.dictionary.cast(pa.string()))
        longest = _LAW.max(lengths).as_py() or 0
        if longest > table_files.LARGEST_NAME:
            name = values.dictionary.cast(pa.binary())[_LAW.index(lengths, longest).as_py()].as_py()
            raise ValueError(
                f"a name must have at most {table_files.LARGEST_NAME} bytes, got {longest} bytes: shorten the name "
                f"that begins with {name[:40].decode('utf-8', errors='replace')!r}"
            )
        values = values.dictionary_decode()
    texts = _LAW.fill_null(values.cast(pa.string()), "")
    texts.validate(full=True)  # UTF-8
    return texts


def _numbers(values: pa.Array) -> pa.Array:
    """Return a column as float64, in which an empty cell is null and a cell that is not a number is inf."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values.cast(pa.float64(), safe=False)
    try:
        return values.cast(pa.float64())
    except pa.ArrowInvalid:
        trimmed = _LAW.utf8_trim_whitespace(values)
        trimmed = _LAW.if_else(_LAW.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
        known = _LAW.or_kleene(_LAW.match_substring_regex(trimmed, _NUMBER), _LAW.is_null(trimmed))
        trimmed = _LAW.if_else(known, trimmed, pa.scalar("inf"))
        return _LAW.replace_substring_regex(trimmed, r"^\+", "").cast(pa.float64())
