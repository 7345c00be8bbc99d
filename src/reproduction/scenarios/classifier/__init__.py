"""Scenario for naive Bayes classifiers or Bayesian networks that were released with differential privacy."""
