"""Studies that belong to no paper: a folder each, found by being there, run only when asked for.

=================  =================================================================================================
file               what belongs in it
=================  =================================================================================================
``study.yaml``     title, about, caption, alt, minutes on one core, settings
``study.py``       ``table(root_seed, **settings)`` -> DataFrame; ``figure(table)`` -> matplotlib Figure
=================  =================================================================================================

``snakemake study_<name>`` (``make reproduce ARGS=study_<name>``) writes results/studies/<name>.csv and a figure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..config import config

FOLDER = Path(__file__).resolve().parent
_TEXTS = ("title", "about", "caption", "alt")
_KEYS = {*_TEXTS, "minutes", "settings"}


@dataclass(frozen=True)
class Study:
    """What the folder of a study says.

    Parameters
    ----------
    name : of the folder.
    title, about, caption, alt : in words; `alt` says what is seen in the figure.
    minutes : on one core.
    settings : arguments of ``table``, beside `root_seed`.
    """

    name: str
    title: str
    about: str
    caption: str
    alt: str
    minutes: float
    settings: dict[str, Any]

    @property
    def module(self) -> str:
        """Full dotted name of its ``study.py``."""
        return f"{__name__}.{self.name}.study"

    def function(self, name: str) -> Callable[..., Any]:
        """A function of its ``study.py``."""
        found: Callable[..., Any] = getattr(import_module(self.module), name)
        return found


def discover(folder: Path = FOLDER) -> dict[str, Study]:
    """Every study by its name.

    Parameters
    ----------
    folder : with one folder a study.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If a ``study.yaml`` lacks a key or has an unknown one; all of them are named.
    """
    found, mistakes = {}, []
    for path in sorted(folder.glob("*/study.yaml")):
        written = config.read(path)
        wrong = [f"{key} is missing" for key in sorted(_KEYS - set(written))]
        wrong += [f"{key} is unknown" for key in sorted(set(written) - _KEYS)]
        wrong += [f"{key} must be a text" for key in _TEXTS if not isinstance(written.get(key, ""), str)]
        mistakes += [f"studies/{path.parent.name}/study.yaml: {text}" for text in wrong]
        if not wrong:
            found[path.parent.name] = Study(name=path.parent.name, **written)
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return found
