"""Scenario for the noisy measurement files of the 2020 Census of the United States."""
