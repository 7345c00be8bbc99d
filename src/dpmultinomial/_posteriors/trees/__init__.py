"""Posterior distributions of counts on a tree of totals, given noisy measurements of any nodes: exact sums, least
squares, and crossed cells.
"""
