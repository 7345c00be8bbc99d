"""Synthetic files in the Census Bureau's layout, with a known truth: people, spine and noise made up from a seed.

Nothing of it is an agency's file: every Parquet file says so in its metadata, the folder in ``SYNTHETIC.txt``.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .. import _checks
from .._mechanisms.discrete_gaussian import DiscreteGaussian
from . import _people, scales
from ._people import People
from ._people import Size as Size
from .axes import WHOLE
from .products import CONSTRAINT, DPQUERY, Product, cells_of, product_of, state_number

Whole = NDArray[np.int64]
NOTICE = "synthetic: made from a seed, no agency's data"
TRUTH = "SYNTHETIC_truth.parquet"
_MADE_UP = 16.0  # variance of products whose settings are not published here
_CELLS = 2_000_000  # numbers of one query that are made at once
_MOST = 99_999  # people in one housing unit or facility, at most


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
    """Make up a state and write its noisy measurement files, and the truth beside.

    Parameters
    ----------
    folder : that gets ``US_Person_PL_PROD`` or its like, in it `TRUTH` (geocode of a block, the number of its level
        along every axis, count), and ``SYNTHETIC.txt``.
    state : two letters or FIPS code; not Puerto Rico, whose settings differ.
    rng : numpy Generator.
    product, table : as of `reading.read`.
    size : how much.
    variances : level -> name of a query -> sigma^2; by default the published ones (`scales.variances`), and for the
        DHC product, whose settings are not here, 16 for every query of fewer than 1,000 cells.

    Returns
    -------
    Path
        Of the product's folder.
    """
    histogram, number, amount = product_of(product, table), state_number(state), size or Size()
    if number == 72:
        raise ValueError("state: Puerto Rico has settings of its own; make up another state")
    _checks.generator(rng)
    people = _people.made(histogram, number, amount, rng)
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
    if (product.product, product.table) in scales.GLOBAL:
        return {name: float(v) for name, v in scales.variances(product.product, product.table, level).items()}
    names = ("sex*hispanic", "sex*age_18_64_116", "sex*age_38_groups", "relgq_4_groups*sex",
             "relgq_4_groups*age_18_64_116", "gq_constr_groups*age_10_groups", "popSehsdTargetsRelship")  # fmt: skip
    return dict.fromkeys(names, _MADE_UP)


def _noisy(
    product: Product, people: People, level: str, first: int, end: int, variances: Mapping[str, float],
    rng: np.random.Generator,
) -> Iterator[pa.Table]:  # fmt: skip
    """Measurements of some nodes, some nodes at a time, every query of them."""
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
    """Constraints of some nodes."""
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
    """Parts with integers of 32 and 64 bits; of the DHC product a folder a county, where the level has counties."""
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
    counties = np.array([code[: _people.COUNTY] for code in table.column("geocode").to_pylist()])
    for county in np.unique(counties):
        yield folder / f"County={county}", table.filter(pa.array(counties == county))
