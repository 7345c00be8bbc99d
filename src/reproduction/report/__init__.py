"""The report of a run: a folder of pages that open from disk, without a network.

``files`` reads what a run made, ``papers``, ``scenarios`` and ``releases`` put it into words, ``pages``
renders the templates beside this module. Nothing confidential is read: of a release its two public files alone.

``python -m reproduction.report`` in the folder of a run writes ``results/report/`` from what is there.
"""

from .pages import write

__all__ = ["write"]
