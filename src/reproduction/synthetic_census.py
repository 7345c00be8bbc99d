"""Generate, from a seed, synthetic noisy measurement files in the layout of the Census Bureau, with known true counts.

None of the files is from an agency. The metadata of every Parquet file and the file ``SYNTHETIC.txt`` in the folder
state this.

Each person of a synthetic state has a block, and a level on every axis.

The noise has the same distribution as in the 2020 Redistricting files of the states, with the settings published by the
Census Bureau.

The variance of a query at a level (the parameter sigma^2 of the discrete Gaussian distribution) is published as
global^2/(share of the level x share of the query). It is the same for all cells of the query. Replacing one record
changes two cells of each query by one, so the rho of the query is 1/sigma^2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpmultinomial import _checks
from dpmultinomial._measurement_files.products import (
    CONSTRAINT,
    DPQUERY,
    SINGLE,
    WHOLE,
    Product,
    cells_of,
    product_of,
    state_number,
)
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian

Whole = NDArray[np.int64]
Codes = dict[str, NDArray[np.str_]]
_FIRST_AREA = 2009  # number of the first American Indian, Alaska Native (AIAN) area
_QUARTERED = 0.03  # proportion of blocks that consist of a single group-quarters facility


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of a synthetic state, given by the numbers of its geographic units and of its people.

    Parameters
    ----------
    counties, tracts, groups : numbers of counties, tracts and block groups of the state. Tracts are spread evenly over
        counties, and block groups over tracts.
    blocks : number of populated blocks.
    people : mean number of people per block; the number of housing units is a fifth of it.
    reservation : whether half of the last county's tracts form an AIAN area, on the other branch of the spine.
    """

    counties: int = 4
    tracts: int = 20
    groups: int = 60
    blocks: int = 600
    people: float = 40.0
    reservation: bool = False


