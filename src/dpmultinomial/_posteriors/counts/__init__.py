"""Posterior distributions of the category shares in a confidential file, and of the multinomial probabilities (rates)
from which the records of the file are sampled, given noisy counts and an exact total.
"""
