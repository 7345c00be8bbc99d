"""Large inputs from a CSV file to the answers: CPU seconds and memory of one process."""

import tempfile
from pathlib import Path

import numpy as np
from measuring import Row, alone

from dpmultinomial._seeding import stream

ANSWER = """
from reproduction import command
# timed
command.main(["answer", {file!r}, "--noise", "discrete_laplace", "--scale", "5", "--folder", {folder!r}, *{more!r}])
"""


def benchmarks():
    folder = Path(tempfile.mkdtemp())
    for name, size, limit, mib in (("names", 100_000, 15.0, 1024.0), ("rows", 2_000_000, 15.0, 2048.0)):
        rng = stream(1, "bench", name)
        truth = rng.negative_binomial(0.7, 0.7 / 60, size)
        noisy = truth + np.round(rng.laplace(0.0, 5.0, size)).astype(np.int64)
        path = folder / f"{name}.csv"
        path.write_text("name,value\n" + "".join(f"n{i},{value}\n" for i, value in enumerate(noisy.tolist())))
        more = ["--total", str(int(truth.sum()))] if name == "names" else []
        seconds, peak = alone(_printless(ANSWER.format(file=str(path), folder=str(folder), more=more)))
        what = f"{size:,} counts {'with a public total' if more else 'without a total'}"
        yield Row(what, seconds, "limit", limit)
        yield Row(f"{what}, peak memory", peak, "limit", mib, unit="MiB")


def _printless(code):
    """Return the code with its output discarded, because the seconds are read from it."""
    timed = "# timed\n"
    quiet = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    "
    setup, work = code.split(timed)
    return setup + timed + quiet + work
