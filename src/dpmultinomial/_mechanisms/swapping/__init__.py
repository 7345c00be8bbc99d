"""Permutation swapping: releases, exact distributions of swapped tables, and probabilities of permutations."""
