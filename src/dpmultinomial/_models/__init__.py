"""Discrete models fitted from counts, with and without privacy: binning, naive Bayes, Bayesian networks."""
