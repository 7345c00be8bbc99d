"""Counts released together with their total, which is their sum."""
