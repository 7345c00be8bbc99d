"""Noisy statistics of a censored normal sample: the posterior of its mean and variance, and direct sampling."""
