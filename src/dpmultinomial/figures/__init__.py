"""One module per paper: tables in, matplotlib figures out. Nothing here computes a result."""
