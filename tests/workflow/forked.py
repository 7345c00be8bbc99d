"""Snakemake's own `main` in a fork of a process that has loaded it: its import takes longer than most runs of a test.

Little is imported here, since a child does it each time.
"""

import os
import sys
from multiprocessing import get_context

_SERVER = get_context("forkserver")
_SERVER.set_forkserver_preload(
    [  # and what it loads later on, in every run
        *("snakemake.cli", "snakemake_executor_plugin_slurm", "snakemake.dag", "snakemake.notebook"),
        *("snakemake.report.html_reporter", "jinja2.ext", "jsonschema", "nbformat", "yaml"),
        *("snakemake.profiles", "snakemake.storage", "smart_open", "argparse_dataclass", "packaging.version"),
    ]
)


def snakemake(arguments, output, variables, folder="."):
    """What ``python -m snakemake`` does in `folder` with these arguments and this environment; its exit code. Both its
    streams go to the file `output`."""
    child = _SERVER.Process(target=_be_snakemake, args=(arguments, str(output), variables, str(folder)))
    child.start()
    child.join()
    return child.exitcode


def _be_snakemake(arguments, output, variables, folder):
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["snakemake", *arguments]
    from snakemake.cli import main

    main(arguments)
