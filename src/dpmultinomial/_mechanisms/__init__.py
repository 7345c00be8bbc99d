"""How a protected release is made: frozen dataclasses with sampler, law, variance and privacy cost."""
