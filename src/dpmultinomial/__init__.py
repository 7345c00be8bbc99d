"""Differentially private counts and multinomials: mechanism, accounting, posterior.

What is promised are the names in ``__all__``; everything else may change in any version.
"""

from ._lazy import attach

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        # how a release is made
        "Laplace": "_mechanisms.laplace",
        "DiscreteLaplace": "_mechanisms.laplace",
        "Gaussian": "_mechanisms.gaussian",
        "DiscreteGaussian": "_mechanisms.gaussian",
        "Exact": "_mechanisms.exact",
        "Perturbation": "_mechanisms.perturbation",
        "Dirichlet": "_mechanisms.dirichlet",
        "AdditiveCounts": "_mechanisms.additive.additive_counts",
        "CensoredStatistics": "_mechanisms.sufficient_statistics",
        "Swap": "_mechanisms.swapping.swapping",
        # what it says
        "Release": "_inference.release",
        "read": "_inference.reading",
        "posterior": "_inference.posterior",
        "posteriors": "_inference.posterior",
        "plan": "_inference.planning",
        # what it costs
        "PureDP": "_accounting.composition",
        "ZCDP": "_accounting.composition",
        "RenyiDP": "_accounting.composition",
        "ApproxDP": "_accounting.composition",
        "compose": "_accounting.composition",
        "audit": "_models.claims",
        # private models, random numbers
        "PrivateNaiveBayes": "_models.naive_bayes",
        "PrivateBayesianNetwork": "_models.private_network",
        "stream": "_seeding",
    },
)
