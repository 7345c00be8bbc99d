"""Algorithms that are used only by this paper, which are an audit of the privacy loss of the swapping mechanism."""
