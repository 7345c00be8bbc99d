"""Swapped tables: the posterior of the table before the swap, and of its cell probabilities."""
