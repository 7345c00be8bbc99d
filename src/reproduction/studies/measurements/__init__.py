"""Counts of places from synthetic noisy measurement files, compared with the true counts."""
