"""Counts released with additive constraints (Wang 2020): the posterior of the true counts."""
