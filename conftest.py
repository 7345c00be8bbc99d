"""Fixtures that all tests share: folders for runs, scheduling of workers, one thread of linear algebra, as in jobs."""

import gc
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
    )  # ignored in a background shell, and so by its child processes

pytest_plugins = ("tests.workflow.running", "tests.scheduling")
_NUMBERS = itertools.count()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Freeze collected tests, which live until the end, and collect garbage less often, to save time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 30, 100)


@pytest.fixture(scope="session")
def _states(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True, scope="module")
def _an_account_for_what_a_module_shares(_states):
    """Give each test module a separate state folder, so that tests never read the user's records of releases."""
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("XDG_STATE_HOME", str(_states / str(next(_NUMBERS))))
        yield


@pytest.fixture(autouse=True)
def _an_account_of_its_own(_states, monkeypatch):
    """Give each test a separate state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(_states / str(next(_NUMBERS))))
