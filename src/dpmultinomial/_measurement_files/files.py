"""Reader of the rows of measurement files and of the geographic spine. Queries and constraints are read in batches per
row group, never as a complete file. The spine consists of the nodes, their parents from the geocodes of the rows, and
the nodes that make up a tabulation geography.

All codes of a level have the same length, and a parent's code is a prefix of its children's codes. The spine has two
branches (outside and inside American Indian and Alaska Native areas, AIAN) and separate block groups. The code of a
county consists of the branch (1 digit), the state (2), ``10``, the county (3) and, in some cases, a running number.
Other codes at the level of counties are AIAN areas, which do not have a GEOID. Below the counties, only the code of a
block contains a GEOID: its last 16 characters, with the digit of the block group repeated. A tabulated county, tract or
block group is therefore a sum of nodes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .products import DPQUERY, GEOID_DIGITS, Product, cells_of

Array = NDArray[np.float64]
_ROWS = 2048  # number of rows of a batch
_LARGEST = 2**53  # largest released value
_SIGNS = {"=": "=", "==": "=", ">=": ">=", "ge": ">=", "<=": "<=", "le": "<="}


@dataclass(frozen=True, order=True)
class Query:
    """Name, binnings and sign of a query or constraint, which are the same in all rows of the query or constraint.

    Attributes
    ----------
    name : name in the files.
    specs : binnings of the query.
    sign : relation of a constraint, ``=``, ``>=`` or ``<=``.
    """

    name: str
    specs: tuple[str, ...]
    sign: str = ""


@dataclass(frozen=True)
class Batch:
    """Batch of rows of a measurement file that belong to the same query.

    Parameters
    ----------
    query : query of the rows.
    codes : geocodes of the rows.
    variances : float64 (rows,); 0 for constraints.
    values : float64 (rows, cells), row-major; None if numbers were not requested, or a binning is unknown.
    """

    query: Query
    codes: pa.Array
    variances: Array
    values: Array | None


def says_synthetic(path: Path) -> bool:
    """Return whether the metadata of a file mark the file as synthetic."""
    return b"synthetic" in (pq.read_schema(path).metadata or {})


def batches(
    product: Product, paths: Iterable[Path], kind: str, *, values: bool, wanted: set[str] | None = None
) -> Iterator[Batch]:
    """Yield all rows of several files in batches of rows that belong to the same query.

    Parameters
    ----------
    product : product whose axes are the columns.
    paths : paths of the files.
    kind : ``DPQuery`` or ``Constraint``.
    values : whether the numbers are read.
    wanted : names of the queries to read; all by default.

    Yields
    ------
    Batch : rows of one query.

    Raises
    ------
    ValueError
        If a file does not have a required column, or a row breaks the layout; the message states the file and the rule.
    """
    for path in paths:
        try:
            yield from _of_file(product, path, kind, values, wanted)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{str(path)!r} cannot be read as Parquet ({error})") from None
        except ValueError as error:
            raise ValueError(f"{str(path)!r}: {error}") from None


def _of_file(product: Product, path: Path, kind: str, values: bool, wanted: set[str] | None) -> Iterator[Batch]:
    stated = pq.read_metadata(path)
    with pq.ParquetFile(path, metadata=stated, read_dictionary=_repeated(product, stated)) as file:
        there = set(listed := file.schema_arrow.names)
        if twice := [name for name in there if listed.count(name) > 1]:
            raise ValueError(f"the file must not have duplicate columns, got {twice[0]} twice")
        if "query_name" in there and not _is_text(file.schema_arrow.field("query_name").type):
            raise ValueError(
                f"the column query_name must contain strings, got {file.schema_arrow.field('query_name').type}"
            )
        needed = ["geocode", "query_name", *(axis.name for axis in product.axes)]
        needed += ["value"] * values + ["variance"] * (kind == DPQUERY)
        if missing := [name for name in needed if name not in there]:
            raise ValueError(
                f"the file must have all columns of {product.product} {product.table}, but lacks {', '.join(missing)}"
            )
        columns = [*needed, *({"sign"} & there), *({"query_shape"} & there if values else ())]
        groups = [g for g in range(file.num_row_groups) if wanted is None or _may_hold(file, g, wanted)]
        for group in groups:  # one group at a time, because a reader keeps the data of all groups that it has read
            first = sum(stated.row_group(g).num_rows for g in range(group))
            for table in file.iter_batches(_ROWS, row_groups=[group], columns=columns, use_threads=False):
                yield from _by_query(product, table, kind, wanted, first)
                first += table.num_rows


def _by_query(
    product: Product, rows: pa.RecordBatch, kind: str, wanted: set[str] | None, first_row: int
) -> Iterator[Batch]:
    """Yield the rows of each query: a slice if the rows are contiguous, and otherwise a copy. `first_row` is the
    position of the first of these rows in the file.
    """
    names = rows.column("query_name").cast(pa.string())
    runs = pc.run_end_encode(names)
    together = len(runs.values) == len(different := sorted(pc.unique(names).to_pylist(), key=str))
    starts = dict(zip(runs.values.to_pylist(), pairwise([0, *runs.run_ends.to_pylist()]), strict=True))
    for name in different:
        if name is None:
            row = first_row + int(np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False))[0]) + 1
            raise ValueError(f"the column query_name must not have empty cells, got an empty cell in row {row}")
        if wanted is None or name in wanted:
            first, end = starts[name]
            selected = rows.slice(first, end - first) if together else rows.filter(pc.equal(names, name))
            yield _batch(product, name, selected, kind)


def _repeated(product: Product, stated: pq.FileMetaData) -> list[str]:
    """Return the names of the string columns of a measurement file that contain few distinct values. These columns are
    read as codes and a list of strings. This reduces the reading time by 20 %.
    """
    columns = [stated.schema.column(i) for i in range(len(stated.schema))]
    texts = {column.path for column in columns if column.physical_type == "BYTE_ARRAY"}
    return sorted(texts & {"query_name", "sign", *(axis.name for axis in product.axes)})


def _may_hold(file: pq.ParquetFile, group: int, wanted: set[str]) -> bool:
    """Return whether a row group can contain a query, according to the first and the last query name in the row
    group.
    """
    rows = file.metadata.row_group(group)
    for i in range(rows.num_columns):
        column = rows.column(i)
        if column.path_in_schema == "query_name" and column.is_stats_set and column.statistics.has_min_max:
            return any(column.statistics.min <= name <= column.statistics.max for name in wanted)
    return True


def _batch(product: Product, name: str, rows: pa.RecordBatch, kind: str) -> Batch:
    specs = tuple(_only(rows, axis.name, name) for axis in product.axes)
    sign = "" if kind == DPQUERY else _sign(rows, name)
    if kind == DPQUERY:
        variances = np.asarray(rows.column("variance").cast(pa.float64()).to_numpy(zero_copy_only=False))
        if not (good := (variances > 0) & np.isfinite(variances)).all():
            raise ValueError(
                f"{name}: the values of the column 'variance' must be finite and > 0, got {variances[~good][0]}"
            )
    else:
        variances = np.zeros(len(rows))
    values = None
    if "value" in rows.schema.names and product.knows(specs):
        shape = product.query_shape(specs)
        values = _matrix(rows.column("value"), cells_of(shape), name)
        if "query_shape" in rows.schema.names:
            _shaped(rows.column("query_shape"), shape, name)
    return Batch(Query(name, specs, sign), rows.column("geocode").cast(pa.string()), variances, values)


def _only(rows: pa.RecordBatch, column: str, name: str) -> str:
    """Return the value that a column has in all rows of a query, and raise an error if the values differ."""
    distinct: list[Any] = pc.unique(rows.column(column)).to_pylist()
    if len(distinct) != 1 or distinct[0] is None:
        raise ValueError(
            f"{name}: the column {column!r} must have the same value in all rows of the query, got {distinct[:3]}"
        )
    return str(distinct[0])


def _sign(rows: pa.RecordBatch, name: str) -> str:
    """Return the sign of a constraint (=, <= or >=), as stated in the column 'sign'. If the column is missing, the sign
    follows from the name of the constraint.
    """
    if "sign" in rows.schema.names:
        word = _only(rows, "sign", name)
        if word not in _SIGNS:
            raise ValueError(f"{name}: the value of the column 'sign' must be '=', '<=' or '>=', got {word!r}")
        return _SIGNS[word]
    bare = name.removesuffix("_con")
    return ">=" if bare.endswith("_lb") else "<=" if bare.endswith("_ub") else "="


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_binary(plain))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _shaped(column: pa.Array, shape: tuple[int, ...], name: str) -> None:
    """Check that the shape stated in a row equals the numbers of cells of the query along each axis. Rows may omit the
    shape.
    """
    stated = column.drop_null()
    if not len(stated):
        return
    listed = _is_list(column.type) and (pc.list_value_length(stated).to_numpy(zero_copy_only=False) == len(shape)).all()
    rows = stated.flatten().to_numpy(zero_copy_only=False).reshape(-1, len(shape)) if listed else None
    if rows is None or not (rows == np.array(shape)).all():
        wrong = next(one for one in stated.to_pylist() if one != list(shape))
        raise ValueError(
            f"{name}: the column query_shape must contain {list(shape)}, the shape of the query's binnings, got {wrong}"
        )


def _matrix(column: pa.Array, cells: int, name: str) -> Array:
    """Return lists of integers as an array with one row per list. Integers may have any width; floating-point numbers
    are accepted if all are integers.
    """
    kind = column.type.value_type if _is_list(column.type) else column.type
    if not _is_list(column.type) or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise ValueError(f"{name}: the column 'value' must contain lists of integers, got {column.type}")
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    if column.null_count or not (lengths == cells).all():
        raise ValueError(
            f"{name}: the lists in the column 'value' must have length {cells}, got length "
            f"{next(n or 0 for n in column.value_lengths().to_pylist() if n != cells)}"
        )
    flat = column.flatten()
    if flat.null_count:
        raise ValueError(
            f"{name}: the column 'value' must not contain missing values, but row "
            f"{int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0]) // cells} of the query has a "
            "missing value"
        )
    if pa.types.is_integer(kind) and len(flat):
        ends = pc.min_max(flat).as_py()
        far = [n for n in ends.values() if abs(n) > _LARGEST]
    else:
        numbers = np.asarray(flat.to_numpy(zero_copy_only=False))
        far = numbers[~((np.abs(numbers) <= _LARGEST) & (numbers == np.floor(numbers)))].tolist()
    if far:
        raise ValueError(f"{name}: the column 'value' must contain integers between -2^53 and 2^53, got {far[0]:.17g}")
    return np.asarray(flat.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(-1, cells)


Texts = NDArray[np.str_]
Whole = NDArray[np.int64]
_TAIL = 16  # number of characters of a block's code that contain its GEOID
TOP = "whole state"


@dataclass(frozen=True)
class Spine:
    """Nodes of the spine of one state, starting with the root.

    Parameters
    ----------
    levels : names of the levels, one per depth, beginning with the root.
    codes : geocodes of all nodes, level by level, each sorted. If no file contains the root, its geocode is ``State
        SS``.
    parent : int64 (n,), position of each node's parent, -1 for the root.
    starts : first position of each level, followed by the number of nodes.
    """

    levels: tuple[str, ...]
    codes: Texts
    parent: Whole
    starts: tuple[int, ...]

    def rows(self, level: str) -> Whole:
        """Return the positions of the nodes at a level of the geographic spine."""
        depth = self.levels.index(level)
        return np.arange(self.starts[depth], self.starts[depth + 1])

    @cached_property
    def blocks(self) -> Texts | None:
        """GEOIDs of the blocks, in the order of the last level, or None if the spine has no blocks."""
        if self.levels[-1] != "Block":
            return None
        codes = self.codes[self.rows("Block")]
        length = len(str(codes[0]))
        tail = _cut(codes, length - _TAIL, length)
        doubled = _cut(tail, 11, 12) == _cut(tail, 12, 13)
        if not doubled.all():
            raise ValueError(
                "the geocode of a block must contain the digit of the block group twice (characters 12 and 13 of the "
                f"last 16 characters), got {codes[~doubled][0]}: correct this geocode"
            )
        return np.char.add(_cut(tail, 0, 11), _cut(tail, 12, 16))

    def knows_geoids(self, level: str) -> bool:
        """Return whether the GEOIDs of a level can be derived from the geocodes. Below the counties, this requires the
        blocks.
        """
        digits = GEOID_DIGITS.get(level)
        return digits is not None and (self.blocks is not None or digits <= GEOID_DIGITS["County"])

    def geoid(self, level: str, place: str) -> str:
        """Return the GEOID of a geographic unit in `places`, or an empty string if the unit is a node without a
        GEOID.
        """
        return place if self.knows_geoids(level) and len(place) == GEOID_DIGITS[level] else ""

    def lacks_aian_parts(self, level: str) -> bool:
        """Return whether the counties of a level exclude their parts in American Indian and Alaska Native (AIAN) areas.

        Without the blocks, the AIAN areas of a state cannot be divided among its counties.
        """
        if level != "County" or self.blocks is not None or level not in self.levels:
            return False
        return any(not _county(str(code)) for code in self.codes[self.rows(level)])

    @property
    def tabulated(self) -> tuple[str, ...]:
        """Levels whose geographic units can be identified by a GEOID or a geocode. These are the levels of the spine
        and, if the spine has blocks, all tabulation geographies.
        """
        more = tuple(level for level in GEOID_DIGITS if level not in self.levels) if self.blocks is not None else ()
        return self.levels + more

    def places(self, level: str) -> dict[str, list[int]]:
        """Return a mapping from the GEOID of each geographic unit of a level to the positions of the nodes that compose
        the unit. The nodes are the fewest nodes whose counts sum to the count of the unit.

        Parameters
        ----------
        level : one of `tabulated`. A node without a GEOID (a level that exists only on the spine, an AIAN area, or a
            tract if there are no blocks) is a separate unit, named by its geocode.
        """
        if self.blocks is not None and level in GEOID_DIGITS:
            above = [self.levels.index(name) for name in GEOID_DIGITS if name in self.levels[: self._depth(level)]]
            depth = self._depth(level) if level in self.levels else max(above, default=0) + 1
            return self._covers(_cut(self.blocks, 0, GEOID_DIGITS[level]), depth)
        by_geoid: dict[str, list[int]] = {}
        for i in self.rows(level).tolist():
            code = str(self.codes[i])
            label = {"State": code[1:3], "County": _county(code)}.get(level, "")
            by_geoid.setdefault(label or code, []).append(i)
        return by_geoid

    def _depth(self, level: str) -> int:
        """Return the distance of a geographic level from the root of the spine. For a level that is not in the spine,
        return the distance of the next finer level.
        """
        if level in self.levels:
            return self.levels.index(level)
        finer = [name for name, digits in GEOID_DIGITS.items() if digits > GEOID_DIGITS[level] and name in self.levels]
        return min(map(self.levels.index, finer))

    def _covers(self, labels: Texts, depth: int) -> dict[str, list[int]]:
        """Return, for every label of the blocks, the largest nodes in which all blocks have this label. Only nodes at
        level `depth` or below are considered.
        """
        names, numbers = np.unique(labels, return_inverse=True)
        least, most = np.full(len(self.codes), len(names)), np.full(len(self.codes), -1)
        least[self.starts[-2] :] = most[self.starts[-2] :] = numbers
        for first, end in reversed(list(pairwise(self.starts[1:]))):
            np.minimum.at(least, self.parent[first:end], least[first:end])
            np.maximum.at(most, self.parent[first:end], most[first:end])
        pure = least == most
        pure[: self.starts[depth]] = False
        largest = pure & ~np.where(self.parent >= 0, pure[self.parent], False)
        rows = np.flatnonzero(largest)
        order = rows[np.argsort(least[rows], kind="stable")]
        ends = np.searchsorted(least[order], np.arange(len(names) + 1))
        return {str(name): order[ends[k] : ends[k + 1]].tolist() for k, name in enumerate(names)}


def spine_of(codes: Mapping[str, Texts], state: int) -> Spine:
    """Build the geographic spine of a state from the geocodes in the measurement files of the state.

    Parameters
    ----------
    codes : mapping from levels to geocodes, from the level of the state down; nodes that occur only as parents in the
        codes of their children are added.
    state : FIPS code.

    Raises
    ------
    ValueError
        If codes belong to another state, differ in length within a level, or are not longer than the codes of the level
        above.
    """
    levels = [level for level in codes if len(codes[level])]
    lengths: list[int] = []
    for level in levels:
        level_codes = codes[level]
        branches = f"0{state:02d}", f"1{state:02d}"
        good = np.char.startswith(level_codes, branches[0]) | np.char.startswith(level_codes, branches[1])
        if not good.all():
            strange = str(level_codes[~good][0])
            raise ValueError(f"geocodes of level {level} must begin with {' or '.join(branches)}, got {strange!r}")
        sizes = np.unique(np.char.str_len(level_codes))
        if len(sizes) > 1 or (lengths and sizes[0] <= lengths[-1]):
            raise ValueError(
                f"all geocodes of level {level} must have the same length, and this length must be greater than "
                f"{lengths[-1] if lengths else 0}, got lengths {sizes.tolist()}"
            )
        lengths.append(int(sizes[0]))
    geocodes: list[Texts] = []
    for i in range(len(levels) - 1, -1, -1):
        level_codes = codes[levels[i]]
        geocodes.insert(
            0, np.unique(np.concatenate([level_codes, _cut(geocodes[0], 0, lengths[i])]) if geocodes else level_codes)
        )
    if len(geocodes[0]) > 1:
        levels, geocodes = [TOP, *levels], [np.array([f"State {state:02d}"]), *geocodes]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in geocodes])])
    parent = [np.array([-1])]
    for i, (above, level_codes) in enumerate(pairwise(geocodes)):
        if len(above) == 1:
            place = np.zeros(len(level_codes), dtype=np.int64)
        else:
            place = np.searchsorted(above, _cut(level_codes, 0, len(str(above[0]))))
        parent.append(place + starts[i])
    return Spine(tuple(levels), np.concatenate(geocodes), np.concatenate(parent), tuple(starts.tolist()))


def _county(code: str) -> str:
    """Return the GEOID of a county from its geocode, or an empty string if the geocode does not belong to a county."""
    return code[1:3] + code[5:8] if len(code) >= 8 and code[3:5] == "10" else ""


def _cut(texts: Texts, first: int, end: int) -> Texts:
    """Return the characters at positions `first` to `end` - 1 of every string in an array of strings of equal
    length.
    """
    wide = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), -1)
    return np.ascontiguousarray(wide[:, first:end]).view(f"<U{end - first}").ravel()
