"""Tests of jobs as forks of one loaded process: like separate processes, killed in the same way, never hanging, and
with one thread of linear algebra.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from snakemake.shell import shell

from reproduction import paper
from reproduction.jobs import artefacts, environment, fork_client, fork_server, forks, mending

LIMIT = 30.0  # seconds until a test gives a run up as hung


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Start a loaded process that contains `json` and no module of the project; return its shell and id."""
    monkeypatch.setattr(forks, "_one_thread", lambda: dict(os.environ) | {"OMP_NUM_THREADS": "1", "ITS_OWN": "1"})
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake/scripts").mkdir(parents=True)
    place = tmp_path / "s"
    place.mkdir()
    used = forks.start(place, ["json", "no_such_module"])
    yield SimpleNamespace(shell=used, pid=forks._running[-1][0].pid, process=forks._running[-1][0])
    forks.end()


def script(text, name="tmp1.make.py"):
    path = Path.cwd() / ".snakemake/scripts" / name
    path.write_text(text)
    return path


def job(loaded, path, **variables):
    """Run a job as Snakemake starts it."""
    command = f"set -euo pipefail;  {sys.executable} {path}"
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1"} | variables
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, shell=True, executable=str(loaded.shell), env=environment, **pipes)


def ended(process):
    out, error = process.communicate(timeout=LIMIT)
    return process.returncode, out, error


def gone(pid):
    deadline = time.monotonic() + LIMIT
    with suppress(psutil.NoSuchProcess):  # it may end between the two questions
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
    return True


STATE = """
import json, os, sys
print(json.dumps({
    "name": __name__, "file": __file__, "argv": sys.argv, "folder": os.getcwd(), "mine": os.environ.get("MINE"),
    "its": os.environ.get("ITS_OWN"),
    "first": sys.path[0], "main": sys.modules["__main__"].__dict__ is globals(), "parent": os.getppid(),
}))
print("to the error stream", file=sys.stderr)
"""


def test_a_job_finds_what_a_process_of_its_own_would_find(loaded):
    path = script(STATE)
    code, out, error = ended(job(loaded, path, MINE="7"))
    own = subprocess.run([sys.executable, str(path)], env=os.environ | {"MINE": "7"}, capture_output=True, text=True)
    found, expected = json.loads(out), json.loads(own.stdout)
    assert found.pop("parent") == loaded.pid
    expected.pop("parent")
    assert found == expected
    assert (code, error) == (0, "to the error stream\n")


@pytest.mark.parametrize(
    "text",
    [
        *("raise SystemExit(3)", "raise SystemExit", "import sys; sys.exit('not today')", "import os; os._exit(5)"),
        *("raise ValueError('wrong')", "1 +", "import sys; sys.exit(True)", "raise KeyboardInterrupt"),
        "import atexit, sys; atexit.register(lambda: print('last')); sys.exit(2)",
        "import sys; sys.stdout.write('no newline')",
    ],
)
def test_it_ends_as_a_process_of_its_own_would_end(loaded, text):
    """Check the exit code, the output, and the last line of an error."""
    path = script(text)
    own = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    code, out, error = ended(job(loaded, path))
    expected = own.returncode if own.returncode >= 0 else 128 - own.returncode
    assert (code if "Interrupt" not in text else 130, out) == (expected, own.stdout)
    assert code != 0 or own.returncode == 0
    assert error.splitlines()[-1:] == own.stderr.splitlines()[-1:]


def test_jobs_run_side_by_side_and_leave_no_trace_in_each_other(loaded):
    """Check that jobs run in parallel: each waits for the file of the next."""
    text = """
import builtins, pathlib, time
assert not hasattr(builtins, "mark")
builtins.mark = 1
pathlib.Path("{own}").touch()
while not pathlib.Path("{next}").exists():
    time.sleep(0.01)
"""
    running = [
        job(loaded, script(text.format(own=number, next=(number + 1) % 6), f"tmp{number}.make.py"))
        for number in range(6)
    ]
    assert [ended(process)[0] for process in running] == [0] * 6


