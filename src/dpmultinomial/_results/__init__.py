"""Results of all posteriors of the library: distributions of named quantities with one common interface."""
