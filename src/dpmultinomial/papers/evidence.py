"""Errata with evidence: what every paper's ``errata`` module shares.

A paper lists number -> (what is wrong, function of a Generator and a sample size that returns its evidence as text).
"""

import sys
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from ..seeding import stream

Evidence = Callable[[np.random.Generator, int], str]
Errata = Mapping[int, tuple[str, Evidence]]


def show(errata: Errata, number: int, *, rng: np.random.Generator, size: int) -> str:
    """Evidence of one erratum, run now.

    Raises
    ------
    ValueError
        If there is no erratum of that number.
    """
    if number not in errata:
        raise ValueError(f"erratum must be 1 to {len(errata)}, got {number}")
    return errata[number][1](rng, size)


def table(paper: str, errata: Errata, *, rng: np.random.Generator, size: int) -> pd.DataFrame:
    """All errata: number, erratum, evidence, command."""
    command = f"python -m {__package__}.{paper}.errata"
    rows = [
        {"number": n, "erratum": text, "evidence": show(errata, n, rng=rng, size=size), "command": f"{command} {n}"}
        for n, (text, _) in errata.items()
    ]
    return pd.DataFrame(rows)


def main(paper: str, errata: Errata, *, size: int) -> None:
    """Print the errata named on the command line, or all of them."""
    for word in sys.argv[1:] or map(str, errata):
        if not word.isdigit() or int(word) not in errata:
            sys.exit(f"erratum must be 1 to {len(errata)}, got {word}")
        evidence = show(errata, int(word), rng=stream(1, paper, "errata", int(word)), size=size)
        print(f"{word}. {errata[int(word)][0]}\n   {evidence}")
