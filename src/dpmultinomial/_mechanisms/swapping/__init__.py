"""Permutation swapping: release, exact distributions of swapped tables, weights of permutations."""
