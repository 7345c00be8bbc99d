"""Coverage of intervals for true counts."""
