"""What a release refuses, in words that are safe to show."""


class Refused(ValueError):
    """A release is refused: the reason and the way out, nothing confidential."""
