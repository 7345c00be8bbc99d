"""Readers of files that users provide: one strict CSV reader. The caller decides whether a file may be opened."""
