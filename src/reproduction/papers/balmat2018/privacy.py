"""What the printed releases cost, from densities and probabilities alone."""

from itertools import permutations, product

import numpy as np
import pandas as pd
from scipy.special import betaln

from dpmultinomial._mechanisms.laplace import Laplace

TEXT, LISTINGS, FIRST_P = "noise of the text", "noise of the listings", "first p from the counts"
_DISTANCE = {TEXT: 1.0, LISTINGS: 2.0}  # scale times epsilon as printed
KEPT = 4000


def privacy(*, settings: dict[str, list[int]], epsilon: float) -> pd.DataFrame:
    """Largest log ratio of densities between neighbours: one partition moved to another category.

    Columns release, scale, claimed (epsilon), lost (largest log ratio found: a lower bound of the true epsilon).
    The noise: over all neighbours of the settings and outputs beyond them in every direction, where the ratio is
    largest. Listing 5.2's first p ~ Dirichlet(true counts), never moved: the event that all draws have Serr = 0, which
    is certain at (s1, s0, 0); the complement has probability 0 there, so that no epsilon bounds the ratio.
    """
    rows = []
    for release, times in _DISTANCE.items():
        mechanism = Laplace(scale=times / epsilon)
        lost = max(_log_ratio(mechanism, counts) for counts in settings.values())
        rows.append({"release": release, "scale": mechanism.scale, "claimed": epsilon, "lost": lost})
    total = sum(next(iter(settings.values())))
    lost = -log_all_zero(KEPT * total, total - 1)
    rows.append({"release": FIRST_P, "scale": 2 / epsilon, "claimed": epsilon, "lost": lost})
    return pd.DataFrame(rows)


def _log_ratio(mechanism: Laplace, counts: list[int]) -> float:
    here, found = np.array(counts, dtype=float), [0.0]
    for source, target in permutations(range(len(counts)), 2):
        if counts[source]:
            there = here.copy()
            there[source] -= 1
            there[target] += 1
            for signs in product((-1, 1), repeat=len(counts)):
                output = here + 2 * np.array(signs)
                densities = [np.log(mechanism.pdf(output - centre)).sum() for centre in (here, there)]
                found.append(abs(float(densities[0] - densities[1])))
    return max(found)


def log_all_zero(draws: int, rest: int) -> float:
    """log E[(1 - q)^draws], q ~ Beta(1, rest): that a category with one partition never shows in any draw.

    E = B(1, rest + draws)/B(1, rest) = rest/(rest + draws).
    """
    return float(betaln(1, rest + draws) - betaln(1, rest))
