"""How a protected release is made: frozen dataclasses with sampler, distribution, variance and privacy cost."""
