"""Writer of small files in the Census Bureau's layout, row by row, for tests."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

AXES = {
    "Person_PL_PROD": ("hhgq", "votingage", "hispanic", "cenrace"),
    "Unit_PL_PROD": ("h1",),
    "DHCP_PROD": ("relgq", "sex", "age", "hispanic", "cenrace"),
}


def put(
    folder,
    level,
    rows,
    *,
    kind="DPQuery",
    ending="Person_PL_PROD",
    state="050",
    part=0,
    width="int32",
    sign=None,
    **more,
):
    """Write a part of a file; rows are (geocode, query, {axis: binning}, values, variance or sign).

    Parameters
    ----------
    folder, level, kind, ending, state, part : location of the file; `more` has ``county`` for a folder below the
        state's.
    rows : rows of the part.
    width : type of the integers.
    sign : whether there is a column of signs; by default only for constraints.
    """
    path = folder / f"US_{ending}" / f"{level}.parquet" / kind / f"State={state}"
    path = path / f"County={more['county']}" if "county" in more else path
    path.mkdir(parents=True, exist_ok=True)
    constraint = kind == "Constraint"
    columns = {"geocode": [row[0] for row in rows], "query_name": [row[1] for row in rows]}
    if constraint if sign is None else sign:
        columns["sign"] = [row[4] if constraint else None for row in rows]
    for axis in AXES[ending]:
        columns[axis] = [row[2].get(axis, "*") for row in rows]
    table = pa.table(columns)
    values = pa.array([list(map(int, row[3])) for row in rows], pa.list_(getattr(pa, width)()))
    table = table.append_column("value", values)
    variances = np.array([0.0 if constraint else row[4] for row in rows], dtype=np.float32)
    pq.write_table(table.append_column("variance", pa.array(variances)), path / f"part-{part:05d}.parquet")
    return path / f"part-{part:05d}.parquet"
