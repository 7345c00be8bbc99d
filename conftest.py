"""What all tests share: folders for runs, which worker runs what, one thread of linear algebra, as in jobs."""

import itertools
import os
import signal
import threading

import pytest

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # before NumPy is loaded

if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background ignores it, and so would what we start

_OF_ONE_RUN = ("tests/workflow/test_archive.py", "tests/workflow/test_smoke.py")
pytest_plugins = ("tests.workflow.running",)
_NUMBERS = itertools.count()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file is one worker's, and so are the files that look at the run of the whole workflow: it is made once."""
    from xdist.scheduler import LoadFileScheduling

    class _Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return _OF_ONE_RUN[0] if file in _OF_ONE_RUN else file

    return _Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def _states(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True, scope="module")
def _an_account_for_what_a_module_shares(_states):
    """What an account remembers of releases is never that of who runs the tests."""
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("XDG_STATE_HOME", str(_states / str(next(_NUMBERS))))
        yield


@pytest.fixture(autouse=True)
def _an_account_of_its_own(_states, monkeypatch):
    """And each test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(_states / str(next(_NUMBERS))))
