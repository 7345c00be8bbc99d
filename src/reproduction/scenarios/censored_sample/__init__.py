"""Noisy statistics of a censored normal sample."""
