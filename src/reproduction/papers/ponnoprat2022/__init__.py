"""Ponnoprat (2022): the Dirichlet mechanism for differentially private KL divergence minimisation."""
