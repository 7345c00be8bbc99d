"""What the workflow reads of Snakemake's internals and writes into them: all of it is here.

Snakemake promises none of these attributes. They are those of the pinned version (``envs/run.lock``), on which
``tests/unit/jobs`` and ``tests/workflow`` test what each function does.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def without_rate_limit(workflow: Any) -> None:
    """Take away the limit of jobs per second, which no option of Snakemake switches off.

    The limit (100 per second, never reached here) starts a timer at every pass of the scheduler, and every timer causes
    another pass a second later: after n jobs the scheduler runs n times per second and keeps a core busy.

    Parameters
    ----------
    workflow : of Snakemake, with its scheduler.
    """
    workflow.scheduler.job_rate_limiter = None


def planned(workflow: Any) -> Iterator[tuple[int, str]]:
    """Number and rule of every job that a run will start.

    Parameters
    ----------
    workflow : of Snakemake, with its jobs known.
    """
    for job in workflow.dag.needrun_jobs():
        yield workflow.dag.jobid(job), job.rule.name


def runs_here(workflow: Any) -> bool:
    """Whether this process starts the jobs on this machine, in this environment: no cluster, container or dry run."""
    elsewhere = workflow.non_local_exec_or_dryrun or workflow.deployment_settings.deployment_method
    return bool(workflow.is_main_process and not elsewhere)


def shows_progress(workflow: Any) -> bool:
    """Whether the user wants to see how far a run is (not ``--quiet progress`` or ``all``)."""
    return not {"PROGRESS", "ALL"} & {kind.name for kind in workflow.output_settings.quiet or ()}


def slots(workflow: Any) -> int:
    """How many jobs run at the same time: submissions on a cluster, cores here."""
    settings = workflow.resource_settings
    return settings.nodes or settings.cores or 1


def asked_targets() -> list[str]:
    """Targets of the command line that started this process; none if it is a job's process, or not Snakemake's."""
    program, *words = sys.argv
    if Path(program).name != "snakemake" and Path(program).parent.name != "snakemake":
        return []
    if not words or "--target-jobs" in words:
        return []
    from snakemake.cli import parse_args

    return list(parse_args(words)[1].targets or [])
