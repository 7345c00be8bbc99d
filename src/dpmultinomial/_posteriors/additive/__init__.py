"""Posterior distributions of true counts, given released counts that add up to a released total (Wang 2020)."""
