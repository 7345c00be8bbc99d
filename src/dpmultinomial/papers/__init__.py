"""One subpackage per paper: pure functions from a scenario and a Generator to tidy tables."""
