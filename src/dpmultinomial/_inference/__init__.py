"""Inference from released data: `Release`, `posterior`, `posteriors`, `read`, and one adapter for each kind of
mechanism.
"""
