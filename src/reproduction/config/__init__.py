"""Configuration files of the user: schema, checks, overlays, and estimates of the computing time."""
