"""Users' own questions: one machinery for a case, a grid and a batch; a kind of scenario is a folder below."""
