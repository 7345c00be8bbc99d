"""Posteriors given noisy counts with an exact total: shares in the file, and rates of the multinomial distribution from
which the file is sampled.
"""
