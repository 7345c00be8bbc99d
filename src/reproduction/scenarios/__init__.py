"""Scenarios defined by users: common code for a case, a grid and a batch; each kind of scenario is a folder below."""
