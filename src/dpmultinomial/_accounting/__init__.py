"""Privacy cost of a release: Rényi divergences, conversions to (epsilon, delta), exact profiles, and composition."""
