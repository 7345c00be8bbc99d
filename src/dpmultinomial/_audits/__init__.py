"""Claimed guarantees against the exact cost of the mechanisms that make them."""
