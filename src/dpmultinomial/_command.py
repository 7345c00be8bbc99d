"""Entry point of the command ``dpm``, which runs the command-line interface of the full project. If only the library is
installed, the command explains how to install the project.
"""

import sys
from importlib import import_module

PROGRAM = "reproduction.command"  # module in the project's folder; the wheel contains only the library
ALONE = """dpm: only the library is installed. The command requires the project (scenarios, pages, plans, releases).
In a clone of the project: make env, . .venv/bin/activate, then dpm. In Python, with the installed library:
    import dpmultinomial as dpm
    dpm.posterior(dpm.Release({"met": 12.3, "not_met": -4.1}, mechanism=dpm.Laplace(scale=2.0), total=50)).summary()"""


def main() -> None:
    """Run the command of the full project, and raise SystemExit with instructions if the project is not installed."""
    try:
        module = import_module(PROGRAM)
    except ModuleNotFoundError as error:
        if error.name not in (PROGRAM, PROGRAM.partition(".")[0]):
            raise
        sys.exit(ALONE)
    module.main()
