"""Counts on a tree of totals, measured with noise anywhere: exact posterior, least squares, crossed cells."""
