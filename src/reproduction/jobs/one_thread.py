"""Linear algebra in one thread, also in timings, which hold all cores to be alone on them.

Threads of a library that wait for each other burn CPU seconds wherever a core is taken; how long our code takes is
measured, not how a library divides it.
"""

import os

KINDS = ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR")
VARIABLES = {f"{kind}_NUM_THREADS": "1" for kind in KINDS} | {"VECLIB_MAXIMUM_THREADS": "1"}


def kept() -> None:
    """For this process and those it starts; to be called before NumPy is loaded, which reads it once."""
    os.environ.update(VARIABLES)
