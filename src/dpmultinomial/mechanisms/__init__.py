"""How a protected release is made: frozen dataclasses with sampler, law, variance and privacy cost."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__)