def test_a_killed_child_is_a_failed_job(loaded):
    process = job(loaded, script("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert ended(process)[0] == 128 + signal.SIGKILL
    assert ended(job(loaded, script("print('next')")))[:2] == (0, "next\n")


WAIT = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_job_whose_client_is_killed_is_killed_too_and_the_next_one_runs(loaded, how):
    process = job(loaded, script(WAIT))
    child = int(process.stdout.readline())
    process.send_signal(how)
    assert ended(process) == (-how, "", "")  # at once: where Python handled it, it might come before a wait unseen
    assert gone(child)
    assert ended(job(loaded, script("print('next')")))[:2] == (0, "next\n")


def test_a_killed_loaded_process_takes_its_jobs_along_and_each_is_a_failed_job(loaded):
    process = job(loaded, script(WAIT))
    child = int(process.stdout.readline())
    os.kill(loaded.pid, signal.SIGKILL)
    code, _, error = ended(process)
    assert code == 1
    assert "has ended, so the job has failed" in error
    assert gone(child)
    loaded.process.wait()
    code, out, error = ended(job(loaded, script("print('on its own')")))  # the next starts a process, and says so
    assert (code, out) == (0, "on its own\n")
    assert "starts a new Python process" in error


def test_where_snakemake_dies_the_loaded_process_and_its_jobs_die(loaded):
    process = job(loaded, script(WAIT))
    child = int(process.stdout.readline())
    loaded.process.stdin.close()  # what the kernel does when Snakemake is killed
    assert ended(process)[0] != 0
    assert gone(child)
    assert loaded.process.wait(LIMIT) == 0


def test_the_end_of_the_loaded_process_is_that_of_its_jobs_where_the_kernel_does_not_see_to_it():
    sleeping = subprocess.Popen(["sleep", "600"])
    server = fork_server.Server(None)
    server._jobs[sleeping.pid] = None
    server._end()
    assert gone(sleeping.pid)
    sleeping.wait()


def test_a_client_that_leaves_as_its_job_ends_ends_nothing_else():
    """Check that the server sees the end of the job and of the connection at once, and handles the job first."""
    server, (client, there) = fork_server.Server(None), socket.socketpair()
    job = os.posix_spawn("/bin/true", ["true"], {})
    server._jobs[job] = client
    server._selector.register(client, selectors.EVENT_READ)
    os.waitid(os.P_PID, job, os.WEXITED | os.WNOWAIT)
    server._reap()
    server._left(client)
    assert there.recv(16) == b"0"
    assert (server._jobs, len(server._selector.get_map())) == ({}, 0)
    there.close()


@pytest.mark.thorough
def test_the_next_run_ends_what_is_left_of_the_loaded_process(loaded):
    process = job(loaded, script(WAIT))
    child = int(process.stdout.readline())
    assert {loaded.pid, child, process.pid} <= set(mending.ended())
    ended(process)  # its pipes; who it was is known, and it is gone
    assert gone(child)


def test_what_is_no_python_job_of_one_thread_goes_to_bash(loaded):
    path = script("import os; print(os.getppid())")
    code, out, _ = ended(job(loaded, path, OMP_NUM_THREADS="2"))
    assert code == 0
    assert int(out) != loaded.pid
    release = script("import os; print(os.getppid())", name="tmp1.release.py")  # confidential data
    assert int(ended(job(loaded, release))[1]) != loaded.pid
    done = subprocess.run("echo $((6 * 7)); exit 9", shell=True, executable=str(loaded.shell), capture_output=True)
    assert (done.returncode, done.stdout) == (9, b"42\n")


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("set -euo pipefail;  /p/python /a/.snakemake/scripts/tmp1.make.py", "/a/.snakemake/scripts/tmp1.make.py"),
        ("set -euo pipefail;  /p/python '/a b/.snakemake/scripts/t.py'", "/a b/.snakemake/scripts/t.py"),
        ("set -euo pipefail;  /q/python /a/.snakemake/scripts/t.py", ""),
        ("set -euo pipefail;  /p/python /a/.snakemake/scripts/t.R", ""),
        ("set -euo pipefail;  /p/python /a/.snakemake/scripts/t.release.py", ""),
        ("set -euo pipefail;  /p/python /a/.snakemake/scripts/t.py ; rm x.py", ""),
        ("set -euo pipefail;  /p/python /a/scripts/t.py", ""),
        ("echo 'unbalanced", ""),
    ],
)
def test_commands_are_told_apart(command, script):
    assert fork_client.script_of(command, "/p/python") == script


