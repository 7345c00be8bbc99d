"""A run as one file that a journal or a library keeps: sources, locks, configuration, results, figures, checksums.

``python -m reproduction.archive`` makes it from the run in this folder, ``python -m reproduction.archive verify``
checks one that was unpacked. What is confidential lies elsewhere and is never looked at.
"""
