"""Reproduction of papers, with one folder per paper and the code that all papers share (configuration, tables,
provenance, agreement).

The package `dpmultinomial` contains the methods and does not import this package. The workflow is in ``Snakefile``.
"""
