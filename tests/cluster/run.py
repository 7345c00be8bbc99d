"""``make cluster-test``: the workflow on a real Slurm of one node, which is started and stopped on this machine.

python -m tests.cluster.run [--papers a,b] [--local FOLDER] [--only toys|smoke]
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from reproduction import paper

from . import checks
from .checks import STARTED
from .single_node import SingleNode, why_not


def main() -> None:
    """Run the checks and print their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", default=",".join(paper.discover()), help="papers of the smoke configuration")
    parser.add_argument("--local", type=Path, help="a finished run of the same configuration on this machine")
    parser.add_argument("--only", choices=("toys", "smoke"), help="one half of the checks")
    asked = parser.parse_args()
    if reason := why_not():
        sys.exit(f"make cluster-test: {reason}. Nothing was run.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended; the Slurm of this test is taken down"))
    with tempfile.TemporaryDirectory() as name, SingleNode(Path(name, "slurm")) as slurm:
        try:
            _checks(Path(name), slurm, asked)
        finally:
            for run in STARTED:
                run.killed()


def _checks(folder: Path, slurm: SingleNode, asked: argparse.Namespace) -> None:
    if asked.only != "smoke":
        for check in (checks.together, checks.memory, checks.cancelled, checks.controller_killed):
            _print(check(folder / check.__name__, slurm))
        _print(checks.logs(folder / "logs"))
    if asked.only != "toys":
        for line in checks.whole(folder / "smoke", asked.local, asked.papers.split(",")):
            _print(line)


def _print(line: checks.Line) -> None:
    print(f"{line[0]:<22}{line[1]}", flush=True)


if __name__ == "__main__":
    main()
