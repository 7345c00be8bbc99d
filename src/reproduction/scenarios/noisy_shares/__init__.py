"""Shares drawn by the Dirichlet mechanism."""
