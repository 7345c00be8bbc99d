"""Naive Bayes models and Bayesian networks, which are fitted to counts with or without differential privacy, and the
binning of columns.
"""
