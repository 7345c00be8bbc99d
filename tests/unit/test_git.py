"""Tests that git starts no program: every such key of git-config(1), at each level, with every hook and transport."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpmultinomial import _git
from dpmultinomial._releases import _places
from reproduction import command, provenance
from reproduction.archive import contents, crate

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")

# Keys of git-config(1) whose value is a program or a command line; {} is the program that leaves a mark.
_PROGRAMS = """
core.fsmonitor={} core.sshCommand={} core.gitProxy={} core.askPass={} core.editor={} core.pager={}
core.alternateRefsCommand={} sequence.editor={} pager.ls-files={} pager.log={} pager.diff={} pager.rev-list={}
pager.status={} pager.ls-tree={} pager.rev-parse={} alias.ls-files=!{} alias.log=!{} alias.rev-parse=!{}
alias.rev-list=!{} alias.diff=!{} alias.status=!{} alias.ls-tree=!{} browser.mine.cmd={} browser.mine.path={}
web.browser=mine help.browser=mine man.mine.cmd={} man.mine.path={} man.viewer=mine credential.helper=!{}
credential.https://example.org.helper=!{} diff.external={} diff.mine.command={} diff.mine.textconv={} diff.tool=mine
diff.guitool=mine difftool.mine.cmd={} difftool.mine.path={} merge.tool=mine merge.guitool=mine mergetool.mine.cmd={}
mergetool.mine.path={} guitool.mine.cmd={} merge.mine.driver={} filter.mine.clean={} filter.mine.smudge={}
filter.mine.required=true filter.other.process={} filter.other.required=true gpg.program={} gpg.openpgp.program={}
gpg.x509.program={} gpg.ssh.program={} gpg.ssh.defaultKeyCommand={} log.showSignature=true commit.gpgSign=true
tag.gpgSign=true gc.recentObjectsHook={} imap.tunnel={} interactive.diffFilter={} instaweb.httpd={}
instaweb.browser={} sendemail.smtpServer={} sendemail.sendmailCmd={} sendemail.toCmd={} sendemail.ccCmd={}
sendemail.headerCmd={} remote.origin.uploadpack={} remote.origin.receivepack={} remote.origin.vcs=mine
receive.procReceiveRefs=refs uploadpack.packObjectsHook={} uploadarchive.allowUnreachable=true
submodule.mine.update=!{} submodule.recurse=true tar.mine.command={} trailer.mine.command={} trailer.mine.cmd={}
hook.mine.command={} hook.mine.event=post-index-change core.hooksPath=HOOKS init.templateDir=HOOKS
protocol.allow=always protocol.ext.allow=always protocol.file.allow=always help.autocorrect=immediate
"""
_HOOKS = """applypatch-msg pre-applypatch post-applypatch pre-commit prepare-commit-msg commit-msg post-commit
pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
reference-transaction push-to-checkout pre-auto-gc post-rewrite fsmonitor-watchman sendemail-validate
post-index-change"""
PROGRAMS, HOOKS = _PROGRAMS.split(), _HOOKS.split()
LEVELS = ("system", "global", "local", "worktree", "include")


def git(root, *words, check=True):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false")
    return subprocess.run(["git", *identity, *words], cwd=root, capture_output=True, text=True, check=check).stdout


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Write empty configurations of the system and of the user."""
    for name in ("SYSTEM", "GLOBAL"):
        (tmp_path / name).write_text("")
        monkeypatch.setenv(f"GIT_CONFIG_{name}", str(tmp_path / name))
    return tmp_path


@pytest.fixture
def repository(alone):
    root = alone / "project"
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential" / "c.csv").write_text("category,count\na,12\nb,7\n")
    (root / "config.yaml").write_text(
        "releases:\n  c: {data: confidential/c.csv, mechanism: discrete_laplace, epsilon: 1.0}\n"
    )
    (root / "a.txt").write_text("1\n")
    (root / "b.bin").write_text("1\n")
    git(root, "init", "-q")
    (root / ".gitignore").write_text("confidential/\n")
    git(root, "add", ".gitignore", "a.txt", "b.bin", "config.yaml")
    git(root, "commit", "-q", "-m", "first")
    (root / ".gitattributes").write_text("*.txt filter=mine diff=mine merge=mine\n*.bin filter=other\n")
    return root


