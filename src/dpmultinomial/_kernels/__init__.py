"""Compiled samplers and functions that several packages share: the bit generator, geometric noise, and the Dirichlet
distribution.
"""
