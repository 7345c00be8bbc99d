"""The package that opens confidential files: reads them once, draws noise nobody can repeat, writes a public file.

Nothing else in the library opens a confidential file. `room.make` makes a release or finds it made; `room.check` says
everything that is wrong with its settings before any confidential file is opened. Needs the extra ``releases``.
"""
