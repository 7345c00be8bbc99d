"""Program that Snakemake uses as its shell, and that runs Python jobs as forks of one process. The shell sends Python
jobs to the process that has loaded all modules, and all other jobs to bash.

Snakemake starts the script as ``<this> python socket -c command`` instead of ``bash -c command``. The script waits for
its job and ends with the job's exit code. If the script is killed, its job is killed too. The script uses only the
standard library, because it is started for every job.
"""

import json
import os
import shlex
import signal
import socket
import sys

_PREFIX = "set -euo pipefail;"
_SCRIPTS = "/.snakemake/scripts/"
_APART = ".release.py"  # confidential data are read in a separate process
_ALONE = "OMP_NUM_THREADS"  # read once when NumPy is loaded, so jobs use as many threads as the loaded process


def script_of(command: str, python: str) -> str:
    """Return the path of the script that a command runs with the current Python interpreter, or an empty string for all
    other commands.
    """
    try:
        words = shlex.split(command.removeprefix(_PREFIX))
    except ValueError:
        return ""
    good = len(words) == 2 and words[0] == python and _SCRIPTS in words[1] and words[1].endswith(".py")
    return words[1] if good and not words[1].endswith(_APART) else ""


def main(python: str, place: str, flag: str, command: str) -> int:
    """Run a job, and return its exit code or, if a signal ended the job, 128 plus the number of the signal."""
    # the signal may arrive just before a wait, and would then not interrupt it,
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # because Python handles signals between calls
    script = script_of(command, python)
    if flag != "-c" or not script or os.environ.get(_ALONE) != "1":
        os.execv("/bin/bash", ["bash", flag, command])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        try:
            server.connect(place)
            request = json.dumps({"script": script, "folder": os.getcwd(), "environment": dict(os.environ)}).encode()
            socket.send_fds(server, [b"job\n"], [0, 1, 2])
            server.sendall(len(request).to_bytes(8, "big") + request)
        except OSError as error:
            print(f"The loaded process has ended ({error}); this job starts a new Python process.", file=sys.stderr)
            os.execv("/bin/bash", ["bash", flag, command])
        try:
            answer = server.recv(16)
        except OSError:
            answer = b""
    if not answer:
        print(f"{script}: the process that ran this job has ended, so the job has failed.", file=sys.stderr)
        return 1
    code = int(answer)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
