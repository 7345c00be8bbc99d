"""Pan, Li, Li (2023): effect of swapping on the multinomial example (presentation slides)."""
