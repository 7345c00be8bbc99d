"""make bench [ARGS=paper]: every paper's benchmarks as ratios against a named baseline, in one process.

Each paper's ``bench.py``, and each module beside this one, has ``benchmarks() -> list of rows`` with name, seconds,
baseline, baseline_seconds, target.
Seconds are medians; the ratio, baseline over ours, is what carries over to other machines.
"""

import importlib.util
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

PAPERS = Path(__file__).parents[2] / "src/reproduction/papers"


def timed(call, repeats=7):
    """Median wall-clock seconds of `repeats` calls."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times)


def main(wanted):
    print(f"{'benchmark':58} {'seconds':>10}  {'ratio':>9}  baseline; target")
    here = Path(__file__).parent
    parts = {path.parent.name: path for path in sorted(PAPERS.glob("*/bench.py"))}
    parts |= {path.stem: path for path in sorted(here.glob("*.py")) if path.stem != "run"}
    for paper, path in parts.items():
        if wanted and paper not in wanted:
            continue
        spec = importlib.util.spec_from_file_location(f"bench_{paper}", path)
        part = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = part
        spec.loader.exec_module(part)
        for row in part.benchmarks():
            ratio = row["baseline_seconds"] / row["seconds"] if row["baseline_seconds"] else float("nan")
            print(
                f"{paper + ': ' + row['name']:58} {row['seconds']:10.5f}  {ratio:9.1f}  "
                f"{row['baseline']} ({row['baseline_seconds']:.5f} s); {row['target']}"
            )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main(set(sys.argv[1:]))
