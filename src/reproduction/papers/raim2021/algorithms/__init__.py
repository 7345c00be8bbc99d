"""Samplers that are used only for the reproduction of this paper: a direct sampler, samplers for censored statistics,
and a baseline.
"""
