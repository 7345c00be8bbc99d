"""Reproduce Ponnoprat (2022), a paper about the Dirichlet mechanism for differentially private KL divergence
minimisation.
"""
