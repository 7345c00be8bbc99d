"""Priors, and posterior distributions of single counts, sums of counts and batches of counts, given published noisy
counts without an exact total.
"""
