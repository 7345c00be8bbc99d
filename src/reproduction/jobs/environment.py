"""Variables that every job inherits: this tree's packages first, and linear algebra in one thread.

One thread also in timings, which hold all cores to be alone on them: threads of a library that wait for each other burn
CPU seconds wherever a core is taken, and what is measured is our code, not how a library divides its work.
"""

import os
from pathlib import Path

KINDS = ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR")
ONE_THREAD = {f"{kind}_NUM_THREADS": "1" for kind in KINDS} | {"VECLIB_MAXIMUM_THREADS": "1"}
_PATH = "PYTHONPATH"


def one_thread() -> None:
    """Set the variables for this process and those it starts. NumPy reads them once: call this before it is loaded."""
    os.environ.update(ONE_THREAD)


def own_tree_first() -> None:
    """Put this tree's ``src`` first on the module path of all jobs, whatever else is installed."""
    here = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get(_PATH, "").split(os.pathsep)
    os.environ[_PATH] = os.pathsep.join([here, *(path for path in inherited if path not in ("", here))])
