"""Coverage of slopes and of rates from protected counts, by method."""
