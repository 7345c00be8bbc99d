"""Write a run as one archive file for a journal or a library, with sources, lock files, configuration, results, figures
and checksums.

``python -m reproduction.archive`` makes it from the run in this folder; ``python -m reproduction.archive verify``
checks an unpacked archive. Confidential files are outside these folders and are never opened.
"""
