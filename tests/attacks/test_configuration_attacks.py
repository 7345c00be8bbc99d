"""Tests of configurations that would run a program, and of hostile surroundings of a run.

No configuration is executed, whatever its spelling and location; the weakened version is Snakemake's own reader, which
must run the program of the same file, or the attack shows nothing. A run continues with a home that is not writable, a
non-Unicode terminal and torn Snakemake records, in which Snakemake alone ends in errors.
"""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.common.configfile import load_configfile

from dpmultinomial._releases import _budget_records
from reproduction import paper, smoke
from reproduction import run as start
from reproduction.config import checks, config, overlays
from tests.workflow import running
from tests.workflow.running import ROOT, environment, snakemake

pytestmark = pytest.mark.thorough

PROGRAM = "import pathlib; pathlib.Path('ran').write_text('x')"
BODY = f'__definitions__: ["{PROGRAM}"]\n'
SPELLINGS = {
    "plain": "__use_yte__: true\n" + BODY,
    "hexadecimal": '"__use_yt\\x65__": true\n' + BODY,
    "unicode": '"\\u005f_use_yte__": true\n' + BODY,
    "long unicode": '"__use\\U0000005fyte__": true\n' + BODY,
    "single quotes": "'__use_yte__': true\n" + BODY,
    "tag": "!!str __use_yte__: true\n" + BODY,
    "anchor": "&a __use_yte__: true\n" + BODY,
    "alias of the flag": "root_seed: &t 1\n__use_yte__: true\n" + BODY,
    "complex key": "? __use_yte__\n: true\n" + BODY,
    "flow": f'{{"__use_yte__": true, "__definitions__": ["{PROGRAM}"]}}x'.replace("}x", ",}\n"),
    "value": "__use_yte__: true\nroot_seed: ?__import__('pathlib').Path('ran').write_text('7')\n",
    "byte order mark": "\ufeff__use_yte__: true\n" + BODY,
    "folded key": '? "__use\\\n  _yte__"\n: true\n' + BODY,
}


def python(folder, *words):
    run = subprocess.run(
        [sys.executable, *words],
        cwd=folder, env=environment(PYTHONPATH=str(ROOT / "src")), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.returncode, run.stdout + run.stderr


def bare(folder, *words):
    """Return Snakemake's output for this workflow, which must fail."""
    return snakemake(["-s", str(ROOT / "Snakefile"), "--cores", "1", *words], folder=folder, good=False)


def ran(folder):
    return (folder / "ran").exists()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_double_runs_what_is_written(tmp_path, monkeypatch, spelling):
    """Check Snakemake's behaviour with the same bytes, for every YAML spelling of the flag."""
    (tmp_path / "mine.yaml").write_text(SPELLINGS[spelling])
    monkeypatch.chdir(tmp_path)
    load_configfile("mine.yaml")
    assert ran(tmp_path)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("place", ["overlay", "config.yaml"])
def test_make_runs_nothing_that_is_written(tmp_path, spelling, place):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"run": ["pan2023"]}))
    name = "mine.yaml" if place == "overlay" else "config.yaml"
    (tmp_path / name).write_text(SPELLINGS[spelling])
    words = ["--configfile", name] if place == "overlay" else []
    code, said = python(tmp_path, "-m", "reproduction.run", "-s", str(ROOT / "Snakefile"), "--cores", "1", "-n", *words)
    assert code == 1
    assert "Nothing was run." in said
    assert "Traceback" not in said
    assert not ran(tmp_path)


@pytest.mark.parametrize("spelling", ["plain", "hexadecimal", "value", "complex key", "byte order mark"])
def test_bare_snakemake_runs_nothing_of_config_yaml(tmp_path, spelling):
    (tmp_path / "config.yaml").write_text(SPELLINGS[spelling])
    for words in (["-n"], []):
        said = bare(tmp_path, *words)
        assert "config.yaml" in said
        assert "Traceback" not in said
        assert not ran(tmp_path)


