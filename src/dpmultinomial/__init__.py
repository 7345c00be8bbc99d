"""Differentially private counts and multinomials: mechanism, accounting, posterior.

What is promised are the names in ``__all__``; everything else may change in any version.
"""

from ._lazy import attach

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Laplace": "_mechanisms.laplace",
        "DiscreteLaplace": "_mechanisms.discrete_laplace",
        "Gaussian": "_mechanisms.gaussian",
        "DiscreteGaussian": "_mechanisms.discrete_gaussian",
        "Dirichlet": "_mechanisms.dirichlet",
        "CensoredStatistics": "_mechanisms.sufficient_statistics",
        "PureDP": "_accounting.composition",
        "ZCDP": "_accounting.composition",
        "RenyiDP": "_accounting.composition",
        "ApproxDP": "_accounting.composition",
        "PrivateNaiveBayes": "_models.naive_bayes",
        "PrivateBayesianNetwork": "_models.private_network",
        "stream": "_seeding",
    },
)
