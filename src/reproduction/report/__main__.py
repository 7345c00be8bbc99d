"""``python -m reproduction.report``: the report of the run in this folder, from whatever of it is there."""

from pathlib import Path

from .pages import write

if __name__ == "__main__":
    print(write(Path(), Path("results/report")))
