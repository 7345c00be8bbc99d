"""Counts that add up to their total: the releases of Wang (2020), their exact moments, and simpler projections."""
