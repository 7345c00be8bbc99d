"""Reproductions of papers, in one folder per paper with the contents that are described in ``reproduction.paper``. A
paper is recognised by its folder.
"""
