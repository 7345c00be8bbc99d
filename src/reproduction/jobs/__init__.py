"""Computation of each job of a run, and assignment of tables and figures to jobs."""
