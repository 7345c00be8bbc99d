"""What every posterior of the library is asked for: laws of named quantities, by one protocol."""
