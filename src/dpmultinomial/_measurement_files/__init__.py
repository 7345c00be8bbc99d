"""Noisy measurement files of the 2020 Census: layout, cells, geographies, and counts of geographic units."""
