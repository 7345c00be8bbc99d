"""Scenario for the rates or shares of many areas, estimated from protected counts with exposures and covariates."""