def test_what_bare_snakemake_ran_of_an_overlay_is_refused_before_any_job(tmp_path):
    """Check a file on Snakemake's own command line: it cannot be prevented from reading it, but nothing follows."""
    (tmp_path / "config.yaml").write_text("run: [pan2023]\n")
    (tmp_path / "mine.yaml").write_text(SPELLINGS["hexadecimal"])
    said = bare(tmp_path, "--configfile", "mine.yaml")
    assert "mine.yaml" in said
    assert "escapes" in said
    assert ran(tmp_path)  # stated in docs/threat-model.md
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--configfile", "mine.yaml"),
        ("--configfile=mine.yaml",),
        ("--configfiles", "mine.yaml"),
        ("--configfi", "mine.yaml"),
        ("--configf=mine.yaml",),
        ("--configfile", "config.yaml", "mine.yaml"),
        ("--configfile", "mine.yaml", "--quiet"),
        ("-q", "--configfile", "mine.yaml", "--", "pan2023"),
        ("--config", "__use_yte__=true"),
        ("-C", '"__use_yt\\x65__"=true'),
        ("-Cpan2023={__use_yte__: true}",),
        ("--config", "pan2023={'?if True': {abc: 1}}"),
        ("-C", "root_seed=!!python/object/apply:os.getcwd []"),
        ("--workflow-profile", "mine"),
        ("--profile=mine",),
    ],
)
def test_no_word_of_the_command_line_leads_past_the_reader(tmp_path, words):
    (tmp_path / "config.yaml").write_text("run: [pan2023]\n")
    (tmp_path / "mine.yaml").write_text(SPELLINGS["hexadecimal"])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/config.yaml").write_text("cores: 1\nconfigfile: mine.yaml\n")
    code, said = python(tmp_path, "-m", "reproduction.run", "-s", str(ROOT / "Snakefile"), "--cores", "1", "-n", *words)
    assert code == 1
    assert "Nothing was run." in said
    assert not ran(tmp_path)


PROFILES = {
    "template": SPELLINGS["plain"],
    "hexadecimal": SPELLINGS["hexadecimal"],
    "tag": SPELLINGS["tag"],
    "resources": "default-resources:\n  extra: __import__('pathlib').Path('ran').write_text('x')\n",
}


@pytest.mark.parametrize("text", PROFILES.values(), ids=PROFILES)
def test_a_profile_in_the_folder_is_not_read_unless_it_is_named(tmp_path, text):
    """Check the double too: Snakemake alone runs the program of such a profile. A named profile has no templates."""
    (tmp_path / "config.yaml").write_text(SURVEY)
    (tmp_path / "profiles/default").mkdir(parents=True)
    (tmp_path / "profiles/default/config.yaml").write_text(text)
    asked = ["-s", str(ROOT / "Snakefile"), "--cores", "1", "-n", "scenario_survey"]
    code, said = python(tmp_path, "-m", "reproduction.run", *asked)
    assert code == 0, said
    assert not ran(tmp_path)
    if "resources" not in text:
        for words in (["--workflow-profile", "default"], ["--workflow-prof=profiles/default"], ["--profile=default"]):
            code, said = python(tmp_path, "-m", "reproduction.run", *asked, *words)
            assert code == 1
            assert "a profile must be plain YAML without templates" in said
        assert not ran(tmp_path)
    python(tmp_path, "-m", "snakemake", *[word for word in asked if word != "-n"])
    assert ran(tmp_path)


def test_what_snakemake_is_given_is_json_that_was_written_here(tmp_path):
    """Check that a later change of config.yaml does not reach the jobs of this run."""
    (tmp_path / "config.yaml").write_text("run: [pan2023]\npan2023: {abc: {bins: 3}}\n")
    (tmp_path / "mine.yaml").write_text("pan2023: {phi_density: {replications: 5}}\n")
    words = ["--configfile", "mine.yaml", "-C", "root_seed=5"]
    code, said = python(
        tmp_path, "-m", "reproduction.run", "-s", str(ROOT / "Snakefile"), "--cores", "1", "-n", "-q", *words
    )
    assert code == 0, said
    (file,) = (tmp_path / overlays.WRITTEN).iterdir()
    whole = {"run": ["pan2023"], "pan2023": {"abc": {"bins": 3}, "phi_density": {"replications": 5}}, "root_seed": 5}
    assert json.loads(file.read_text()) == whole
    assert file.read_bytes().isascii()
    (tmp_path / "config.yaml").write_text("run: [wang2020]\n")
    assert overlays.in_use([file], {}, tmp_path) == whole
    file.write_text(file.read_text().replace("5", "6"))  # changed by hand, so the digest does not match
    assert overlays.in_use([file], {}, tmp_path)["run"] == ["pan2023"]
    assert overlays.in_use([], {"root_seed": 1}, tmp_path) == {"run": ["wang2020"], "root_seed": 1}


TARGET = "results/pan2023/errata.csv"
OURS, ALONE = "reproduction.run", "snakemake"
SIZES = {"run": ["pan2023"], "pan2023": smoke.configuration()["pan2023"]}


def run(folder, module, *words, monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return python(folder, "-m", module, "-s", str(ROOT / "Snakefile"), "--cores", "1", *words)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(SIZES))
    return tmp_path


