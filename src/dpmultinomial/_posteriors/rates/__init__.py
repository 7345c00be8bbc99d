"""Posterior distributions of rates (events per exposure) and shares, given privacy-protected counts and covariates."""
