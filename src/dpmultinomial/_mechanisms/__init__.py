"""Classes of release mechanisms, with methods that draw releases and compute probabilities, variances and privacy
costs.
"""
