"""Counts of geographic units from synthetic noisy measurement files, compared with the true counts."""
