"""Common code for scenarios defined by users, which are single cases, grids or batches. Each kind of scenario is a
folder in this package.
"""
