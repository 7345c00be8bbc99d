"""Algorithms that this paper alone needs: an audit of the swapping mechanism."""
