"""This tree's own packages come first, here and in every job, whatever else is installed."""

import os
from pathlib import Path

_VARIABLE = "PYTHONPATH"


def come_first() -> None:
    """Put this tree's ``src`` at the head of what jobs look through for modules; they inherit it."""
    here = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get(_VARIABLE, "").split(os.pathsep)
    os.environ[_VARIABLE] = os.pathsep.join([here, *(path for path in inherited if path not in ("", here))])
