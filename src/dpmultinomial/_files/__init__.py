"""Readers of files provided by users: one strict CSV reader; the caller decides whether a file may be opened."""
