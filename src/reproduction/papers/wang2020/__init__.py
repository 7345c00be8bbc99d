"""Wang (2020): differentially private counts with additive constraints."""
