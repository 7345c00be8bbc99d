"""Reproduction of the papers: one folder per paper, and the code that all papers share (configuration, tables,
provenance, agreement).

The methods are in `dpmultinomial`, which does not import this package; the workflow is in ``Snakefile``.
"""
