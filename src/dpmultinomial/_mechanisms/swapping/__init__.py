"""Permutation swapping: release, exact laws of swapped tables, weights of permutations."""
