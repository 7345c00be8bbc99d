"""Inference from a release: `Release`, `posterior`, `posteriors`, `read`, and one adapter for each kind of
mechanism.
"""
