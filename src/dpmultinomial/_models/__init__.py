"""Discrete models that are fitted to counts with or without differential privacy: binning, naive Bayes, Bayesian
networks.
"""
