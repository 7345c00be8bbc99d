"""Benchmark of releases: a million counts, a million records in a thousand strata, and the protocol. CPU seconds.

The time of the protocol is CPU time; about nine waits for the disk are added to it. The noise is drawn by OpenDP's
exact sampler, which takes nearly all of the time of a large release: rational arithmetic on bytes from the operating
system, 7 microseconds per discrete Laplace draw and about 18 per discrete Gaussian draw, which needs some three Laplace
draws by rejection. Only another sampler would be faster, but it would be less trusted; the next row shows our own part.
"""

import tempfile
from itertools import count
from pathlib import Path
from time import perf_counter

import numpy as np
from measuring import Row, limited, timed

from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import _noise, room

SIZE = 1_000_000


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
    cases = [
        ("swap of 1,000,000 records in 1,000 strata", swap, 12.0, 2),
        ("1,000,000 counts, discrete Laplace", laplace, 15.0, 1),
        ("1,000,000 counts, discrete Gaussian", gaussian, 15.0, 1),
        ("protocol, three counts", three, 0.05, 9),
    ]
    names = (f"made{i}" for i in count())  # a release is written once
    sampler, values = _noise._gaussian(1.0), np.array(blocks)  # rho = 0.5: scale 1
    alone = timed(lambda: sampler(values), 1)
    for name, settings, limit, repeats in cases:
        row = limited(name, lambda s=settings: room.make(next(names), s, root=root), limit, repeats)
        yield row
        if settings is gaussian:
            yield Row(name, row.found, "OpenDP's sampler alone", alone, 0.8)
    reading = "reading 1,000,000 records"
    yield limited(reading, lambda: parse(people.encode(), name="p", confidential=True), 1.0, 3)
    start = perf_counter()
    room.make("wall", three, root=root)
    yield Row("protocol, three counts, wall clock", perf_counter() - start, "limit", 0.05)
