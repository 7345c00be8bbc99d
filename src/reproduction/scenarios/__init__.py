"""Common code for the scenarios that users define, which are single cases, grids or batches. Each kind of scenario is a
folder in this package.
"""
