"""Confidence intervals and tests for noisy counts. The methods need no prior."""
