"""Raim (2021): direct sampling in Bayesian hierarchical models for privacy protected data (presentation slides)."""
