"""Noisy measurement files of the 2020 Census: layout, cells, geographies, counts of places, synthetic files."""
