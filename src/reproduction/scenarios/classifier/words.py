"""Sentences of private models."""

from collections.abc import Mapping
from typing import Any


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the model was made, or what was rehearsed."""
    if "how" in point:
        return [f"The model was released by {point['how']}."]
    found = [
        f"The scores are those of {point['records']:,} made-up records on one 70-30 split; epsilon is a Rényi cost of "
        f"order {point['order']:g}, noisy counts are lifted to {point['floor']}."
    ]
    return [*found, *(f"{text[0].upper()}{text[1:]}." for text in point["unusual"])]
