"""Posterior distributions of the original table and of the cell probabilities, given a swapped table."""
