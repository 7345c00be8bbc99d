"""Coverage and width of confidence intervals and credible intervals of one count, at every true count."""
