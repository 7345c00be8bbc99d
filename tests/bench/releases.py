"""Speed of releases: a million counts, a million records in a thousand strata, the protocol alone. CPU seconds.

Set OMP_NUM_THREADS=1. The protocol's own time is CPU; the disk's (about nine waits for it) comes on top.
"""

import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from dpmultinomial import releases
from dpmultinomial.files.csv_table import parse

SIZE = 1_000_000


def cpu(call, repeats=1):
    """Least CPU seconds of `repeats` calls."""
    times = []
    for i in range(repeats):
        start = process_time()
        call(i)
        times.append(process_time() - start)
    return min(times)


def benchmarks():
    root = Path(tempfile.mkdtemp())
    (root / "confidential").mkdir(mode=0o700)
    blocks = np.random.Generator(np.random.PCG64(1)).integers(0, 1000, SIZE).tolist()
    rows = (f"{i:07d},{b},{i % 3},{i * 7 % 99999},{i % 90}\r\n" for i, b in enumerate(blocks))
    people = "id,block,tenure,income,age\r\n" + "".join(rows)
    (root / "confidential" / "people.csv").write_text(people, newline="")
    counts = "category,count\n" + "".join(f"c{i},{b}\n" for i, b in enumerate(blocks))
    (root / "confidential" / "counts.csv").write_text(counts)
    (root / "confidential" / "three.csv").write_text("category,count\na,1\nb,2\nc,3\n")
    swap = {"mechanism": "swap", "data": "confidential/people.csv", "swap": "age", "match": "block", "rate": 0.1}
    laplace = {"mechanism": "discrete_laplace", "data": "confidential/counts.csv", "epsilon": 1.0}
    gaussian = {"mechanism": "discrete_gaussian", "data": "confidential/counts.csv", "rho": 0.5}
    three = laplace | {"data": "confidential/three.csv"}
    found = [
        ("swap of 1,000,000 records in 1,000 strata", lambda i: releases.make(f"s{i}", swap, root=root), 12.0, 2),
        ("1,000,000 counts, discrete Laplace", lambda i: releases.make(f"l{i}", laplace, root=root), 15.0, 1),
        ("1,000,000 counts, discrete Gaussian", lambda i: releases.make(f"g{i}", gaussian, root=root), 15.0, 1),
        ("protocol, three counts", lambda i: releases.make(f"t{i}", three, root=root), 0.05, 9),
        ("reading 1,000,000 records", lambda i: parse(people.encode(), name="p", confidential=True), 1.0, 3),
    ]
    rows = [(name, cpu(call, n), "target", target, "ratio >= 1") for name, call, target, n in found]
    start = perf_counter()
    releases.make("wall", three, root=root)
    rows.append(("protocol, three counts, wall clock", perf_counter() - start, "target", 0.05, "ratio >= 1"))
    keys = ("name", "seconds", "baseline", "baseline_seconds", "target")
    return [dict(zip(keys, row, strict=True)) for row in rows]
