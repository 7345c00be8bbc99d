"""Counts with independent noise."""
