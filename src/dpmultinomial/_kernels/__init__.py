"""Compiled draws that several packages share: the bit generator, geometric noise, the Dirichlet distribution."""
