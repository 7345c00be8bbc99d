"""Counts on a tree of totals with noisy measurements of any node: exact posterior, least squares, and crossed cells."""
