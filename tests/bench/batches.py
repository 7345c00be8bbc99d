"""Benchmark of batches from file to file: 100,000 tables of six noisy counts, totals up to 5,000; swapped tables."""

import os
import resource
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from measuring import Row

from dpmultinomial._posteriors.swapping import swapped_batches
from dpmultinomial._seeding import stream
from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making
from reproduction.scenarios.noisy_counts import answer

TABLES, CATEGORIES = 100_000, 6
SETTINGS = {"kind": "noisy_counts", "noise": {"law": "laplace", "scale": 2.0}}


def benchmarks():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        _write(path / "one.csv", TABLES)
        _write(path / "two.csv", 2 * TABLES)
        computing, whole = _seconds(path / "one.csv", path / "out.csv")
        _, twice = _seconds(path / "two.csv", path / "out.csv")
        halves = [_seconds(path / "one.csv", path / "out.csv", shard, 2)[1] for shard in (1, 2)]
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if os.uname().sysname == "Linux" else 1 << 20)
    name = f"{TABLES:,} tables of six"
    yield Row(f"{name}, computing", computing, "limit", 10.0)
    yield Row(f"{name}, file to file", whole, "limit", 30.0)
    yield Row(f"{name}, peak memory of the process", mib, "limit", 1024.0, unit="MiB")
    yield Row("twice the tables, file to file", twice, name, whole, 1 / 2.2)  # linear: 0.5, with a tenth for noise
    yield Row(f"the slower of two shards of {name}", max(halves), name, whole, 1 / 0.6)
    yield Row("a swapped 2 x 2 table of 20 to 200 records", _swapped(200), "limit", 0.004)


def _write(path, tables):
    rng = stream(1, "bench", "batches")
    totals = np.exp(rng.uniform(np.log(50), np.log(5000), tables)).astype(np.int64)
    counts = rng.multinomial(totals, np.full(CATEGORIES, 1 / CATEGORIES)) + rng.laplace(0, 2.0, (tables, CATEGORIES))
    frame = pd.DataFrame(
        {
            "table": np.repeat([f"t{t}" for t in range(tables)], CATEGORIES),
            "name": [f"c{c}" for c in range(CATEGORIES)] * tables,
            "value": counts.ravel().round(4),
            "total": np.repeat(totals, CATEGORIES),
        }
    )
    frame.to_csv(path, index=False)


def _seconds(data, out, shard=1, shards=1):
    """Return CPU seconds of the analysis alone, and from file to file."""
    spent, many = [0.0], answer.many

    def timed(*arguments):
        start = process_time()
        found = many(*arguments)
        spent[0] += process_time() - start
        return found

    start = process_time()
    scenario = scenario_settings.single("many", SETTINGS | {"file": str(data)}, kind.discover())
    answer.many = timed
    try:
        making.part(scenario, making.Files(out.with_suffix("")), root_seed=1, shard=shard, of=shards)
    finally:
        answer.many = many
    return spent[0], process_time() - start


def _swapped(tables):
    """Return CPU seconds per table."""
    rng = stream(1, "bench", "swapped")
    counts = np.stack([rng.multinomial(rng.integers(20, 200), [0.3, 0.2, 0.1, 0.4]) for _ in range(tables)])
    cells = {"row": list("aabb") * tables, "column": list("pqpq") * tables, "count": counts.ravel()}
    data = pd.DataFrame({"table": np.repeat(np.arange(tables), 4), **cells})
    start = process_time()
    swapped_batches.summaries(data, rate=0.1)
    return (process_time() - start) / tables
