"""Files that users bring: one strict CSV reader; whether a file may be opened at all is decided by who opens it."""
