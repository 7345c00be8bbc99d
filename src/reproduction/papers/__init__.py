"""Reproductions of papers, in one folder per paper with the contents that ``reproduction.paper`` describes. A paper is
recognised by its folder.
"""
