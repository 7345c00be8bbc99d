"""Differentially private counts and multinomials: mechanism, accounting, posterior.

Only the names in ``__all__`` are public and stable; everything else may change in any version.
"""

from ._lazy import attach

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        # mechanisms
        "Laplace": "_mechanisms.laplace",
        "DiscreteLaplace": "_mechanisms.laplace",
        "Gaussian": "_mechanisms.gaussian",
        "DiscreteGaussian": "_mechanisms.gaussian",
        "Exact": "_mechanisms.exact",
        "Perturbation": "_mechanisms.perturbation",
        "RandomRounding": "_mechanisms.random_rounding",
        "Dirichlet": "_mechanisms.dirichlet",
        "AdditiveCounts": "_mechanisms.additive.additive_counts",
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
    },
)
