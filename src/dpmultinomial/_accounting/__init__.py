"""What a protected release costs: Rényi divergences, conversions to (epsilon, delta), exact profiles, composition."""
