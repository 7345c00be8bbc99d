"""Read the state of git repositories, without writing files and without starting programs that are named in a git
configuration. No other module calls git.

A repository can come from somebody else, and its configuration can name programs: file system monitors, hooks, filters,
transports, pagers, signature checkers (git-config(1)). Four measures prevent git from starting these programs. First,
all subcommands are plumbing commands, which do not need filters, pagers or signatures. Second, settings on the command
line, which override all configuration files, switch off the monitor, the hooks and the recursion into submodules.
Third, the environment forbids all transports and the fetching of missing objects. Fourth, this module compares files
with their commit itself, because git would run filters.

Git decides whether it trusts a repository (by its owner, and by `safe.directory` in the user's configuration). No
setting of this module overrides that decision.
"""

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

_PLUMBING = {"ls-files", "ls-tree", "rev-list", "rev-parse"}
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "submodule.recurse": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    # a folder of data that looks like a bare repository does not have a configuration
    "safe.bareRepository": "explicit",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",  # no transport; overrides protocol.<name>.allow
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_TRACE2": "0",
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
    "LC_ALL": "C",
}
# keeps `safe.directory` of the user's configuration
_KEPT = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}
_LINK, _MODULE = "120000", "160000"


class GitError(ValueError):
    """Error that is raised if git is missing or fails, or if git rejects a repository as unsafe. The message states the
    reason.
    """


def repositories_around(folder: Path) -> list[Path]:
    """Return the folders that contain `.git`, among `folder` and its parents, from the innermost to the outermost
    folder. In a nested repository, git does not report the files that an outer repository tracks.
    """
    return [part for part in (folder, *folder.parents) if os.path.lexists(part / ".git")]


def output(folder: Path, *words: str) -> str:
    """Return the output of a git plumbing command. Bytes that cannot be decoded become surrogates.

    Parameters
    ----------
    folder : folder in which git runs.
    words : ls-files, ls-tree, rev-list or rev-parse, and its arguments.

    Raises
    ------
    GitError
        If git is not installed, fails, or does not trust the repository.
    """
    if words[0] not in _PLUMBING:
        raise ValueError(f"the git command must be one of {', '.join(sorted(_PLUMBING))}, got {words[0]!r}")
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    program = shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, folders)))  # never in the current folder
    if program is None:
        raise GitError("git is not installed: install git")
    run = subprocess.run(
        [os.path.abspath(program), "--no-pager", "-C", str(folder), *words],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
        env=_environment(),
    )
    if run.returncode:
        raise GitError(_reason(run.stderr.decode(errors="replace"), run.returncode))
    return os.fsdecode(run.stdout)


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    settings = {"GIT_CONFIG_COUNT": str(len(_SETTINGS))}
    for i, (key, value) in enumerate(_SETTINGS.items()):
        settings |= {f"GIT_CONFIG_KEY_{i}": key, f"GIT_CONFIG_VALUE_{i}": value}
    return inherited | _ENVIRONMENT | settings


def _reason(errors: str, status: int) -> str:
    """Return git's error message on one line, with the command that git proposes."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return " ".join(lines)[:500] or f"git ended with status {status}"


def files(folder: Path) -> list[str]:
    """Return the files below `folder` that git tracks, relative to `folder`. Errors are reported as by `output`."""
    return [name for name in output(folder, "ls-files", "-z").split("\0") if name]


def commit(folder: Path) -> str:
    """Return the identifier of the commit that is checked out. Errors are reported as by `output`."""
    return output(folder, "rev-parse", "--verify", "HEAD").strip()


def commit_time(folder: Path) -> int:
    """Return the time of the commit that is checked out, in seconds since 1 January 1970. Errors are reported as by
    `output`.
    """
    return int(output(folder, "rev-list", "-n", "1", "--timestamp", "HEAD").split()[0])


def is_changed(folder: Path) -> bool:
    """Return whether any tracked file differs from the commit that is checked out.

    Contents are compared byte by byte, without filters and conversions of line breaks. The cost is O(bytes of all
    tracked files).

    Parameters
    ----------
    folder : folder in the repository.

    Raises
    ------
    GitError
        As in `output`.
    """
    top = Path(output(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    committed = {}
    for entry in output(top, "ls-tree", "-r", "-z", "--full-tree", "HEAD").split("\0")[:-1]:
        about, name = entry.split("\t", 1)
        mode, _, digest = about.split()
        committed[name] = mode, digest
    staged = {}
    for entry in output(top, "ls-files", "-s", "-z").split("\0")[:-1]:
        about, name = entry.split("\t", 1)
        mode, digest, stage = about.split()
        if stage != "0":
            return True
        staged[name] = mode, digest
    return staged != committed or any(_differs(top / name, *entry) for name, entry in staged.items())


def _differs(path: Path, mode: str, digest: str) -> bool:
    """Return whether a file differs from its entry in the git index."""
    if mode == _MODULE:
        return False
    try:
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            actual_mode, content = _LINK, os.fsencode(os.readlink(path))
        elif stat.S_ISREG(about.st_mode):
            actual_mode, content = ("100755" if about.st_mode & stat.S_IXUSR else "100644"), path.read_bytes()
        else:
            return True
    except OSError:
        return True
    algorithm = "sha1" if len(digest) == hashlib.sha1(usedforsecurity=False).digest_size * 2 else "sha256"
    blob = hashlib.new(algorithm, b"blob %d\0" % len(content), usedforsecurity=False)
    blob.update(content)
    return actual_mode != mode or blob.hexdigest() != digest
