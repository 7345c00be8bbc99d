"""Scenario for shares drawn by the Dirichlet mechanism."""
