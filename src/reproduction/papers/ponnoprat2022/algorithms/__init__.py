"""Algorithms used only by this paper: privacy accounting by Gohari et al."""
