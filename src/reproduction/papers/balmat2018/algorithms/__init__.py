"""Algorithms and kernels that are used only by this paper: accuracy of multinomial probabilities, and posteriors by
enumeration.
"""
