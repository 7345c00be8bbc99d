"""Posterior of mean and variance given noisy statistics of a censored normal sample, and direct sampling."""
