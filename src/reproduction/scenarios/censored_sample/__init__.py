"""Scenario for noisy statistics of a censored normal sample."""
