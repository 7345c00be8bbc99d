"""What can be inferred from a protected release."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, ("beta_mixture", "dirichlet_mixture", "laplace_multinomial"))
