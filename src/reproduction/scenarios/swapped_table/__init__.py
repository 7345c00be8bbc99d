"""Tables whose records had one variable exchanged."""
