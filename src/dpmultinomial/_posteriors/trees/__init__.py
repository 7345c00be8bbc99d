"""Posterior distributions of counts on a tree of totals, given noisy measurements of arbitrary nodes. The methods are
exact sums, least squares, and an approximation for crossed cells.
"""
