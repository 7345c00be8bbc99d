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
    return _ended(_be_snakemake, arguments, str(output), variables, str(folder))


def make(arguments, output, variables, folder):
    """What ``python -m reproduction.run`` does, likewise; the Snakemake that it becomes is the loaded one."""
    return _ended(_be_run, arguments, str(output), variables, str(folder))


def _ended(function, *arguments):
    child = _SERVER.Process(target=function, args=arguments)
    child.start()
    child.join()
    return child.exitcode


def _be_run(arguments, output, variables, folder):
    _stand_in(output, variables, folder)
    sys.path[:0] = variables["PYTHONPATH"].split(os.pathsep)
    from reproduction import run

    def become(python, command):
        assert (python, command[:3]) == (sys.executable, [sys.executable, "-m", "snakemake"])
        _main(command[3:])

    os.execv = become
    run.main(arguments)


def _be_snakemake(arguments, output, variables, folder):
    _stand_in(output, variables, folder)
    _main(arguments)


def _stand_in(output, variables, folder):
    """As if this process had been started so."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)


def _main(arguments):
    sys.argv = ["snakemake", *arguments]
    from snakemake.cli import main

    main(arguments)
