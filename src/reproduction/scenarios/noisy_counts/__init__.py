"""Scenario for counts to which independent noise was added."""
