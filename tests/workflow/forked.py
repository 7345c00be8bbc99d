"""Snakemake's `main` in a fork of a process that has loaded Snakemake: its import takes longer than most test runs.

Few modules are imported here, because a child process imports them each time.
"""

import atexit
import os
import sys
import tempfile
from contextlib import chdir
from functools import cache
from multiprocessing import get_context
from pathlib import Path

_SERVER = get_context("forkserver")
_SERVER.set_forkserver_preload(
    [  # and modules that it loads later in every run
        *("snakemake.cli", "snakemake_executor_plugin_slurm", "snakemake.dag", "snakemake.notebook"),
        *("snakemake.report.html_reporter", "jinja2.ext", "jsonschema", "nbformat", "yaml"),
        *("snakemake.profiles", "snakemake.storage", "smart_open", "argparse_dataclass", "packaging.version"),
        *("scipy.special", "platformdirs", "graphlib"),  # for the checks of a configuration
    ]
)


def snakemake(arguments, output, variables, folder=".", shell=""):
    """Run ``python -m snakemake`` in `folder` with these arguments and environment; return the exit code. Both streams
    go to the file `output`. If the run has too few jobs for its own loaded process, `shell` starts the jobs, if it is
    given."""
    return _ended(_be_snakemake, arguments, str(output), variables, str(folder), shell)


def make(arguments, output, variables, folder, shell=""):
    """Run ``python -m reproduction.run`` in the same way; the Snakemake that it becomes is the loaded one."""
    return _ended(_be_run, arguments, str(output), variables, str(folder), shell)


@cache
def shell_of_loaded():
    """Start a shell whose Python jobs are forks of a process of these tests that has loaded most imported modules."""
    from reproduction import kind
    from reproduction.jobs import forks

    scenarios = [name for found in kind.discover().values() for name in found.modules]
    further = [*scenarios, "reproduction.scenarios.page", "reproduction.report", "reproduction.verdicts.summary"]
    folder = tempfile.TemporaryDirectory(prefix="dpmultinomial-")
    with chdir(folder.name):  # not the folder of a run, in which the process would be ended as a leftover
        shell = forks.start(Path(folder.name), [*forks._FIRST, *further])
    process, _ = forks._running.pop()  # the process is used by all runs

    def end():
        process.stdin.close()
        process.wait()
        folder.cleanup()

    atexit.register(end)
    return str(shell)


def _ended(function, *arguments):
    child = _SERVER.Process(target=function, args=arguments)
    child.start()
    child.join()
    return child.exitcode


def _be_run(arguments, output, variables, folder, shell):
    _stand_in(output, variables, folder)
    sys.path[:0] = variables["PYTHONPATH"].split(os.pathsep)
    from reproduction import run

    def become(python, command):
        assert (python, command[:3]) == (sys.executable, [sys.executable, "-m", "snakemake"])
        _main(command[3:], shell)

    os.execv = become
    run.main(arguments)


def _be_snakemake(arguments, output, variables, folder, shell):
    _stand_in(output, variables, folder)
    _main(arguments, shell)


def _stand_in(output, variables, folder):
    """Set the state of this process as if it had been started in this way."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)


def _main(arguments, shell):
    sys.argv = ["snakemake", *arguments]
    if shell:
        _hand_over_to(shell)
    from snakemake.cli import main

    main(arguments)


def _hand_over_to(shell):
    """Run jobs as forks even if the run does not start a loaded process, unless kernels are compiled for them."""
    from snakemake.shell import shell as of_snakemake

    from reproduction.jobs import forks

    begin = forks.begin

    def begun(workflow, modules):
        own = begin(workflow, modules)
        apart = workflow.non_local_exec_or_dryrun or not workflow.is_main_process
        compiles = any(job.rule.name == "compile_kernel" for job in workflow.dag.needrun_jobs())
        if not (own or apart or compiles):
            of_snakemake.executable(shell)
        return own

    forks.begin = begun
