"""Audit of the privacy loss of swapping, in functions that only this paper uses."""
