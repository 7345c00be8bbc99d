"""Scenario for shares that were released by the Dirichlet mechanism."""
