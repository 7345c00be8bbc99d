"""Strict CSV reader and other readers of files that users provide. The caller decides whether a file may be opened."""
