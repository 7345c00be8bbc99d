"""Write the report of a run, which is a folder of HTML pages that can be opened from disk without a network.

``files`` reads the results of a run, ``papers`` and ``scenarios`` prepare the content of pages, and ``pages`` renders
the templates in this folder. No confidential data are read, only the two public files of a release.

The command ``python -m reproduction.report`` in the folder of a run writes ``results/report/`` from the existing
results.
"""

from .pages import write

__all__ = ["write"]
