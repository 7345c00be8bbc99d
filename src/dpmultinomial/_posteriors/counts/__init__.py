"""Posterior distributions given noisy counts with an exact total: of the shares in the file, and of the rates of the
multinomial distribution from which the file is sampled.
"""
