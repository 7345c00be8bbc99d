"""Functions and classes for inference from released data, such as `Release`, `posterior`, `posteriors`, `read`, and one
adapter for each kind of mechanism.
"""
