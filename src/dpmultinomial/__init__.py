"""Differentially private counts and multinomials: mechanisms, privacy accounting and posteriors.

Only the names in ``__all__`` are public and stable; everything else may change in any version. Each public name is
imported on first use, so importing the package imports no other module (PEP 562). The workflow relies on this
behaviour: a result is recomputed only if a module that it uses changes.
"""

__version__ = "0.3.0"

_MODULES = {  # public name -> module that defines it
    # mechanisms
    "Laplace": "_mechanisms.laplace",
    "DiscreteLaplace": "_mechanisms.laplace",
    "Gaussian": "_mechanisms.gaussian",
    "DiscreteGaussian": "_mechanisms.gaussian",
    "Exact": "_mechanisms.exact",
    "Perturbation": "_mechanisms.perturbation",
    "RandomRounding": "_mechanisms.random_rounding",
    "Dirichlet": "_mechanisms.dirichlet",
    "AdditiveCounts": "_mechanisms.additive_counts",
    "CensoredStatistics": "_mechanisms.sufficient_statistics",
    "Swap": "_mechanisms.swapping.swapping",
    # inference
    "Release": "_inference.release",
    "Regression": "_inference.regression",
    "read": "_inference.reading",
    "posterior": "_inference.posterior",
    "posteriors": "_inference.posterior",
    "confidence": "_inference.confidence",
    "plan": "_inference.planning",
    # privacy accounting
    "PureDP": "_accounting.composition",
    "ZCDP": "_accounting.composition",
    "RenyiDP": "_accounting.composition",
    "ApproxDP": "_accounting.composition",
    "compose": "_accounting.composition",
    "audit": "_models.calibrated_noise",
    # private models and random number streams
    "PrivateNaiveBayes": "_models.naive_bayes",
    "PrivateBayesianNetwork": "_models.private_network",
    "stream": "_seeding",
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    """Import and return the public object with the given name."""
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}. The available attributes are {', '.join(__all__)}"
    )


def __dir__() -> list[str]:
    return __all__
