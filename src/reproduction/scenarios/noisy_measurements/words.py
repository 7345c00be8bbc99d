"""Sentences of noisy measurement files."""

from collections.abc import Mapping
from typing import Any


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the numbers were made, and what was taken for granted."""
    found = (
        ["SYNTHETIC: these files were made up from a seed; nothing in them is an agency's."]
        if point["synthetic"]
        else []
    )
    found.append(
        "Every query of every node was published with discrete Gaussian noise of the variance that stands beside it, "
        "independently; counts of places add up along the geographic spine and are not negative."
    )
    if point["combined"]:
        found.append(
            "What several queries say of a node was combined by least squares and taken for Gaussian, which uses "
            "nothing that is known of the rest of the histogram but its sums."
        )
    if point["without_geoid"]:
        found.append(f"GEOIDs of {', '.join(point['without_geoid'])} are not known without the blocks' files.")
    return found


def prior(words: Mapping[str, Any]) -> str:
    """A prior of a tree in words."""
    if words.get("law") == "splits":
        return (
            "every total is as likely as any other, and splits among its parts by a Dirichlet-multinomial law a level"
        )
    return f"independent counts of the deepest places, {words.get('priors')}"
