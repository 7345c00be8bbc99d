"""Streams of random numbers, one for each purpose, derived from a single root seed.

Every Generator of the project comes from `stream`. A stream depends only on the root seed and on its names, so results
do not depend on the other computations, their order, or the number of cores.
"""

import hashlib
from numbers import Integral

import numpy as np


def stream(root_seed: int, *names: str | int) -> np.random.Generator:
    """Return the random number generator of the stream called `names`, which is derived from `root_seed`.

    Parameters
    ----------
    root_seed : non-negative integer, the only seed that a user sets.
    *names : at least one string or integer, e.g. ``"paper", "figure_2", 7`` (paper, artefact, block).

    Returns
    -------
    numpy.random.Generator
        PCG64 seeded with ``SeedSequence([root_seed, *words])``; `words` are the SHA-256 of the names, each tagged
        with its type and length, so ``("a", "b")``, ``("ab",)`` and ``(1,)``, ``("1",)`` differ.

    Raises
    ------
    ValueError, TypeError
        If the seed is negative or not an integer, if there is no name, or if a name is neither a string nor an integer.
    """
    if isinstance(root_seed, bool) or not isinstance(root_seed, Integral):
        raise TypeError(f"root_seed must be an integer, got {root_seed!r}")
    if root_seed < 0:
        raise ValueError(f"root_seed must be >= 0, got {root_seed}")
    if not names:
        raise ValueError("a stream requires at least one name, got none: for example, call stream(1, 'figure_2')")
    digest = hashlib.sha256()
    for name in names:
        if isinstance(name, bool) or not isinstance(name, (str, Integral)):
            raise TypeError(f"stream names must be strings or integers, got {name!r}")
        text = f"{'s' if isinstance(name, str) else 'i'}{name}".encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    words = np.frombuffer(digest.digest(), dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([int(root_seed), *words])))
