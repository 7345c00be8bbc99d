"""Inference from a release: `Release`, `posterior`, `posteriors`, `read` and one adapter per kind of mechanism."""
