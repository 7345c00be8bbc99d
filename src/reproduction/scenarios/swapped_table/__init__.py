"""Scenario for tables in which the values of one variable were swapped between records."""
