"""Large inputs from a CSV file to the answers, and counts with wide noise and a total: CPU seconds and memory of one
process.
"""

import tempfile
from pathlib import Path

import numpy as np
from measuring import Row, alone

from dpmultinomial._seeding import stream

SIZE = 2_000_000
ANSWER = """
from reproduction import command
# timed
command.main(["answer", {file!r}, "--noise", "discrete_laplace", "--scale", "5", "--folder", {folder!r}, {more}])
"""
NAMES = 100_000
LIBRARY = """
import dpmultinomial as dpm
law = dpm.DiscreteLaplace(scale=1000.0)
release = dpm.Release([1234567, 2345678, 3456789, 4567890], mechanism=law, total={total})
# timed
dpm.posterior(release).summary()
"""
STAR = """
import numpy as np
import dpmultinomial as dpm
size, rng, law = 100_000, np.random.default_rng(1), dpm.DiscreteLaplace(scale=5.0)
truth = rng.negative_binomial(0.7, 0.7 / 30, size)
names = [f"n{i}" for i in range(size)]
noisy = law.sample(np.concatenate([[truth.sum()], truth]), rng=rng).tolist()
parents = {"all": None, **dict.fromkeys(names, "all")}
release = dpm.Release(dict(zip(["all", *names], noisy, strict=True)), mechanism=law, parents=parents)
# timed
dpm.posterior(release).summary()
"""
DIFFERENT = """
import numpy as np
import dpmultinomial as dpm
rng, law = np.random.default_rng(1), dpm.Laplace(scale=5.0)
truth = rng.negative_binomial(0.7, 0.7 / 30, 100_000)
release = dpm.Release(law.sample(truth, rng=rng).tolist(), mechanism=law, total=int(truth.sum()))
# timed
found = dpm.posterior(release)
found.summary(), found.facts
"""
ADDITIVE = """
from dpmultinomial._posteriors.additive import additive_counts
# timed
additive_counts.posterior([100_000, 100_300, 99_800], epsilon=1 / 200, algorithm="3").summary()
"""
OPEN = STAR.replace("dict(zip(", "dict(list(zip(").replace("strict=True))", "strict=True))[1:])")  # without the root
NOISY = "{'released': 11604924, 'noise': law}"


def benchmarks():
    yield from _rows()
    for name, total, limit in (("a public", "11604924", 10.0), ("a noisy", NOISY, 20.0)):
        seconds, peak = alone(LIBRARY.format(total=total))
        yield Row(f"4 counts with {name} total, scale 1000", seconds, "limit", limit)
        yield Row(f"4 counts with {name} total, scale 1000, peak memory", peak, "limit", 512.0, unit="MiB")
    yield from _names()
    seconds, peak = alone(DIFFERENT)
    yield Row(f"{NAMES:,} different real numbers with a total", seconds, "limit", 90.0)
    yield Row(f"{NAMES:,} different real numbers with a total, peak memory", peak, "limit", 2048.0, unit="MiB")
    seconds, peak = alone(ADDITIVE)
    yield Row("3 additive counts of 100,000, algorithm 3, scale 200", seconds, "limit", 10.0)
    yield Row("3 additive counts of 100,000, algorithm 3, scale 200, peak memory", peak, "limit", 512.0, unit="MiB")
    seconds, peak = alone(STAR)
    yield Row("a family with 100,000 children", seconds, "limit", 15.0)
    yield Row("a family with 100,000 children, peak memory", peak, "limit", 1024.0, unit="MiB")
    seconds, peak = alone(OPEN)
    yield Row("a star with 100,000 leaves and no measured root", seconds, "limit", 15.0)
    yield Row("a star with 100,000 leaves and no measured root, peak memory", peak, "limit", 1024.0, unit="MiB")


def _names():
    folder = Path(tempfile.mkdtemp())
    rng = stream(1, "bench", "names")
    truth = rng.negative_binomial(0.7, 0.7 / 30, NAMES)
    noisy = truth + np.round(rng.laplace(0.0, 5.0, NAMES)).astype(np.int64)
    path = folder / "names.csv"
    path.write_text("name,value\n" + "".join(f"n{i},{value}\n" for i, value in enumerate(noisy.tolist())))
    total = f'"--total", "{int(truth.sum())}"'
    seconds, peak = alone(_printless(ANSWER.format(file=str(path), folder=str(folder), more=total)))
    yield Row(f"{NAMES:,} counts with a total", seconds, "limit", 15.0)
    yield Row(f"{NAMES:,} counts with a total, peak memory", peak, "limit", 1024.0, unit="MiB")


def _rows():
    folder = Path(tempfile.mkdtemp())
    rng = stream(1, "bench", "rows")
    noisy = rng.negative_binomial(0.7, 0.7 / 60, SIZE) + np.round(rng.laplace(0.0, 5.0, SIZE)).astype(np.int64)
    path = folder / "rows.csv"
    path.write_text("name,value\n" + "".join(f"n{i},{value}\n" for i, value in enumerate(noisy.tolist())))
    seconds, peak = alone(_printless(ANSWER.format(file=str(path), folder=str(folder), more="")))
    yield Row(f"{SIZE:,} counts without a total", seconds, "limit", 15.0)
    yield Row(f"{SIZE:,} counts without a total, peak memory", peak, "limit", 2048.0, unit="MiB")


def _printless(code):
    """Return the code with its output discarded, because the seconds are read from it."""
    timed = "# timed\n"
    quiet = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    "
    setup, work = code.split(timed)
    return setup + timed + quiet + work
