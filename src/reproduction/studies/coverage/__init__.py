"""How often intervals hold the true count."""
