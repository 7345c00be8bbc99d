"""Runs of Snakemake as users start them, on the cluster or on this machine, with their submissions."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROFILE = ROOT / "workflow/profiles/slurm"
# What differs from the shipped profile on one small node without accounting: how often states are asked, and waiting.
HERE = ("--slurm-no-account", "--slurm-init-seconds-before-status-checks", "3", "--latency-wait", "20")
STARTED: list["Run"] = []
_SUBMITTED = re.compile(r"Job (\S+) has been submitted with SLURM jobid (\d+) \(log: (\S+)\)")


def variables() -> dict[str, str]:
    """Return this process's environment with this source tree and this Python first."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"PATH": path, "PYTHONPATH": str(ROOT / "src")}


@dataclass
class Run:
    """A run of ``python -m reproduction.run`` in a folder."""

    folder: Path
    snakefile: Path
    targets: tuple[str, ...] = ()
    cluster: bool = True
    output: Path = field(init=False)

    def __post_init__(self) -> None:
        number = len(list(self.folder.glob("run_*.out")))
        self.output = self.folder / f"run_{number}.out"
        where = ["--workflow-profile", str(PROFILE), *HERE] if self.cluster else ["--cores", str(os.cpu_count())]
        command = [sys.executable, "-m", "reproduction.run", "--snakefile", str(self.snakefile)]
        self.process = subprocess.Popen(
            [*command, *where, "--rerun-incomplete", *self.targets],
            **{"cwd": self.folder, "env": variables(), "stdout": self.output.open("w"), "stderr": subprocess.STDOUT},
            start_new_session=True,
        )
        STARTED.append(self)

    def until(self, happened: Callable[[], object], seconds: float = 900) -> None:
        """Wait until a condition is true, or the run has ended.

        Raises
        ------
        TimeoutError
            If neither happens within `seconds`.
        """
        deadline = time.monotonic() + seconds
        while not happened() and self.process.poll() is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {seconds} s:\n{self.text()[-3000:]}")
            time.sleep(0.3)

    def ended(self, seconds: float = 3600) -> int:
        """Return the exit code after the end of the run, which is interrupted after `seconds`."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGINT)
            return self.process.wait()

    def killed(self) -> None:
        """Kill the controller; its jobs in the queue continue."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def text(self) -> str:
        """Return the output of the run."""
        return self.output.read_text()

    def submitted(self) -> list[tuple[str, Path]]:
        """Return (id in the queue, log) of every submission, in order."""
        return [(job, Path(log)) for _, job, log in _SUBMITTED.findall(self.text())]
