"""Archive of a run as one file for a journal or a library: sources, locks, configuration, results, figures, checksums.

``python -m reproduction.archive`` makes it from the run in this folder; ``python -m reproduction.archive verify``
checks an unpacked archive. Confidential files are outside these folders and are never opened.
"""
