"""Scenario for private models, which are naive Bayes classifiers or Bayesian networks."""
