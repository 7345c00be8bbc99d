"""Scenario for counts with independent noise."""
