"""Posterior of the true counts given counts released with additive constraints (Wang 2020)."""
