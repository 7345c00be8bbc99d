"""Noisy counts with an exact total: shares in the file and rates of the multinomial that it is a sample of."""
