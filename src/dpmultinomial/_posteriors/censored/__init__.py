"""Posterior distribution of the mean and variance of a normal population, given noisy statistics of a
censored sample.
"""
