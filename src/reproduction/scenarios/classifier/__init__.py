"""Private models: naive Bayes, Bayesian networks."""
