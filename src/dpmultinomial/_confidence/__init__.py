"""Confidence intervals and tests of noisy counts, which need no prior."""
