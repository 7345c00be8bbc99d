"""Scenario for models that were released with differential privacy, which are naive Bayes classifiers or Bayesian
networks.
"""
