"""Write a run as a single archive file for a journal or a library. The archive contains sources, lock files,
configuration, results, figures and checksums.

``python -m reproduction.archive`` writes the archive of the run in this folder, and
``python -m reproduction.archive verify`` checks an unpacked archive. Confidential files are outside these folders and
are never opened.
"""
