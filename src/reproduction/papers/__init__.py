"""One folder a paper, found by being there; what belongs in it: ``reproduction.paper``."""
