"""Mechanisms as frozen dataclasses: sampler, distribution, variance and privacy cost."""
