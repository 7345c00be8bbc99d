"""Posterior distributions of true counts, given released counts that sum to a released total (Wang 2020)."""
