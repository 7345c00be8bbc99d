"""Server process that loads the modules of all Python jobs once and starts each job as a fork. Every such job is a fork
of this process, requested by `fork_client`.

``python -m reproduction.jobs.fork_server socket module ..`` is started by `forks`. The process and its jobs end when
the pipe at its standard input is closed, which happens whenever Snakemake ends. If a client ends, its job is killed. If
the server ends, the operating system kills its jobs.
"""

import atexit
import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_PATIENCE = 10.0  # number of seconds in which a client must send its request
_PR_SET_PDEATHSIG = 1
_SAFE_PATH = "PYTHONSAFEPATH"  # set: Python does not import modules in the folder of a script


def main(place: str, modules: list[str]) -> None:
    """Listen on a socket, load the modules, and serve requests until standard input is closed."""
    # ignore signals from the terminal, because Snakemake decides when its jobs end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(place)
    listener.listen(64)
    for module in modules:
        with suppress(Exception):  # the job that needs the module reports the error in its own log
            import_module(module)
    gc.collect()
    gc.freeze()
    Server(listener).serve()


class Server:
    """Server that runs each job in a forked process, and stores the connection to the client of each running job."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._jobs: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def serve(self) -> None:
        """Start a forked process for each client until standard input is closed. When a job ends, its exit code is sent
        to the client.
        """
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(ended, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _noted)
        for file in (self._listener, 0, ended):
            self._selector.register(file, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    return self._end()
                if key.fileobj == ended:
                    with suppress(BlockingIOError):
                        os.read(ended, 4096)
                    self._reap()
                elif key.fileobj is self._listener:
                    self._begin(self._listener.accept()[0])
                elif isinstance(key.fileobj, socket.socket):
                    self._left(key.fileobj)

    def _begin(self, client: socket.socket) -> None:
        """Start a forked process that runs the job of a new client."""
        try:
            client.settimeout(_PATIENCE)
            request, streams = _asked(client)
            client.settimeout(None)
        except (OSError, ValueError):
            client.close()
            return
        job = os.fork()
        if job == 0:
            self._be(request, streams)
        for stream in streams:
            os.close(stream)
        self._jobs[job] = client
        self._selector.register(client, selectors.EVENT_READ)

    def _be(self, request: dict[str, Any], streams: list[int]) -> None:
        """Run a job in the forked process, as if Python had been started with the script."""
        code = 1
        try:
            if self._libc:
                self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            for kind in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(kind, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            self._selector.close()
            self._listener.close()
            for client in self._jobs.values():
                client.close()
            code = run(request["script"], request["folder"], request["environment"])
        finally:
            os._exit(code)

    def _reap(self) -> None:
        """Send the exit codes of finished jobs to the clients that wait for them. For a job that was ended by a signal,
        the exit code is the negative signal number.
        """
        for job in [*self._jobs]:
            finished, status = os.waitpid(job, os.WNOHANG)
            if finished:
                client = self._jobs.pop(job)
                with suppress(KeyError):  # the client ended before its job
                    self._selector.unregister(client)
                with suppress(OSError):
                    client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
                client.close()

    def _left(self, client: socket.socket) -> None:
        """Stop the job of a client that has ended, if the job is still running. Since a client sends nothing after its
        request, a readable connection means that the client has ended.
        """
        if client not in self._jobs.values():
            return  # the job ended at the same moment and has been reported
        for job, waiting in self._jobs.items():
            if waiting is client:
                with suppress(ProcessLookupError):
                    os.kill(job, signal.SIGKILL)
        self._selector.unregister(client)  # otherwise, the connection would remain readable

    def _end(self) -> None:
        for job in self._jobs:
            with suppress(ProcessLookupError):
                os.kill(job, signal.SIGKILL)
        for job in self._jobs:
            os.waitpid(job, 0)


def run(script: str, folder: str, environment: dict[str, str]) -> int:
    """Run a script as the Python interpreter would, and return the exit code.

    Parameters
    ----------
    script : path of the script.
    folder : working directory.
    environment : all environment variables.
    """
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [script]
    if not environment.get(_SAFE_PATH):
        sys.path.insert(0, os.path.dirname(script))
    module = ModuleType("__main__")
    module.__dict__["__file__"] = script
    sys.modules["__main__"] = module
    code = 0
    try:
        exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)
    except SystemExit as error:
        code = _exit_code(error.code)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if stream is not None:
            with suppress(ValueError, OSError):  # closed, or the reader has ended
                stream.flush()
    return code


def _exit_code(status: Any) -> int:
    """Return the exit code of a process that calls ``sys.exit(status)``."""
    if status is None:
        return 0
    if isinstance(status, int):
        return status & 0xFF
    print(status, file=sys.stderr)
    return 1


def _asked(client: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the request of a client, together with the client's three standard streams."""
    _, streams, _, _ = socket.recv_fds(client, 4, 3)
    if len(streams) != 3:
        raise ValueError(
            f"a request must contain three file descriptors (stdin, stdout and stderr), got {len(streams)}"
        )
    raw = _exactly(client, int.from_bytes(_exactly(client, 8), "big"))
    request: dict[str, Any] = json.loads(raw)
    return request, streams


def _exactly(client: socket.socket, size: int) -> bytes:
    raw = b""
    while len(raw) < size:
        part = client.recv(size - len(raw))
        if not part:
            raise ValueError(f"the client must send {size} bytes, but closed the connection after {len(raw)} bytes")
        raw += part
    return raw


def _noted(number: int, frame: FrameType | None) -> None:
    """Write to the wake-up pipe, to signal that a child process has ended."""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
