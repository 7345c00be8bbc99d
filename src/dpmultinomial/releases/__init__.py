"""The room that opens confidential files: reads them once, draws noise nobody can repeat, writes a public file.

Nothing else in the library opens a confidential file. `make` makes a release or finds it made; `check` says everything
that is wrong with its settings before any confidential file is opened. Needs the extra ``releases``.
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__, {"make": "room", "check": "room"})
