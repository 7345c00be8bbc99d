"""Algorithms that are used only by this paper, which are the privacy accounting by Gohari et al."""
