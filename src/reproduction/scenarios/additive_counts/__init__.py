"""Scenario for counts that are released together with a total that equals their sum."""
