"""Sentences of censored samples."""

from collections.abc import Mapping
from typing import Any

MEANINGS = {
    "mu": "the mean mu of the law that the records come from",
    "sigma2": "the variance sigma2 of the law that the records come from",
    "below": "records below the lower limit",
    "above": "records above the upper limit",
}


def assumed(point: Mapping[str, Any]) -> list[str]:
    """The model, the noise and what it cannot say."""
    scales = ", ".join(f"{name} {scale:.4g}" for name, scale in point["scales"].items())
    return [
        f"The {point['records']:,} records are independent draws of one normal law; mean and sum of squares of those "
        f"in [{point['lower']:g}, {point['upper']:g}] and how many lie below and above were released.",
        f"Each of the four numbers has Laplace noise, independently, of scale {scales}.",
        "Nothing holds where the records are not from a normal law: censored records are counted, and the law's tails "
        "stand in for them.",
    ]
