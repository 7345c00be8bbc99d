"""Posterior of swapped tables: of the table before the swap, and of the cell probabilities."""