@pytest.mark.parametrize(("module", "good"), [(OURS, True), (ALONE, False)])
def test_a_home_that_cannot_be_written(folder, monkeypatch, module, good):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    code, said = run(folder, module, "-n", monkeypatch=monkeypatch, HOME="/proc/nobody")
    assert ((code == 0) and "Traceback" not in said) == good, said


@pytest.mark.parametrize(("module", "good"), [(OURS, True), (ALONE, False)])
def test_a_terminal_of_less_than_unicode(tmp_path, monkeypatch, module, good):
    folder = tmp_path / "h\xe4user"
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(SIZES))
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, said = run(folder, module, TARGET, monkeypatch=monkeypatch, **plain)
    assert code == 0, said
    assert ("Logging error" not in said) == good
    assert (folder / TARGET).exists()


def test_torn_records_of_snakemake_are_taken_away_with_what_they_spoke_for(folder):
    words = ("--cores", "1", TARGET)
    assert running.make(folder, *words)[0] == 0
    before = (folder / TARGET).read_bytes()
    for path in (folder / ".snakemake/metadata").iterdir():
        path.write_bytes(b"\xff\xfe{garbage")
    said = running.snakemake(["-s", str(ROOT / "Snakefile"), *words, "-n"], folder=folder, good=False)
    assert "UnicodeDecodeError" in said
    code, said = running.make(folder, *words)
    assert code == 0, said
    assert f"Snakemake's record of {TARGET} is incomplete; it is removed and regenerated." in said
    assert (folder / TARGET).read_bytes() == before


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ({"s": {"epsilon": 1, "delta": 0.9999}}, r"budgets\.s\.delta: must be <= 0\.0001"),
        ({"s": {"epsilon": "1"}}, r"budgets\.s\.epsilon: must be a number"),
        ({"s": {}}, r"budgets\.s: must contain epsilon"),
        ({"s": 3}, r"budgets\.s: must contain epsilon|budgets\.s: 3 is not a mapping with entries"),
        ({"S": {"epsilon": 1}}, r"budgets\.S: the name of a source|budgets: 'S' is not a valid name"),
        ({"s": {"epsilon": -1.0}, "t": {"delta": 1e-6}}, r"2 mistakes|budgets\.t"),
    ],
)
def test_a_ceiling_that_is_none_is_told_once_and_by_its_own_path(budgets, words, tmp_path, monkeypatch):
    """Check any number of releases, including none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/c.csv").write_text("category,count\na,1\nb,2\n")
    asked = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0, "source": "s"}
    for releases in ({}, {"a": asked}, {"a": asked, "b": asked}):
        settings = json.loads(json.dumps({"run": [], "releases": releases, "budgets": budgets}))
        with pytest.raises(config.ConfigError, match=words) as told:
            checks.checked(settings, paper.discover())
        assert "releases.s" not in str(told.value)
        assert len(re.findall(words.split("|")[0], str(told.value))) <= 1


PLANTED = ("yaml", "numpy", "csv", "snakemake", "pandas", "reproduction", "dpmultinomial")
SURVEY = "run: []\nscenarios:\n  survey: {kind: noisy_counts, counts: {a: 3, b: 8}, epsilon: 1.0}\n"


def planted(folder):
    """Put modules that run a program next to a configuration, as the sender of a folder could."""
    (folder / "config.yaml").write_text(SURVEY)
    for name in PLANTED:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(PROGRAM + "\n")
    return folder


def test_modules_in_the_folder_of_a_configuration_are_not_imported(tmp_path):
    folder, asked = planted(tmp_path), ["-s", str(ROOT / "Snakefile"), "--cores", "1", "scenario_survey"]
    done = [subprocess.run([sys.executable, "-P", "-m", "reproduction.run", *asked], cwd=folder, check=False,
                           env=environment(), capture_output=True, text=True)]  # fmt: skip
    dpm = str(Path(sys.executable).parent / "dpm")
    for words in ([dpm, "check", "config.yaml"], [dpm, "answer", "survey"], [*_budget_records.RESTORE.split()]):
        words = [sys.executable if words[0] == "python" else words[0], *words[1:]]
        done.append(subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, check=False))
    assert not ran(folder)
    assert [one.returncode for one in done] == [0, 0, 0, 1], [one.stderr for one in done]
    assert (folder / "results/scenarios/survey.csv").is_file()
    assert "contains no journal" in done[-1].stderr


LATEX = "text.usetex: True\ntext.latex.preamble: \\input{confidential/county.csv}\naxes.facecolor: red\n"
DRAWN = """
import sys
import matplotlib as mpl
from matplotlib.figure import Figure
from reproduction import style
with style.applied():
    figure = Figure(figsize=(2, 2))
    figure.subplots().set_title("counts")
    style.save(figure, sys.argv[1], sys.argv[2])
