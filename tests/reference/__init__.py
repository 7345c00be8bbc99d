"""Plain NumPy reference implementations of the compiled kernels."""
