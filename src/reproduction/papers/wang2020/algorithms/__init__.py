"""Algorithms used only by this paper: moments of its releases, projections onto a total."""
