"""The one place that writes into Snakemake's internals, and why; ``tests/workflow`` tests it on the pinned version."""

from typing import Any


def without_rate_limit(workflow: Any) -> None:
    """Take away the limit of jobs per second, which no option of Snakemake switches off.

    The limit (100 per second, never reached here) starts a timer at every pass of the scheduler, and every timer causes
    another pass a second later: after n jobs the scheduler runs n times per second and keeps a core busy.

    Parameters
    ----------
    workflow : of Snakemake 9, with its scheduler.
    """
    workflow.scheduler.job_rate_limiter = None
