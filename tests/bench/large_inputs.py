"""Large inputs from a CSV file to the answers: CPU seconds and memory of one process."""

import tempfile
from pathlib import Path

import numpy as np
from measuring import Row, alone

from dpmultinomial._seeding import stream

SIZE = 2_000_000
ANSWER = """
from reproduction import command
# timed
command.main(["answer", {file!r}, "--noise", "discrete_laplace", "--scale", "5", "--folder", {folder!r}])
"""


def benchmarks():
    folder = Path(tempfile.mkdtemp())
    rng = stream(1, "bench", "rows")
    noisy = rng.negative_binomial(0.7, 0.7 / 60, SIZE) + np.round(rng.laplace(0.0, 5.0, SIZE)).astype(np.int64)
    path = folder / "rows.csv"
    path.write_text("name,value\n" + "".join(f"n{i},{value}\n" for i, value in enumerate(noisy.tolist())))
    seconds, peak = alone(_printless(ANSWER.format(file=str(path), folder=str(folder))))
    yield Row(f"{SIZE:,} counts without a total", seconds, "limit", 15.0)
    yield Row(f"{SIZE:,} counts without a total, peak memory", peak, "limit", 2048.0, unit="MiB")


def _printless(code):
    """Return the code with its output discarded, because the seconds are read from it."""
    timed = "# timed\n"
    quiet = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    "
    setup, work = code.split(timed)
    return setup + timed + quiet + work
