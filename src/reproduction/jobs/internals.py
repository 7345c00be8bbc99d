"""Read and change internal attributes of Snakemake. No other module of the project uses these attributes.

These attributes are not part of Snakemake's public interface and are specific to the pinned version
(``envs/run.lock``). ``tests/unit/jobs`` and ``tests/workflow`` test each function with this version.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def without_rate_limit(workflow: Any) -> None:
    """Remove Snakemake's limit on the number of jobs per second, because no option removes this limit.

    The limit (100 per second, which is never reached) starts a timer at every pass of the scheduler, and every timer
    causes another pass a second later. After n jobs, the scheduler would run n times per second and keep a core busy.

    Parameters
    ----------
    workflow : Snakemake's Workflow, with its scheduler.
    """
    workflow.scheduler.job_rate_limiter = None


def planned(workflow: Any) -> Iterator[tuple[int, str]]:
    """Yield (job ID, rule name) for every job that a run will start.

    Parameters
    ----------
    workflow : Snakemake's Workflow, after planning.
    """
    for job in workflow.dag.needrun_jobs():
        yield workflow.dag.jobid(job), job.rule.name


def runs_here(workflow: Any) -> bool:
    """Return whether Snakemake starts the jobs on the current machine and in the current environment, without a
    cluster, a container or a dry run.
    """
    elsewhere = workflow.non_local_exec_or_dryrun or workflow.deployment_settings.deployment_method
    return bool(workflow.is_main_process and not elsewhere)


def shows_progress(workflow: Any) -> bool:
    """Return whether the user wants progress messages, that is, uses neither ``--quiet progress`` nor ``--quiet
    all``.
    """
    return not {"PROGRESS", "ALL"} & {kind.name for kind in workflow.output_settings.quiet or ()}


def slots(workflow: Any) -> int:
    """Return the maximum number of jobs that run at the same time. This is the number of submissions on a cluster, or
    the number of cores of a single machine.
    """
    settings = workflow.resource_settings
    return settings.nodes or settings.cores or 1


def asked_targets() -> list[str]:
    """Return the targets on the command line that started the current process. The list is empty for the process of a
    job or another program.
    """
    program, *words = sys.argv
    if Path(program).name != "snakemake" and Path(program).parent.name != "snakemake":
        return []
    if not words or "--target-jobs" in words:
        return []
    from snakemake.cli import parse_args

    return list(parse_args(words)[1].targets or [])