def planned(rules, *, local=True, main=True, methods=()):
    jobs = [SimpleNamespace(rule=SimpleNamespace(name=name)) for name in rules]
    return SimpleNamespace(
        dag=SimpleNamespace(needrun_jobs=lambda: jobs, jobid=id),
        non_local_exec_or_dryrun=not local,
        is_main_process=main,
        deployment_settings=SimpleNamespace(deployment_method=set(methods)),
    )


MODULES = {"a": ["json", "csv"], "b": ["csv"]}


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [
        (planned("ab"), ["csv", "json"]),
        (planned("bbcc"), ["csv"]),
        (planned("ac"), None),
        (planned("aabb", local=False), None),
        (planned("aabb", main=False), None),
        (planned("aabb", methods=["conda"]), None),
        (planned(["compile_kernel", *"aabb"]), None),
    ],
    ids=["enough", "needed modules", "one job", "cluster", "a job's own", "conda", "kernels"],
)
def test_it_is_started_where_it_saves_and_changes_nothing(monkeypatch, workflow, expected):
    started, shells = [], []
    monkeypatch.setattr(forks, "start", lambda folder, modules: started.append((folder, modules)))
    monkeypatch.setattr(shell, "executable", shells.append)
    assert forks.begin(workflow, MODULES) == (expected is not None)
    assert [modules for _, modules in started] == ([[*forks._FIRST, *expected]] if expected else [])
    assert shells == [str(folder / "bash") for folder, _ in started]
    for folder, _ in started:
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.rmdir()


@pytest.mark.parametrize(("length", "starts"), [(100, True), (101, False)])
def test_the_path_of_its_socket_has_at_most_100_bytes(monkeypatch, tmp_path, length, starts):
    """Check the temporary folder, `dpmultinomial-`, the process, eight letters, and `socket`, with a byte of UTF-8 that
    is not one letter; a folder that is too deep is removed."""
    started = []
    monkeypatch.setattr(forks, "start", lambda folder, modules: started.append(folder))
    monkeypatch.setattr(shell, "executable", lambda _: None)
    here = Path("/tmp") / f"ä{os.getpid()}"  # tmp_path is too long
    rest = len(f"/dpmultinomial-{os.getpid()}-12345678/socket")
    here = here.with_name(here.name + "x" * (length - rest - len(str(here).encode())))
    here.mkdir()
    try:
        monkeypatch.setattr(forks.tempfile, "tempdir", str(here))
        assert forks.begin(planned("ab"), MODULES) == starts
        assert list(here.iterdir()) == started
        assert [len(str(folder / "socket").encode()) for folder in started] == [100] * starts
    finally:
        forks.shutil.rmtree(here)


def test_the_shell_hands_its_arguments_over_to_the_client(monkeypatch, tmp_path):
    process = SimpleNamespace(poll=lambda: 0, stdin=None, wait=lambda: None)
    asked, shells = [], []
    monkeypatch.setattr(
        forks.subprocess, "Popen", lambda command, **options: asked.append((command, options)) or process
    )
    monkeypatch.setattr(shell, "executable", shells.append)
    folder = tmp_path / "a b"
    folder.mkdir()
    script = forks.start(folder, ["json", "csv"])
    client = Path(fork_client.__file__)
    assert script == folder / "bash"
    assert script.read_text() == (
        f"#!/bin/sh\nexec {sys.executable} -I -S {client} {sys.executable} '{folder}/socket' \"$@\"\n"
    )
    assert script.stat().st_mode & 0o777 == 0o700
    ((command, options),) = asked
    assert command == [
        sys.executable, "-P", "-m", "reproduction.jobs.fork_server", str(folder / "socket"), "json", "csv"
    ]  # fmt: skip
    assert options["stdin"] == subprocess.PIPE
    assert options["env"]["OMP_NUM_THREADS"] == "1"
    forks.end()
    assert not folder.exists()
    assert shells == ["bash"]
    forks.end()  # nothing is left to end
    assert shells == ["bash"]


