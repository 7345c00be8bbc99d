"""Jobs of a run: which tables and figures share a job, and the work of each job."""
