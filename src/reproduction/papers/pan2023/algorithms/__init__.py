"""Algorithms used only by this paper: an audit of the swapping mechanism."""
