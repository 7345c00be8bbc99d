"""Privacy cost of releases: Rényi divergences, conversions to (epsilon, delta), exact privacy profiles, and
composition.
"""
