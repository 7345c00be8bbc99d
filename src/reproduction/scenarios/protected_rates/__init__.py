"""Scenario for the rates or shares of many areas, which are estimated from protected counts with exposures and
covariates.
"""
