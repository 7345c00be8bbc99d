"""Balmat, Barrientos, Reiter (2018): multinomial probabilities in differentially private verification servers."""
