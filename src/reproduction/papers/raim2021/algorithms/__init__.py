"""Samplers that only this paper uses: a direct sampler, samplers for censored statistics, and a baseline."""
