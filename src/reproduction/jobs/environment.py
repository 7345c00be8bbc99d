"""Environment variables that every job inherits. They put the current source tree first on the module path, and limit
linear algebra to one thread.

Timings use one thread too, although they reserve all cores. Library threads that wait for each other would add CPU
seconds, and the timings measure our code, not the parallelism of a library.
"""

import os
from pathlib import Path

KINDS = ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR")
ONE_THREAD = {f"{kind}_NUM_THREADS": "1" for kind in KINDS} | {"VECLIB_MAXIMUM_THREADS": "1"}
_SAFE_PATH = "PYTHONSAFEPATH"
_PATH = "PYTHONPATH"


def one_thread() -> None:
    """Limit linear algebra to one thread in the current process and its child processes. The function must be called
    before NumPy is loaded, because NumPy reads the limits only once.
    """
    os.environ.update(ONE_THREAD)


def no_progress() -> None:
    """Switch off progress messages within jobs, because the lines of parallel jobs would overwrite each other."""
    os.environ["DPMULTINOMIAL_PROGRESS"] = "0"


def safe_path() -> None:
    """Prevent Python jobs from importing modules from the folder of their script (``.snakemake/scripts`` in the current
    folder). A folder that was received from another person could contain harmful modules in this place.
    """
    os.environ[_SAFE_PATH] = "1"


def own_tree_first() -> None:
    """Put the ``src`` folder of the current source tree first on the module path of all jobs, even if another version
    is installed.
    """
    source = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get(_PATH, "").split(os.pathsep)
    os.environ[_PATH] = os.pathsep.join([source, *(path for path in inherited if path not in ("", source))])
