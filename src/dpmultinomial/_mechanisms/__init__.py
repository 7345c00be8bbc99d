"""Mechanisms: frozen dataclasses with sampler, distribution, variance and privacy cost."""
