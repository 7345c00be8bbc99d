"""Reproduce Wang (2020), a paper about differentially private counts with additive constraints."""
