"""Reproductions of papers, with one folder per paper. The contents of a folder are described in ``reproduction.paper``.
A paper is recognised by its folder.
"""
