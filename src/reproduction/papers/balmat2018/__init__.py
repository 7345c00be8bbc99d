"""Reproduce Balmat, Barrientos and Reiter (2018), a paper about multinomial probabilities in differentially private
verification servers.
"""
