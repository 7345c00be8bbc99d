"""What can be inferred from a protected release."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__)
