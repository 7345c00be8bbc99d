"""What can be inferred from a protected release, one package a problem."""
