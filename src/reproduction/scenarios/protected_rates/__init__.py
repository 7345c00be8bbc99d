"""Rates or shares of many areas, by exposure and covariates, from protected counts."""
