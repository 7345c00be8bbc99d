"""What a protected release costs: Rényi divergences, conversions to (epsilon, delta), exact profiles, audits."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__)
