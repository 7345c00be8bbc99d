"""Rates of sudden infant deaths in North Carolina, with and without protection of the counts."""
