"""Protected counts as rates: counts of events over an exposure, with covariates."""
