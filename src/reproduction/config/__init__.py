"""User configuration: schema, checks, overlays and estimates of work."""
