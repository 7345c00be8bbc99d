"""What a user configures: schema, checks, overlays, estimates of work."""
