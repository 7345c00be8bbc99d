"""Algorithms that are used only by this paper: privacy accounting by Gohari et al."""
