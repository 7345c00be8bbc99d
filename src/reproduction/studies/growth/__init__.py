"""How the cost of a run grows, and how long a much larger one would take on a cluster."""
