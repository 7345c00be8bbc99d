"""Confidence intervals and tests for true counts and rates, given noisy counts. The methods need no prior."""
