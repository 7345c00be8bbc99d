"""Posterior distributions given published noisy counts without an exact total: priors, single counts, sums of counts,
and batches.
"""
