"""Functions that are shared by the ``errata`` modules of all papers. They return errata together with the evidence for
the errata.

A paper maps the number of each erratum to a description, and to a function of a Generator and a sample size that
returns the evidence as text.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from dpmultinomial._seeding import stream

Evidence = Callable[[np.random.Generator, int], str]
Errata = Mapping[int, tuple[str, Evidence]]
_SIZE = 1000  # sample size of the evidence shown on the command line


def show(errata: Errata, number: int, *, rng: np.random.Generator, size: int) -> str:
    """Compute and return the evidence for one erratum of a paper.

    Raises
    ------
    ValueError
        If no erratum has this number.
    """
    if number not in errata:
        raise ValueError(_unknown(errata, number))
    return errata[number][1](rng, size)


def table(paper: str, errata: Errata, *, rng: np.random.Generator, size: int) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    command = f"python -m {__name__} {paper}"
    rows = [
        {"number": n, "erratum": text, "evidence": show(errata, n, rng=rng, size=size), "command": f"{command} {n}"}
        for n, (text, _) in errata.items()
    ]
    return pd.DataFrame(rows)


def of(package: str) -> Errata:
    """Return the errata of the paper whose package has the dotted name `package`. The result is empty if the folder of
    the paper has no ``errata.py``.
    """
    if find_spec(f"{package}.errata") is None:
        return {}
    errata: Errata = import_module(f"{package}.errata").ERRATA
    return errata


def _unknown(errata: Errata, got: object) -> str:
    if not errata:
        return f"this paper lists no errata, got {got}"
    return f"erratum must be one of {', '.join(map(str, errata))}, got {got}"


def main() -> None:
    """Print some or all errata of a paper, for the command ``python -m reproduction.evidence <slug> [N ..]``."""
    papers = [path.parent.name for path in sorted(Path(__file__).parent.glob("papers/*/paper.yaml"))]
    slug, *words = sys.argv[1:] or [""]
    if slug not in papers:
        sys.exit(f"pass a paper and numbers of its errata, e.g. {papers[0]} 1; papers are {', '.join(papers)}")
    errata = of(f"{__package__}.papers.{slug}")
    if not errata and not words:
        print(f"{slug} has no known errata.")
    for word in words or map(str, errata):
        if not word.isdigit() or int(word) not in errata:
            sys.exit(f"{slug}: {_unknown(errata, word)}")
        text = show(errata, int(word), rng=stream(1, slug, "errata", int(word)), size=_SIZE)
        print(f"{word}. {errata[int(word)][0]}\n   {text}")


if __name__ == "__main__":
    main()
