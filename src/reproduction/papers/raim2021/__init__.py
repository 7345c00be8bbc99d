"""Reproduce Raim (2021), presentation slides about direct sampling in Bayesian hierarchical models for privacy
protected data.
"""
