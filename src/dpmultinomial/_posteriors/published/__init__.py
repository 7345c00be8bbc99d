"""Published noisy counts without an exact total: priors, posteriors of each and of their sums, many at once."""
