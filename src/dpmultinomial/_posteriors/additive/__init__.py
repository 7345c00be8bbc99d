"""Posterior distributions of true counts, given counts that were released with additive constraints (Wang 2020)."""
