"""Discrete models fitted from counts, with and without privacy: binning, naive Bayes, Bayesian networks."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__, __path__, {"PrivateNaiveBayes": "naive_bayes", "PrivateBayesianNetwork": "private_network"}
)
