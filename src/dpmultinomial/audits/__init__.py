"""Claimed guarantees against the exact cost of the mechanisms that make them."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__)