def program(folder, name):
    """Write a program that writes its name into the file `marks`."""
    path = folder / re.sub(r"[^a-zA-Z.-]", "_", name)
    path.write_text(f"#!/bin/sh\necho '{name}' >> '{folder}/marks'\nexit 1\n")
    path.chmod(0o755)
    return path


def plant(root, level):
    """Write every key at one level; return the file in which programs leave their marks."""
    away = root.parent / "away"
    (away / "hooks").mkdir(parents=True)
    for hook in HOOKS:
        planted = program(away, f"hook {hook}")
        for folder in (away / "hooks", root / ".git" / "hooks"):
            shutil.copy(planted, folder / hook)
    text = ""
    for entry in PROGRAMS:
        key, value = entry.split("=", 1)
        section, _, last = key.rpartition(".")
        first, _, middle = section.partition(".")
        value = value.replace("HOOKS", str(away / "hooks")).replace("{}", str(program(away, key)))
        named = f' "{middle}"' if middle else ""
        text += f'[{first}{named}]\n\t{last} = "{value}"\n'
    own = root / ".git" / "config"
    if level == "worktree":
        git(root, "config", "extensions.worktreeConfig", "true")
        (root / ".git" / "config.worktree").write_text(text)
    elif level == "include":
        (away / "included").write_text(text)
        own.write_text(own.read_text() + f"[include]\n\tpath = {away}/included\n")
    elif level == "local":
        own.write_text(own.read_text() + text)
    else:
        (root.parent / level.upper()).write_text(text)
    for name in ("a.txt", "b.bin"):  # with another time, so that git compares contents
        os.utime(root / name, (1, 1))
    return away / "marks"


def everything(root, monkeypatch):
    """Make every call of git in the project."""
    assert _places.problems("confidential/c.csv", root) == []
    monkeypatch.setattr(contents, "ROOT", root)
    assert "a.txt" in contents.tracked()
    assert len(crate.published()) == len("2026-01-01")
    monkeypatch.setattr(provenance, "__file__", str(root / "module.py"))
    assert len(provenance.commit.__wrapped__()) == 40
    (root / "a.txt").write_text("2\n")
    assert provenance.commit.__wrapped__().endswith("-dirty")
    monkeypatch.chdir(root)
    command.main(["check", "config.yaml"])


@pytest.mark.parametrize("level", LEVELS)
def test_no_key_of_any_level_starts_a_program(repository, monkeypatch, level):
    marks = plant(repository, level)
    everything(repository, monkeypatch)
    assert not marks.exists(), marks.read_text()
    for words in (["ls-files", "-m"], ["diff", "HEAD"], ["status"], ["ls-files"]):
        git(repository, *words, check=False)
    assert {"core.fsmonitor", "filter.mine.clean"} <= set(marks.read_text().splitlines())


def test_a_partial_clone_fetches_nothing(repository, monkeypatch):
    """Check a repository whose last commit's tree is missing, and whose remote is a program."""
    away = repository.parent / "away"
    away.mkdir()
    planted = program(away, "transport")
    tree = git(repository, "rev-parse", "HEAD^{tree}").strip()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", f"ext::sh -c {planted}"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialCloneFilter", "tree:0"),
        ("protocol.ext.allow", "always"),
    ):
        git(repository, "config", key, value)
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    (why,) = _places.problems("confidential/c.csv", repository)
    assert "git cannot determine" in why
    monkeypatch.setattr(provenance, "__file__", str(repository / "module.py"))
    assert provenance.commit.__wrapped__() == "unknown"
    assert not (away / "marks").exists()
    git(repository, "rev-list", "--all", "-n", "1", "--", "confidential", check=False)
    assert (away / "marks").read_text() == "transport\n"


