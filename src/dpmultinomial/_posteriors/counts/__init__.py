"""Noisy counts with an exact total: shares in the file and rates of the multinomial distribution from which it is
sampled.
"""
