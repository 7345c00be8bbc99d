"""Users' own cases: scenarios, grids and batches of the papers' analyses."""
