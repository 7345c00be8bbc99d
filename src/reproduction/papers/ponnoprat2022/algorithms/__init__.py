"""Algorithms used only by this paper: the accounting of Gohari et al."""
