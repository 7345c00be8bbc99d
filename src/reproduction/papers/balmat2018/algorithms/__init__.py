"""Algorithms and kernels used only by this paper."""
