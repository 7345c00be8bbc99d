"""Reproductions of papers, with one folder per paper, whose contents are described in ``reproduction.paper``. A paper
is recognised by its folder.
"""
