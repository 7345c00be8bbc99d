"""Audit of the privacy loss of the swapping mechanism, which only this paper uses."""