@dataclass(frozen=True)
class People:
    """All people of a synthetic state, in the order of the geocodes of their blocks.

    Parameters
    ----------
    product : product that defines the axes.
    codes : dictionary from each level of the spine to its sorted geocodes.
    block : int64 (people,), position of the block.
    levels : one int64 array (people,) per axis.
    units : int64 (blocks, 8), housing units and facilities by type.
    """

    product: Product
    codes: Codes
    block: Whole
    levels: tuple[Whole, ...]
    units: Whole
    _nodes: dict[str, tuple[Whole, Whole]] = field(default_factory=dict, repr=False)

    def nodes(self, level: str) -> tuple[Whole, Whole]:
        """Return, for a geographic level, the node of every block and the index of the first person in each node. The
        last index is the end of the last node.
        """
        if level not in self._nodes:
            short = self.codes["Block"].astype(f"<U{_lengths(self.product)[level]}")
            above = np.searchsorted(self.codes[level], short)
            number = len(self.codes[level])
            self._nodes[level] = above, np.searchsorted(above[self.block], np.arange(number + 1))
        return self._nodes[level]

    def branches(self, level: str) -> Iterator[tuple[str, int, int]]:
        """Yield a triple (code, first node, end) for each branch of the geographic hierarchy (spine). The first node
        and the end delimit the range of nodes of the branch at a level.
        """
        branch = self.codes[level].astype("<U3")
        for code in np.unique(branch):
            first, end = np.searchsorted(branch, code), np.searchsorted(branch, code, side="right")
            yield str(code), int(first), int(end)

    def counts(self, level: str, first: int, end: int, specs: tuple[str, ...]) -> Whole:
        """Return the counts of a query for the nodes first .. end - 1 of a geographic level, as an array of shape
        (nodes, cells).
        """
        above, starts = self.nodes(level)
        rows = slice(starts[first], starts[end])
        place = above[self.block[rows]] - first
        inside = np.ones(len(place), dtype=bool)
        cells = 1
        for axis, spec, axis_levels in zip(self.product.axes, specs, self.levels, strict=True):
            bins = axis.all_binnings[spec]
            which = np.full(len(axis.levels), -1)
            for k, part in enumerate(bins):
                which[list(part)] = k
            place, cells = place * len(bins) + which[axis_levels[rows]], cells * len(bins)
            inside &= which[axis_levels[rows]] >= 0
        return np.bincount(place[inside], minlength=(end - first) * cells).reshape(-1, cells)

    def facilities(self, level: str, first: int, end: int) -> Whole:
        """Return the numbers of housing units and of facilities of each type for the nodes first .. end - 1 of a
        geographic level.
        """
        totals = np.zeros((len(self.codes[level]), self.units.shape[1]), dtype=np.int64)
        np.add.at(totals, self.nodes(level)[0], self.units)
        return totals[first:end]

    def truth(self) -> pa.Table:
        """Return a table of the true counts, with columns for the block, the category on each axis of the histogram,
        and the count.
        """
        sizes = self.product.shape
        cell = np.ravel_multi_index(self.levels, sizes)
        total = int(np.prod(sizes))
        keys, counts = np.unique(self.block * total + cell, return_counts=True)
        axes = np.unravel_index(keys % total, sizes)
        columns = {
            axis.name: pa.array(level_numbers) for axis, level_numbers in zip(self.product.axes, axes, strict=True)
        }
        codes = pa.array(self.codes["Block"].tolist())
        return pa.table({"geocode": codes.take(pa.array(keys // total)), **columns, "count": pa.array(counts)})


def made(product: Product, state: int, size: Size, rng: np.random.Generator) -> People:
    """Generate the people and the housing units of a synthetic state.

    Parameters
    ----------
    product : product whose people (or housing units) are generated.
    state : FIPS code.
    size : size of the state.
    rng : numpy Generator.

    Returns
    -------
    People : all people with block and levels on the axes, and the units of the blocks.
    """
    codes, tract = _spine(product, state, size, rng)
    blocks = len(codes["Block"])
    mean = size.people if product.table == "person" else size.people / 5
    number = 1 + rng.negative_binomial(0.8, 0.8 / (0.8 + mean - 1), blocks) if mean > 1 else np.ones(blocks, np.int64)
    block = np.repeat(np.arange(blocks), number)
    kind = np.where(rng.random(blocks) < _QUARTERED, rng.integers(1, 8, blocks), 0)
    levels = tuple(_levels(axis.name, len(axis.levels), tract[block], kind[block], rng) for axis in product.axes)
    levels = _consistent(product, levels, rng)
    units = np.zeros((blocks, 8), dtype=np.int64)
    units[np.arange(blocks), kind] = np.where(kind == 0, 1 + number // 3, 1)
    return People(product, codes, block, levels, units)


def _levels(axis: str, size: int, tract: Whole, kind: Whole, rng: np.random.Generator) -> Whole:
    """Draw the category of every person on one axis of the histogram. The proportions of the levels differ between
    tracts.
    """
    people, tracts = len(tract), int(tract.max()) + 1
    if axis == "hhgq":
        return kind.astype(np.int64)
    if axis == "relgq":
        return np.where(kind > 0, rng.integers(18, size, people), rng.integers(0, 18, people))
    if axis == "age":
        return np.minimum(rng.gamma(2.5, 16.0, people).astype(np.int64), size - 1)
    if axis == "cenrace":
        base = np.concatenate([[0.62, 0.12, 0.01, 0.06, 0.002, 0.08], np.full(size - 6, 0.108 / (size - 6))])
        below = np.cumsum(rng.dirichlet(60 * base, tracts) if size > 1 else np.ones((tracts, 1)), axis=1)
        below[:, -1] = 1.0
        places = np.searchsorted((below + np.arange(tracts)[:, None]).ravel(), tract + rng.random(people), side="right")
        return np.asarray(np.minimum(places - tract * size, size - 1))
    mean = {"hispanic": 0.12, "votingage": 0.78, "sex": 0.51, "h1": 0.9}[axis]
    return (rng.random(people) < rng.beta(8 * mean, 8 * (1 - mean), tracts)[tract]).astype(np.int64)


def _consistent(product: Product, levels: tuple[Whole, ...], rng: np.random.Generator) -> tuple[Whole, ...]:
    """Replace impossible combinations of categories, namely minors in nursing homes and householders younger than
    15.
    """
    levels_by_axis = dict(zip([axis.name for axis in product.axes], levels, strict=True))
    if "votingage" in levels_by_axis:
        levels_by_axis["votingage"] = np.where(levels_by_axis["hhgq"] == 3, 1, levels_by_axis["votingage"])
    if "age" in levels_by_axis:
        young = (levels_by_axis["relgq"] == 0) & (levels_by_axis["age"] < 15)
        levels_by_axis["age"] = np.where(young, rng.integers(15, 90, len(young)), levels_by_axis["age"])
    return tuple(levels_by_axis.values())


def _spine(product: Product, state: int, size: Size, rng: np.random.Generator) -> tuple[Codes, Whole]:
    """Return the geocodes at all levels of the geographic hierarchy (spine), and the tract of every block. The block
    groups of the spine differ from the tabulated block groups.
    """
    county = np.arange(size.tracts) % size.counties
    more = rng.integers(0, size.groups, size.blocks - size.groups)
    group = rng.permutation(np.concatenate([np.arange(size.groups), more]))
    tract = group % size.tracts
    branch = np.zeros(size.tracts, dtype=np.int64)
    if size.reservation:
        reservation = np.flatnonzero(county == size.counties - 1)
        branch[reservation[len(reservation) // 2 :]] = 1
    order = np.argsort(tract, kind="stable")
    rank = np.empty(size.blocks, dtype=np.int64)
    starts = np.searchsorted(tract[order], np.arange(size.tracts))
    rank[order] = np.arange(size.blocks) - starts[tract[order]]
    deep, geocodes = product.product == "dhc", []
    for g, t, r in zip(group.tolist(), tract.tolist(), rank.tolist(), strict=True):
        c, digit = 2 * int(county[t]) + 1, 1 + r % 4
        # code of an AIAN area or of a county
        area = f"0{_FIRST_AREA + int(county[t]):04d}" if branch[t] else f"10{c:03d}"
        inner = f"{t % 2}{t % 3}" if deep else "1"  # in pl94, a running number is part of the county's code
        head = f"{branch[t]}{state:02d}{area}{inner}{t:04d}{g // size.tracts:02d}"
        geocodes.append(f"{head}{state:02d}{c:03d}{100 * (t + 1):06d}{digit}{digit}{r // 4:03d}")
    blocks, first = np.unique(np.array(geocodes), return_index=True)
    lengths = _lengths(product)
    return {level: np.unique(blocks.astype(f"<U{lengths[level]}")) for level in product.spine}, tract[first]


def _lengths(product: Product) -> dict[str, int]:
    """Return the number of characters in a geocode at every level."""
    steps = {
        "County": 5 if product.product == "dhc" else 6,
        "Prim": 1,
        "Tract_Subset_Group": 1,
        "Tract": 4,
        "Tract_Subset": 4,
        "Block_Group": 2,
        "Block": 16,
    }
    lengths, length = {}, 3
    for level in product.spine:
        length += steps.get(level, 0)
        lengths[level] = length
    return lengths


GLOBAL = {("pl94", "person"): Fraction(339, 542), ("pl94", "unit"): Fraction(12343, 3379)}
_LEVELS = ("US", "State", "County", "Tract", "Block_Group", "Block")
_LEVEL_SHARES = {
    ("pl94", "person"): ((104, 1440, 447, 687, 1256, 165), 4099),
    ("pl94", "unit"): ((20, 20, 350, 1456, 1759, 495), 4100),
}
QUERIES = (
    "total", "cenrace", "hispanic", "votingage", "hhinstlevels", "hhgq", "hispanic*cenrace", "votingage*cenrace",
    "votingage*hispanic", "votingage*hispanic*cenrace", SINGLE,
)  # fmt: skip
_QUERY_SHARES = {  # shares in the order of QUERIES
    "US": ((0, 52, 26, 26, 26, 26, 130, 130, 26, 442, 3213), 4097),
    "State": ((3773, 6, 6, 6, 6, 6, 12, 12, 6, 34, 230), 4097),
    "County": ((3126, 10, 10, 10, 10, 10, 28, 28, 10, 101, 754), 4097),
    "Tract": ((1567, 8, 5, 5, 5, 5, 1933, 20, 5, 67, 482), 4102),
    "Block_Group": ((1705, 3, 3, 3, 3, 3, 1055, 9, 3, 24, 1288), 4099),
    "Block": ((5, 9, 5, 5, 5, 5, 21, 21, 5, 71, 3945), 4097),
}


def variances(product: str, table: str, level: str) -> dict[str, Fraction]:
    """Return the published noise variance of a single cell, for every query at one geographic level. Queries that the
    level does not have are omitted.

    Parameters
    ----------
    product, table : ``pl94`` with ``person`` or ``unit``.
    level : level of the spine, or ``US``.

    Returns
    -------
    dict
        Dictionary from the name of each query (`Product.name`) to sigma^2.

    Raises
    ------
    ValueError
        If the settings of the product are unknown.
    """
    key = (product, table)
    if key not in GLOBAL:
        raise ValueError(f"the noise scales of {product} {table} are not known: choose pl94 person or pl94 unit")
    shares, of = _LEVEL_SHARES[key]
    share = Fraction(shares[_LEVELS.index(level)], of)
    if table == "unit":
        return {SINGLE: GLOBAL[key] ** 2 / share}
    parts, whole = _QUERY_SHARES[level]
    return {
        q: GLOBAL[key] ** 2 / (share * Fraction(part, whole)) for q, part in zip(QUERIES, parts, strict=True) if part
    }


NOTICE = "synthetic: generated from a seed, not agency data"
TRUTH = "SYNTHETIC_truth.parquet"
_MADE_UP = 16.0  # variance for products whose published settings are not in this module
_CELLS = 2_000_000  # number of cells of one query that are generated at a time
_MOST = 99_999  # maximum number of people in one housing unit or facility


def write(
    folder: str | Path,
    *,
    state: str,
    rng: np.random.Generator,
    product: str = "pl94",
    table: str = "person",
    size: Size | None = None,
    variances: Mapping[str, Mapping[str, float]] | None = None,
) -> Path:
    """Generate a synthetic state, and write its noisy measurement files and its true counts.

    Parameters
    ----------
    folder : folder in which ``US_Person_PL_PROD`` or a similar folder is written, together with `TRUTH` (geocode of a
        block, number of the level on every axis, count) and ``SYNTHETIC.txt``.
    state : abbreviation with two letters or FIPS code; Puerto Rico is not allowed, because its settings differ.
    rng : numpy Generator.
    product, table : arguments of `reading.read`.
    size : size of the state.
    variances : dictionary from each level to a dictionary from the names of queries to sigma^2. The default values are
        the published ones (`scales.variances`). For the DHC product, whose settings are not in this module, the default
        is 16 for every query with fewer than 1,000 cells.

    Returns
    -------
    Path
        Folder of the product.
    """
    histogram, number, amount = product_of(product, table), state_number(state), size or Size()
    if number == 72:
        raise ValueError("state must not be Puerto Rico, which has different noise settings: choose another state")
    _checks.generator(rng)
    people = made(histogram, number, amount, rng)
    data = Path(folder) / f"US_{histogram.ending}"
    for level in histogram.spine:
        given = variances[level] if variances is not None else _variances(histogram, level)
        for branch, first, end in people.branches(level):
            where = data / f"{level}.parquet"
            for kind in (DPQUERY, CONSTRAINT):
                rows = (
                    _noisy(histogram, people, level, first, end, given, rng)
                    if kind == DPQUERY
                    else _rules(histogram, people, level, first, end)
                )
                _write(where / kind / f"State={branch}", rows, histogram, level)
    pq.write_table(people.truth().replace_schema_metadata({"synthetic": NOTICE}), data / TRUTH)
    (Path(folder) / "SYNTHETIC.txt").write_text(f"{NOTICE.capitalize()}. {histogram.product} {histogram.table}.\n")
    return data


def _variances(product: Product, level: str) -> dict[str, float]:
    if (product.product, product.table) in GLOBAL:
        return {name: float(v) for name, v in variances(product.product, product.table, level).items()}
    names = ("sex*hispanic", "sex*age_18_64_116", "sex*age_38_groups", "relgq_4_groups*sex",
             "relgq_4_groups*age_18_64_116", "gq_constr_groups*age_10_groups", "popSehsdTargetsRelship")  # fmt: skip
    return dict.fromkeys(names, _MADE_UP)


def _noisy(
    product: Product, people: People, level: str, first: int, end: int, variances: Mapping[str, float],
    rng: np.random.Generator,
) -> Iterator[pa.Table]:  # fmt: skip
    """Yield noisy measurements of the given nodes, for every query. Only a few nodes are measured at a time."""
    step = max(_CELLS // max(cells_of(product.query_shape(product.specs(name))) for name in variances), 1)
    for a in range(first, end, step):
        b = min(a + step, end)
        parts = []
        for name, variance in variances.items():
            specs = product.specs(name)
            exact = people.counts(level, a, b, specs)
            noisy = DiscreteGaussian.published(variance).sample(exact, rng=rng)
            words = " * ".join(reversed(name.split("*")) if product.product == "dhc" else name.split("*"))
            parts.append(_table(product, people.codes[level][a:b], f"{words}_dpq", specs, noisy, variance))
        yield pa.concat_tables(parts)


def _rules(product: Product, people: People, level: str, first: int, end: int) -> Iterator[pa.Table]:
    """Yield tables of the constraints (invariants) on the counts of the given nodes."""
    codes, whole = people.codes[level][first:end], (WHOLE,) * len(product.axes)
    if product.table == "unit":
        yield _table(product, codes, "total_con", whole, people.counts(level, first, end, whole), 0.0, "=")
        return
    if product.product == "dhc":
        nobody = ("relgq0", WHOLE, "age_lessthan15", *whole[3:])
        yield _table(product, codes, "relgq0_lessthan15_con", nobody, np.zeros((end - first, 1)), 0.0, "=")
        return
    units = people.facilities(level, first, end)
    low = units.copy()
    low[:, 0] = 0
    by_type = ("hhgq", *whole[1:])
    yield _table(product, codes, "hhgq_total_lb_con", by_type, low, 0.0, ">=")
    yield _table(product, codes, "hhgq_total_ub_con", by_type, units * _MOST, 0.0, "<=")
    nursing = ("gqNursingTotal", "nonvoting", *whole[2:])
    yield _table(product, codes, "nurse_nva_0_con", nursing, np.zeros((end - first, 1)), 0.0, "=")


def _table(
    product: Product, codes: NDArray[np.str_], name: str, specs: tuple[str, ...], values: NDArray[np.generic],
    variance: float, sign: str = "",
) -> pa.Table:  # fmt: skip
    rows, shape = len(codes), product.query_shape(specs)
    flat = pa.array(np.ascontiguousarray(values, dtype=np.int64).reshape(rows, -1).ravel())
    cells = len(flat) // max(rows, 1)
    lists = pa.LargeListArray.from_arrays(np.arange(rows + 1) * cells, flat)
    columns = {"geocode": pa.array(codes.tolist()), "query_name": pa.array([name] * rows)}
    columns |= {"sign": pa.array([sign] * rows)} if sign else {}
    columns |= {axis.name: pa.array([spec] * rows) for axis, spec in zip(product.axes, specs, strict=True)}
    shapes = pa.array([list(shape)] * rows, pa.list_(pa.int32()))
    return pa.table(
        {**columns, "query_shape": shapes, "value": lists, "variance": pa.array([variance] * rows, pa.float32())}
    )


def _write(folder: Path, tables: Iterator[pa.Table], product: Product, level: str) -> None:
    """Write the parts of a table to Parquet files, alternately with 32-bit and 64-bit integers. For the DHC product,
    write one folder per county if the level has counties.
    """
    writers: dict[Path, pq.ParquetWriter] = {}
    try:
        for k, table in enumerate(tables):
            width = pa.int64() if k % 2 else pa.int32()
            place = table.schema.get_field_index("value")
            table = table.set_column(place, "value", table.column("value").cast(pa.list_(width)))
            for path, rows in _parted(folder, table, product, level):
                target = path / f"part-{k % 2:05d}.parquet"
                if target not in writers:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    schema = rows.schema.with_metadata({"synthetic": NOTICE})
                    writers[target] = pq.ParquetWriter(target, schema, compression="snappy")
                writers[target].write_table(rows.replace_schema_metadata({"synthetic": NOTICE}))
    finally:
        for writer in writers.values():
            writer.close()


def _parted(folder: Path, table: pa.Table, product: Product, level: str) -> Iterator[tuple[Path, pa.Table]]:
    if product.product != "dhc" or level == "State":
        yield folder, table
        return
    counties = np.array([code[: _lengths(product)["County"]] for code in table.column("geocode").to_pylist()])
    for county in np.unique(counties):
        yield folder / f"County={county}", table.filter(pa.array(counties == county))
