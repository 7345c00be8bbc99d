"""Scenarios defined by users: common code for a single case, a grid and a batch; each kind of scenario is a folder in
this package.
"""
