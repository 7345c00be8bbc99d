"""Posterior distributions of the shares in a file, and of the multinomial probabilities (rates) from which the file is
sampled, given noisy counts and an exact total.
"""
