"""Which tables and figures share a job, and what a job does."""
