"""Functions and classes for inference from released data, such as `Release`, `posterior`, `posteriors` and `read`. Each
kind of mechanism has one adapter.
"""
