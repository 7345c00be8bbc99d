"""Noisy measurement files of the 2020 Census."""
