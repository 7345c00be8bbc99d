"""The shell of a run whose jobs are forks: Python jobs go to the process that has loaded everything, the rest to bash.

Snakemake starts it as ``<this> python socket -c command`` in place of ``bash -c command``. It waits as long as its job
runs and ends as the job ended; where it is killed its job is killed too. The standard library alone: it is started for
every job.
"""

import json
import os
import shlex
import signal
import socket
import sys

_PREFIX = "set -euo pipefail;"
_SCRIPTS = "/.snakemake/scripts/"
_APART = ".release.py"  # confidential data: a process of its own
_ALONE = "OMP_NUM_THREADS"  # linear algebra reads it once, when it is loaded: as many threads as the loaded process has


def script_of(command: str, python: str) -> str:
    """The script that a command runs with this Python and nothing else; empty for any other command."""
    try:
        words = shlex.split(command.removeprefix(_PREFIX))
    except ValueError:
        return ""
    good = len(words) == 2 and words[0] == python and _SCRIPTS in words[1] and words[1].endswith(".py")
    return words[1] if good and not words[1].endswith(_APART) else ""


def main(python: str, place: str, flag: str, command: str) -> int:
    """Have the job done; its exit code, as a shell says it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it may come just before a wait, which it
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # would then not end: Python looks for it between two calls
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
            print(f"The loaded process is gone ({error}); this job starts one of its own.", file=sys.stderr)
            os.execv("/bin/bash", ["bash", flag, command])
        try:
            answer = server.recv(16)
        except OSError:
            answer = b""
    if not answer:
        print(f"{script}: the process that its fork belonged to is gone, and the job with it.", file=sys.stderr)
        return 1
    code = int(answer)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
