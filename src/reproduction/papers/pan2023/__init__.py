"""Reproduce Pan, Li and Li (2023), presentation slides about the effect of swapping on a multinomial example."""
