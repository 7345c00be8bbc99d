"""Inference from a release: `Release`, `posterior`, `posteriors`, `read`; one adapter per kind of mechanism."""
