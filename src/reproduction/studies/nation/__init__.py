"""Counts of a nation, with one job per state."""
