"""Configuration by the user, with a schema, checks, overlays, and estimates of the computing time."""
