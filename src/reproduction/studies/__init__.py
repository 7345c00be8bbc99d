"""Studies that do not belong to a paper and that run only on request. A study consists of two files in this folder.

=================  =================================================================================================
file               what belongs in it
=================  =================================================================================================
``<study>.yaml``   title, about, caption, alt, minutes on one core, settings
``<study>.py``     ``table(root_seed, **settings)`` -> DataFrame; ``figure(table)`` -> matplotlib Figure
=================  =================================================================================================

A study that consists of several parts, with one job per part, also has ``parts`` in its YAML file. This is a table in
the folder of studies whose first column contains the names of the parts. The function ``part(root_seed, name, path,
**settings)`` then writes one part as Parquet, and ``table(root_seed, parts=paths, **settings)`` reads all parts.

The command ``snakemake study_<name>`` (or ``make reproduce ARGS=study_<name>``) writes results/studies/<name>.csv and a
figure.
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
_MAY = {"parts"}


@dataclass(frozen=True)
class Study:
    """Settings of a study, read from the file ``<study>.yaml``.

    Parameters
    ----------
    name : name of the study and of its files.
    title, about, caption, alt : texts; `alt` describes the figure for readers who cannot see it.
    minutes : expected number of minutes on one core, for all parts together.
    settings : arguments of ``table``, in addition to `root_seed`.
    parts : names of the parts; empty for a study with a single job.
    listed : path of the table that contains the names of the parts.
    """

    name: str
    title: str
    about: str
    caption: str
    alt: str
    minutes: float
    settings: dict[str, Any]
    parts: tuple[str, ...] = ()
    listed: str = ""

    @property
    def module(self) -> str:
        """Return the full dotted name of the module of a study."""
        return f"{__name__}.{self.name}"

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function from the module of a study."""
        function: Callable[..., Any] = getattr(import_module(self.module), name)
        return function


def discover(folder: Path = FOLDER) -> dict[str, Study]:
    """Return all studies as a dictionary with their names as keys.

    Parameters
    ----------
    folder : folder of the studies.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If a ``<study>.yaml`` lacks a key or has an unknown key. The message lists all such keys.
    """
    studies, mistakes = {}, []
    for path in sorted(folder.glob("*.yaml")):
        written = config.read(path)
        wrong = [f"{key} is missing" for key in sorted(_KEYS - set(written))]
        wrong += [f"{key} is unknown" for key in sorted(set(written) - _KEYS - _MAY)]
        wrong += [f"{key} must be a string" for key in _TEXTS if not isinstance(written.get(key, ""), str)]
        mistakes += [f"studies/{path.name}: {text}" for text in wrong]
        if not wrong:
            if "parts" in written:
                listed = path.parent / str(written["parts"])
                lines = listed.read_text(encoding="utf-8").splitlines()[1:]
                written |= {"parts": tuple(line.split("\t")[0] for line in lines), "listed": str(listed)}
            studies[path.stem] = Study(name=path.stem, **written)
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return studies
