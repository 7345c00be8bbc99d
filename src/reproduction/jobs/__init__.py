"""Execution of the jobs of a run, and assignment of tables and figures to jobs."""
