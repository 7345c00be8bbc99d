"""Posterior distributions of rates (events per exposure) and shares, given protected counts and covariates."""
