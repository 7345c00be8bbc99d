"""Growth of the cost of a run, and the time of a much larger run on a cluster."""
