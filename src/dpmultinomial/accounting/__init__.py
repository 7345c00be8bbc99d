"""What a protected release costs, and exact checks of what is claimed about it."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__)
