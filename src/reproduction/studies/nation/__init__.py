"""A nation of counts, a job a state."""
