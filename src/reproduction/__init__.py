"""The reproduction: one folder a paper, and what the papers share (configuration, tables, provenance, agreement).

The science is in `dpmultinomial`, which knows nothing of this package; the workflow around it is in ``Snakefile``.
"""
