"""Sentences of additive counts."""

from collections.abc import Mapping
from typing import Any


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the release was made."""
    scale = f"{point['noise']['scale']:g}"
    ties = f", ties {point['ties']}" if point["algorithm"] == "3" else ""
    return [
        f"The total and every count had discrete Laplace noise of scale {scale}; algorithm {point['algorithm']}{ties} "
        "made them add up, and none negative."
    ]
