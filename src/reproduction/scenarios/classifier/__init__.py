"""Private models: naive Bayes classifiers and Bayesian networks."""