def test_a_folder_of_another_user_is_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(forks.tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / f"dpmultinomial-{dead.pid}-a").mkdir()
    (tmp_path / f"dpmultinomial-{dead.pid}-file").write_text("")
    monkeypatch.setattr(os, "getuid", lambda: -1)
    assert forks.remove_stale() == []
    monkeypatch.undo()
    monkeypatch.setattr(forks.tempfile, "tempdir", str(tmp_path))
    assert [folder.name for folder in forks.remove_stale()] == [f"dpmultinomial-{dead.pid}-a"]


def test_a_job_starts_in_little_cpu_time(loaded):
    """Check the time of client and fork for five jobs; a process with the project's imports takes half a second."""
    path = script("pass")
    before = os.times()
    for _ in range(5):
        assert ended(job(loaded, path))[0] == 0
    after = os.times()
    assert (after.children_user + after.children_system - before.children_user - before.children_system) / 5 < 0.15


@pytest.mark.thorough
def test_what_is_loaded_holds_no_open_file_and_no_font_that_forks_would_read_together():
    """Import every module of the five papers' jobs: files opened before a fork would share their read position."""
    names = list(forks._FIRST)
    for found in paper.discover().values():
        names += artefacts.modules(found)
    program = f"""if True:
        from importlib import import_module
        import psutil
        for name in {names!r}:
            import_module(name)
        from matplotlib import font_manager
        print(len(psutil.Process().open_files()), font_manager._get_font.cache_info().currsize)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


def test_folders_of_killed_runs_are_removed_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(forks.tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen(["true"])
    dead.wait()
    for name in (f"dpmultinomial-{dead.pid}-a", f"dpmultinomial-{os.getpid()}-b", "dpmultinomial-x-c", "another"):
        (tmp_path / name).mkdir()
    (tmp_path / f"dpmultinomial-{dead.pid}-link").symlink_to(tmp_path / "another")
    assert [folder.name for folder in forks.remove_stale()] == [f"dpmultinomial-{dead.pid}-a"]
    assert len(list(tmp_path.iterdir())) == 4


SCRIPT = Path(__file__).parents[3] / "workflow/scripts/table.py"
_PROGRAM = """
import sys
from types import SimpleNamespace

class Params(list):
    function, by, settings, stream, reads, files, programs, root_seed, label = (
        "balmat2018.tables.table_1", "compute", '{"total": 3}', ["toy", "t"], [], [], {}, 1, "Table 1"
    )

snakemake = SimpleNamespace(
    log=[sys.argv[2]], params=Params(),
    rule="toy_t_table", wildcards=[], input=SimpleNamespace(tables=[], files=[]), threads=2, config={},
)

class Output(list):
    csv = "results/toy/a.csv"

snakemake.output = Output([Output.csv])
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
print(sorted({one["num_threads"] for one in threadpool_info()}), len(threadpool_info()))
"""


@pytest.mark.thorough
def test_a_timing_computes_in_one_thread_whatever_it_holds(tmp_path):
    """Check that Snakemake starts a job of two threads with 2 in every such variable."""
    (tmp_path / "results/toy").mkdir(parents=True)
    (tmp_path / "results/logs").mkdir()
    variables = dict(os.environ) | dict.fromkeys(environment.ONE_THREAD, "2")
    call = [sys.executable, "-c", _PROGRAM, str(SCRIPT), str(tmp_path / "results/logs/log")]
    done = subprocess.run(call, env=variables, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + (tmp_path / "results/logs/log").read_text()
    threads, libraries = done.stdout.rsplit(maxsplit=1)
    assert threads == "[1]"
    assert int(libraries) >= 1


def test_the_loaded_process_has_the_same(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    found = forks._one_thread()
    assert {key: found[key] for key in environment.ONE_THREAD} == dict.fromkeys(environment.ONE_THREAD, "1")
    assert found["PATH"] == os.environ["PATH"]


def test_this_tree_comes_first_once(monkeypatch):
    here = str(Path(environment.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/elsewhere", here]))
    environment.own_tree_first()
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [here, "/elsewhere"]
