"""Compiled samplers and functions shared by several packages: the bit generator, geometric noise, the Dirichlet
distribution.
"""