def test_a_submodule_with_a_configuration_is_not_entered(repository, monkeypatch):
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x").write_text("1\n")
    git(inner, "add", "x")
    git(inner, "commit", "-q", "-m", "inner")
    git(repository, "add", "inner")
    git(repository, "commit", "-q", "-m", "with a submodule")
    away = repository.parent / "away"
    away.mkdir()
    git(inner, "config", "core.fsmonitor", str(program(away, "inner")))
    everything(repository, monkeypatch)
    assert not (away / "marks").exists()
    git(repository, "status")
    assert "inner" in (away / "marks").read_text()


def test_data_that_look_like_a_bare_repository_have_no_configuration(repository):
    home = repository / "confidential"
    git(repository.parent, "init", "-q", "--bare", str(repository.parent / "bare"))
    for path in (repository.parent / "bare").iterdir():
        path.rename(home / path.name)
    git(home, "config", "core.fsmonitor", str(program(repository.parent, "monitor")))
    (why,) = _places.problems("confidential/c.csv", repository)
    assert "git cannot determine" in why
    assert not (repository.parent / "marks").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_a_repository_that_git_does_not_vouch_for_is_refused_with_its_reason(repository, monkeypatch):
    marks = plant(repository, "local")
    for path in (repository, *repository.rglob("*")):
        if not path.is_relative_to(repository / "confidential"):
            os.chown(path, 54321, 54321)
    (why,) = _places.problems("confidential/c.csv", repository)
    assert "dubious ownership" in why
    assert f"git config --global --add safe.directory {repository}" in why
    monkeypatch.setattr(contents, "ROOT", repository)
    with pytest.raises(contents.ArchiveError, match="dubious ownership"):
        contents.tracked()
    assert not marks.exists()
    (repository.parent / "GLOBAL").write_text(f"[safe]\n\tdirectory = {repository}\n")  # what git proposes
    assert _places.problems("confidential/c.csv", repository) == []
    assert not marks.exists()


def test_a_change_is_found_whatever_it_is(repository):
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    assert not _git.is_changed(repository)
    before = (repository / "a.txt").read_bytes()
    for change in (
        lambda path: path.write_text("9\n"),
        lambda path: path.unlink(),
        lambda path: path.chmod(0o755),
        lambda path: (path.unlink(), path.symlink_to("b.bin")),
        lambda path: (path.unlink(), path.mkdir()),
    ):
        change(repository / "a.txt")
        assert _git.is_changed(repository)
        shutil.rmtree(repository / "a.txt", ignore_errors=True)
        (repository / "a.txt").unlink(missing_ok=True)
        (repository / "a.txt").write_bytes(before)
        assert not _git.is_changed(repository)
    (repository / "new").write_text("1\n")
    assert not _git.is_changed(repository)
    git(repository, "add", "new")
    assert _git.is_changed(repository)


def test_only_plumbing_is_called(tmp_path):
    with pytest.raises(ValueError, match="must be one of ls-files, ls-tree, rev-list, rev-parse, got 'status'"):
        _git.output(tmp_path, "status")


def test_one_module_calls_git():
    sources = _git.Path(_git.__file__).parents[1]
    calls = re.compile(r"""[(\[]\s*["'](git["']|git )""")
    found = {path.relative_to(sources).as_posix() for path in sources.rglob("*.py") if calls.search(path.read_text())}
    assert found == {"dpmultinomial/_git.py"}


@pytest.mark.parametrize("first", [".", "", "tools"])
def test_a_program_named_git_in_the_current_folder_is_not_run(repository, monkeypatch, first):
    """Check a search path with relative folders, in which somebody else may have put a program named git."""
    monkeypatch.chdir(repository)
    (repository / "tools").mkdir()
    for folder in (repository, repository / "tools"):
        program(folder, "git")
    monkeypatch.setenv("PATH", f"{first}{os.pathsep}{os.environ['PATH']}")
    assert Path(shutil.which("git")).resolve().is_relative_to(repository)
    assert _places.problems("confidential/c.csv", repository) == []
    assert not [*repository.rglob("marks")]
