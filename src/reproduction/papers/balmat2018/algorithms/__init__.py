"""Algorithms and kernels that are used only for the reproduction of this paper: accuracy of multinomial probabilities,
and posteriors by enumeration.
"""
