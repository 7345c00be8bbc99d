"""Counts of places from synthetic noisy measurement files, beside the truth."""
