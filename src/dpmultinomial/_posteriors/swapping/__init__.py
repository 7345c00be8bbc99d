"""Posterior distributions given a swapped table: of the table before the swap, and of the cell probabilities."""
