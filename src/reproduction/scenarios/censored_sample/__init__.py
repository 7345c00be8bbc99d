"""Scenario for noisy statistics of a censored sample from a normal distribution."""
