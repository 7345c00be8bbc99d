"""Command ``python -m reproduction.report``, which writes the report of the run in the current folder from the existing
results.
"""

from pathlib import Path

from .pages import write

if __name__ == "__main__":
    print(write(Path(), Path("results/report")))
