"""Checks of the workflow on a cluster, each of which returns a line of the table or fails, and runs of Snakemake as
users start them, on the cluster or on this machine, with their submissions.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from reproduction import smoke

from .single_node import SingleNode

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


TOY = Path(__file__).with_name("Snakefile")
MOST_SUBMISSIONS, SHARDS = 45, 3
# What holds seconds, and what is judged by them.
_NOT_COMPARED = ("timings", "balmat2018/figure_3", "balmat2018/table_2", "agreement", "provenance", "effective")
Line = tuple[str, str]


def made(folder: Path) -> Path:
    """Return a new folder."""
    folder.mkdir(parents=True)
    return folder


def memory(folder: Path, slurm: SingleNode) -> Line:
    """Check that a job that was killed for exceeding its memory gets more at its second attempt."""
    run = Run(made(folder), TOY, ("hungry.txt",))
    code = run.ended(600)
    asked = [job["ReqTRES"] if "ReqTRES" in job else job.get("MinMemoryNode", "") for job in _jobs(run, slurm)]
    memory_asked = [part for text in asked for part in text.split(",") if "mem" in part or part.endswith("M")]
    assert code == 0, run.text()
    assert (folder / "hungry.txt").is_file()
    assert len(run.submitted()) == 2, run.text()
    assert len(set(memory_asked)) == 2, asked
    return "over its memory", f"attempts asked for {', '.join(memory_asked)}; the second ended well"


def together(folder: Path, slurm: SingleNode) -> Line:
    """Check that twelve quick jobs share two submissions of the shipped profile, each with at most two cores."""
    run = Run(made(folder), TOY, ("quick",))
    assert run.ended(600) == 0, run.text()
    asked = [int(job["NumCPUs"]) for job in _jobs(run, slurm)]
    assert len(run.submitted()) == 2, run.text()
    assert max(asked) <= 2, asked
    assert len(list(folder.glob("quick/*.txt"))) == 12
    return "quick jobs", f"12 in {len(asked)} submissions, of {' and '.join(map(str, asked))} cores"


def cancelled(folder: Path, slurm: SingleNode) -> Line:
    """Check that a cancelled job is submitted again."""
    run = Run(made(folder), TOY)
    run.until(lambda: any(state == "RUNNING" for _, state, _ in slurm.queue()))
    victim = next(job for job, state, _ in slurm.queue() if state == "RUNNING")
    subprocess.run(["scancel", victim], check=True)
    assert run.ended(600) == 0, run.text()
    assert len(run.submitted()) == 5, run.text()  # four jobs and one again
    return "cancelled manually", f"job {victim} was submitted again; 4 jobs, {len(run.submitted())} submissions"


def controller_killed(folder: Path, slurm: SingleNode) -> Line:
    """Check that after SIGKILL of the controller the same command continues, and that no job runs twice at a time."""
    first = Run(made(folder), TOY)
    first.until(lambda: len(first.submitted()) == 4 and any(s == "RUNNING" for _, s, _ in slurm.queue()))
    first.killed()
    left = [job for job, state, _ in slurm.queue() if state in ("RUNNING", "PENDING")]
    second = Run(folder, TOY)
    second.until(lambda: second.submitted())
    beside = {job for job, state, _ in slurm.queue() if state in ("RUNNING", "PENDING")} & set(left)
    assert second.ended(600) == 0, second.text()
    assert left, "the controller was killed too late"
    assert not beside, f"{beside} of the killed run ran beside the new ones"
    assert "queued jobs of a killed run" in second.text()
    assert sorted(path.name for path in (folder / "slept").iterdir()) == [f"{i}.txt" for i in range(4)]
    return "controller killed", f"{len(left)} orphans cancelled before {len(second.submitted())} new submissions"


def logs(folder: Path) -> Line:
    """Check that the log of a failed job is where the message states, and contains the reason."""
    run = Run(made(folder), TOY, ("broken.txt",))
    assert run.ended(600) != 0
    found = [log for _, log in run.submitted()]
    assert found, run.text()
    for job, log in run.submitted():
        path = Path(str(log).replace("%j", job))
        assert path.is_file(), f"{path} is named, and is not there"
        assert "the reason stands here" in path.read_text()
    return "logs", f"{len(found)} failed attempts, each with its log where the message says"


def whole(folder: Path, local: Path | None, papers: list[str]) -> list[Line]:
    """Run the smoke configuration: number of submissions, and the same bytes as a run on this machine."""
    settings = smoke.configuration() | {"shards": SHARDS, "run": papers}
    here, there = local or made(folder / "local"), made(folder / "cluster")
    if local is None:
        (here / "config.yaml").write_text(yaml.safe_dump(settings))
        run = Run(here, ROOT / "Snakefile", cluster=False)
        assert run.ended() == 0, run.text()[-5000:]
    (there / "config.yaml").write_text(yaml.safe_dump(settings))
    started = time.monotonic()
    run = Run(there, ROOT / "Snakefile")
    assert run.ended() == 0, run.text()[-5000:]
    minutes = (time.monotonic() - started) / 60
    submitted = run.submitted()
    assert len(submitted) <= MOST_SUBMISSIONS, f"{len(submitted)} submissions"
    compared = _compared(here, there)
    lines = [(f"{len(submitted)} submissions", ", ".join(f"{n} {rule}" for rule, n in _by_rule(run).items()))]
    return [*lines, ("same bytes", f"{compared} tables and figures as on this machine, {minutes:.1f} minutes")]


def _compared(here: Path, there: Path) -> int:
    files = [p for kind in ("results/*/*.csv", "figures/*/*.png") for p in sorted(here.glob(kind))]
    files = [path for path in files if not any(word in str(path) for word in _NOT_COMPARED)]
    others = {path: there / path.relative_to(here) for path in files}
    apart = [other for path, other in others.items() if path.read_bytes() != other.read_bytes()]
    assert not apart, apart
    assert files
    return len(files)


def _by_rule(run: Run) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, log in run.submitted():
        rule = next(p.name for p in log.parents if p.name.startswith(("rule_", "group_")))
        counts[rule] = counts.get(rule, 0) + 1
    return counts


def _jobs(run: Run, slurm: SingleNode) -> list[dict[str, str]]:
    own = {job for job, _ in run.submitted()}
    return [job for job in slurm.finished() if job.get("JobId") in own]
