"""Inference from a release, with `Release`, `posterior`, `posteriors`, `read`, and one adapter for each kind of
mechanism.
"""
