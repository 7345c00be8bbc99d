"""Coverage of intervals for counts and rates, by the prior of the rates."""
