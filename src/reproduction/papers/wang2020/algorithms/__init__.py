"""Algorithms that are used only by this paper: exact moments of its releases, and projections of noisy counts onto a
total.
"""
