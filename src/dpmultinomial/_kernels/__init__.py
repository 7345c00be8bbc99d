"""Compiled samplers and functions that are used by several packages: the bit generator, geometric noise, and the
Dirichlet distribution.
"""