"""
WEAK = DRAWN.replace("style.applied()", "mpl.rc_context({'savefig.dpi': 200})")


def test_a_matplotlibrc_in_the_folder_changes_no_figure_and_starts_no_latex(tmp_path, monkeypatch):
    """Check that figures are equal with and without the file, which the double with Matplotlib alone obeys."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/latex").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    (tmp_path / "bin/latex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    drawn = []
    for text in ("", LATEX):
        (tmp_path / "matplotlibrc").write_text(text)
        code, said = python(tmp_path, "-c", DRAWN, "figure.png", "figure.pdf")
        assert code == 0, said
        drawn.append([(tmp_path / f"figure.{end}").read_bytes() for end in ("png", "pdf")])
    assert drawn[0] == drawn[1]
    assert not ran(tmp_path)
    code, said = python(tmp_path, "-c", WEAK, "x.png", "x.pdf")
    assert code != 0
    assert ran(tmp_path), said


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff\xfe", b"[]", b"[" * 100_000, b"{}", b'{"host": "HERE", "process": -1, "started": 1}',
     b'{"host": "HERE", "process": 1e400, "started": 1}', b'{"host": "HERE", "process": 9e9, "started": []}'],
)  # fmt: skip
def test_a_record_of_the_process_that_is_not_one_belongs_to_nobody(tmp_path, monkeypatch, raw):
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / ".snakemake/run.json"
    mark.parent.mkdir()
    mark.write_bytes(raw.replace(b"HERE", socket.gethostname().encode()))
    assert start.owner() is None
    mark.unlink()
    os.mkfifo(mark)
    assert start.owner() is None


WRITTEN = (
    *("results/scenarios/survey.csv", "results/scenarios/survey.json", "pages/survey.html"),
    *("figures/scenarios/survey.png", "results/logs/scenario_survey.log", "results/config.effective.yaml"),
    ".snakemake/run.json",
)


def test_links_planted_in_the_places_of_results_lead_nothing_to_other_files(tmp_path):
    """Check files and their drafts: a run replaces a link, and does not write to the file to which it leads."""
    folder, home = tmp_path / "folder", tmp_path / "home"
    home.mkdir()
    for i, name in enumerate([*WRITTEN, *(f"{name}.part" for name in WRITTEN)]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (home / str(i)).write_text("mine")
        (folder / name).symlink_to(home / str(i))
    (folder / "config.yaml").write_text(SURVEY)
    dpm = str(Path(sys.executable).parent / "dpm")
    run = [sys.executable, "-P", "-m", "reproduction.run", "-s", str(ROOT / "Snakefile"), "--cores", "1"]
    for words in ([dpm, "page", "survey"], [*run, "scenario_survey", "results/config.effective.yaml"]):
        done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert {path.read_text() for path in home.iterdir()} == {"mine"}
    assert "posterior" in (folder / "pages/survey.html").read_text()


SCRIPT = "import sys\nsys.exit(7 if any(p.endswith('.snakemake/scripts') for p in sys.path) else 0)\n"


@pytest.mark.parametrize("variables", [{"PYTHONSAFEPATH": "1"}, {}], ids=["safe", "double"])
def test_a_forked_job_imports_no_modules_next_to_its_script(tmp_path, variables):
    """Check a job of the loaded process; without the variable, it imports them as Python does."""
    script = tmp_path / ".snakemake/scripts/job.py"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT)
    code = f"from reproduction.jobs import fork_server as f; raise SystemExit(f.run({str(script)!r}, '.', {variables}))"
    assert python(tmp_path, "-c", code)[0] == (0 if variables else 7)


def test_bare_snakemake_imports_no_modules_next_to_the_scripts_of_its_jobs(tmp_path):
    (tmp_path / "config.yaml").write_text(SURVEY)
    place = tmp_path / ".snakemake/scripts"
    place.mkdir(parents=True)
    for name in ("pickle", "json", "numpy", "snakemake", "dpmultinomial"):
        (place / f"{name}.py").write_text(PROGRAM + "\n")
    snakemake(["-s", str(ROOT / "Snakefile"), "--cores", "1", "scenario_survey"], folder=tmp_path)
    assert (tmp_path / "results/scenarios/survey.csv").is_file()
    assert not ran(tmp_path)


def test_the_double_without_its_option_imports_them(tmp_path):
    words = [sys.executable, "-m", "reproduction.run", "-s", str(ROOT / "Snakefile"), "--cores", "1", "-n"]
    subprocess.run(words, cwd=planted(tmp_path), env=environment(), capture_output=True, check=False)
    assert ran(tmp_path)
