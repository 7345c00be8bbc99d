"""Sentences of noisy shares."""

from collections.abc import Mapping
from typing import Any


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the shares were made, and what is public."""
    return [
        f"The shares are one draw of a Dirichlet law with parameter {point['r']:.5g} times each count, plus "
        f"{point['alpha']:.5g}.",
        f"The total of {point['total']:,} records is public and exact.",
    ]
