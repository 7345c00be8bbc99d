"""Privacy cost of a release, by Rényi divergences, conversions to (epsilon, delta), exact profiles, and composition."""
