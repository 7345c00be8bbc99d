"""The compiled samplers, one algorithm a file, each with its plain NumPy twin in `reference`."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    __path__,
    {"multinomial_table": "compositions", "log_multinomial_table": "compositions"},
)
