"""Files that users bring: one strict CSV reader; whether a file may be opened at all is decided by who opens it."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__)
