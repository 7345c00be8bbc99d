"""Functions that audit the privacy loss of swapping and are used only for this paper."""
