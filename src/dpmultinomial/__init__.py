"""Differentially private counts and multinomials: mechanism, accounting, posterior.

The package holds the science; the workflow around it is in ``Snakefile`` and ``workflow/``.
"""

from ._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __path__)
