"""Algorithms and kernels that this paper alone needs."""
