"""Algorithms that are used only for the reproduction of this paper: exact moments of the releases, and methods that
adjust noisy counts to a given total.
"""
