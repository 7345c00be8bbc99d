"""Jobs of a run, with the computation of each job and the assignment of tables and figures to jobs."""
