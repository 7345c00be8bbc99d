"""Algorithms that are used only by this paper: an audit of the swapping mechanism."""
