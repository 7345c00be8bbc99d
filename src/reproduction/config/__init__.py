"""Configuration by the user: schema, checks, overlays, and estimates of the work."""
