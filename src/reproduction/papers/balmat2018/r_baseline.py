"""The measured baseline in base R: run where Rscript is found, reported as not run where it is not."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

NOT_FOUND = "Rscript was not found on this machine"
COLUMNS = (
    *("what", "method", "setup", "environment", "repeat", "total", "rows", "epsilon", "vector", "seconds"),
    *("products", "scaled", "version", "note"),
)
_METHODS = ("standard (R dmultinom)", "table (R and C)")


def r_timings(
    *,
    rscript: str,
    script: Path,
    root_seed: int,
    totals: list[int],
    epsilons: list[float],
    iterations: int,
    products_each: int,
    vectors: int,
    repeats: int,
) -> pd.DataFrame:
    """CPU seconds measured by the R script, one row a measurement; `what` says of which kind.

    ``figure_3``: a posterior, the least of `repeats`, for each of `vectors` random count vectors; ``table_2``:
    `products_each` products, one row a repeat; ``calls``: 5,000 calls of what the paper compares in words, one row a
    repeat.

    Parameters
    ----------
    rscript : path of the interpreter; empty if there is none: then seconds are missing and `note` says why.
    script : the R script.
    root_seed : seed of R's own generator (timings do not depend on it).
    totals, epsilons : M and epsilon of the posteriors.
    iterations : iterations of the standard algorithm at M = 20; fewer for larger tables, scaled to 5,000.
    products_each, vectors, repeats : see above.
    """
    if not rscript:
        about = {"what": "figure_3", "method": _METHODS, "environment": "R", "seconds": np.nan, "note": NOT_FOUND}
        table2 = {"what": "table_2", "method": 1, "environment": "R", "seconds": np.nan, "note": NOT_FOUND}
        rest = pd.DataFrame([table2, table2 | {"what": "calls", "method": "dmultinom"}])
        return pd.concat([pd.DataFrame(about), rest]).reindex(columns=list(COLUMNS))
    with TemporaryDirectory() as folder:
        out = Path(folder, "timings.csv")
        lists = [",".join(map(str, values)) for values in (totals, epsilons)]
        sizes = [str(int(v)) for v in (iterations, products_each, repeats, root_seed % 2**31, vectors)]
        run = subprocess.run(
            [rscript, "--vanilla", str(script), str(out), *lists, *sizes], capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise RuntimeError(f"{script.name} failed with exit status {run.returncode}:\n{run.stderr}")
        return pd.read_csv(out)[list(COLUMNS)]
