"""Classes for the results of inference: distributions of named quantities with one common interface."""
