"""make bench [ARGS="--only SUITE .."]: every benchmark with its limit or a named baseline, on one thread.

A suite is a paper (its ``bench.py``) or a module in this folder; each has ``benchmarks()``, which yields
`measuring.Row`. Seconds are CPU seconds of this machine. The ratio to a baseline is similar on other machines;
``within`` and ``over`` state whether the target was met. ``better``, ``equal`` and ``worse`` compare random numbers,
e.g. errors of classifiers, given their Monte Carlo errors.
"""

import argparse
import importlib.util
import os
import sys
from collections import Counter
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # before NumPy is loaded, as in a job of the workflow

HERE = Path(__file__).parent
PAPERS = HERE.parents[1] / "src/reproduction/papers"


def suites():
    """Return name and module of every suite."""
    papers = {path.parent.name: path for path in sorted(PAPERS.glob("*/bench.py"))}
    beside = [path for path in sorted(HERE.glob("*.py")) if not path.stem.endswith("_script")]
    own = {path.stem: path for path in beside if path.stem not in ("run", "measuring")}
    return papers | own


def rows_of(suite, path):
    """Yield the rows of one suite as they are measured."""
    spec = importlib.util.spec_from_file_location(f"bench_{suite}", path)
    part = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = part
    spec.loader.exec_module(part)
    yield from part.benchmarks()


def main(words):
    found = suites()
    parser = argparse.ArgumentParser(description="Benchmarks beside their targets.")
    parser.add_argument("--only", nargs="+", choices=sorted(found), default=list(found), metavar="SUITE")
    wanted = parser.parse_args(words).only
    print(f"{'target':6} {'measured':>11} {'':3} {'ratio':>10}  what [baseline]")
    over, beside = [], Counter()
    for suite in wanted:
        for row in rows_of(suite, found[suite]):
            print(f"{row}  {suite}", flush=True)
            over += [f"{suite}: {row.name}"] * (row.verdict == "over")
            beside[row.verdict] += row.verdict in ("better", "equal", "worse")
    if beside.total():
        print(", ".join(f"{beside[word]} {word}" for word in ("better", "equal", "worse")), "than others, by 3 errors")
    print(f"{len(over)} over their target" + (": " + "; ".join(over) if over else ""))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main(sys.argv[1:])
