"""Benchmark of noisy measurement files of a synthetic state: intervals of counties and tracts, and one question.

At a tenth of a state of 300,000 populated blocks, whose limits are 60 s and 1 GB; a prior costs the same for both.
``PYTHONPATH=src python tests/bench/measurement_files.py 10`` measures ten times the size.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from measuring import Row, alone

from dpmultinomial._seeding import stream
from reproduction import synthetic_census

SIZE = {"counties": 6, "tracts": 350, "groups": 1000, "blocks": 30_000}  # times a factor
ANSWERED = """
import numpy as np
from dpmultinomial._measurement_files import reading
from dpmultinomial._measurement_files.places import Places
# timed
files = reading.read({folder!r}, product="pl94", table="person", state="VT", cell={{"hispanic": "hispanic"}})
places = Places(files, ["County", "Tract"])
places.table("hispanic", rng=np.random.default_rng(1))
places.ask({{"larger": {{"probability": "county 50001 > county 50003"}}}}, rng=np.random.default_rng(1))
assert places.accuracy.error < 1e-6
"""


def benchmarks(factor=1):
    limit, size = 10.0 if factor == 1 else 6.0 * factor, {name: n * factor for name, n in SIZE.items()}
    with tempfile.TemporaryDirectory() as folder:
        rng = stream(1, "bench", "measurement files")
        synthetic_census.write(folder, state="VT", rng=rng, size=synthetic_census.Size(people=30, **size))
        seconds, mib = alone(ANSWERED.format(folder=folder))
    what = f"noisy measurement files of {size['blocks']:,} blocks to county and tract intervals"
    yield Row(what, seconds, "limit", limit)
    yield Row(f"{what}, peak memory", mib, "limit", 1000.0, unit="MiB")


if __name__ == "__main__":
    for row in benchmarks(int(sys.argv[1])):
        print(row)
