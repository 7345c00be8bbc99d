"""Tests of a paper as one folder that is found by its presence: a toy of seven files, and messages for wrong parts.

Tests that depend on the set of existing papers are found by their source text, per function.
"""

import ast
import os
import re
import shutil
import subprocess
import sys

import pytest

from reproduction import paper

from .running import ROOT, Folder, environment

SLUG, BARE = "toy2026", "bare2026"  # the second paper has no errata
FILES = {
    "paper.yaml": """\
title: A toy in seven files
authors: [A. Toy]
year: 2026
about: squares
artefacts:
  table_1:
    label: Table 1
    table:
      by: compute
      function: tables.table_1
      caption: >-
        The squares of the first whole numbers.
    figure:
      caption: >-
        The squares of the first whole numbers as a line.
      alt: >-
        A curve through the squares of the first whole numbers, ever steeper.
  errata:
    label: Errata
    table:
      by: compute
      function: errata.errata
      caption: >-
        What is wrong in the toy, and what shows it.
""",
    "settings.yaml": """\
sections:
  table_1:
    description: Table 1
    properties: {numbers: {$ref: '#/$defs/size', default: 5}}
""",
    "tables.py": '''\
"""The toy's only table."""

import pandas as pd


def table_1(*, numbers: int) -> pd.DataFrame:
    """Whole numbers and their squares."""
    return pd.DataFrame({"n": range(1, numbers + 1)}).assign(square=lambda table: table["n"] ** 2)
''',
    "figures.py": '''\
"""The toy's only figure."""

import pandas as pd
from matplotlib.figure import Figure

from ...style import SINGLE


def table_1(table: pd.DataFrame) -> Figure:
    """Squares against whole numbers."""
    figure = Figure(figsize=(SINGLE, 2.4))
    figure.subplots().plot(table["n"], table["square"])
    return figure
''',
    "published.tsv": "artefact\tquantity\tkind\tvalue\tdigits\terror\tplace\twords\n"
    "table_1\tsquare of 3\tnumber\t9\t0\t\tp. 1\t\n",
    "agreement.py": '''\
"""The toy's printed number."""

import pandas as pd

from ...verdicts.rows import computed


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row: the square of 3."""
    squares = tables["table_1"].set_index("n")["square"]
    return pd.DataFrame([computed("table_1", "square of 3", squares[3])])
''',
    "errata.py": '''\
"""The toy's only erratum."""

import numpy as np
import pandas as pd

from ... import evidence


def _four(rng: np.random.Generator, size: int) -> str:
    return f"2 + 2 = {2 + 2}"


ERRATA = {1: ("two and two are not five", _four)}


def errata(*, rng: np.random.Generator) -> pd.DataFrame:
    """All errata: number, erratum, evidence, command."""
    return evidence.table("toy2026", ERRATA, rng=rng, size=1)
''',
}


def toy(folder, slug=SLUG, **changed):
    """Write the toy's folder below `folder`, with files replaced, or omitted if None."""
    place = folder / slug
    place.mkdir(parents=True)
    for name, text in (FILES | changed).items():
        if text is not None:
            (place / name).write_text(text)
    return place


INLINE = """\
title: A toy in seven files
authors: [A. Toy]
year: 2026
about: squares
artefacts:
  table_1:
    label: Table 1
    table: {by: compute, function: tables.table_1, caption: Squares, with one comma}
"""
WITHOUT_ERRATA = {
    "errata.py": None,
    "paper.yaml": FILES["paper.yaml"].partition("  errata:\n")[0],
}


@pytest.fixture(scope="module")
def with_toy(copied_source, tmp_path_factory):
    """Return a source tree with two more folders, and a working directory with only the toy."""
    source = tmp_path_factory.mktemp("with_toy") / "source"
    shutil.copytree(copied_source, source)
    toy(source / "src/reproduction/papers")
    toy(source / "src/reproduction/papers", BARE, **WITHOUT_ERRATA)
    return Folder(tmp_path_factory.mktemp("toy"), source=source, run=[SLUG])


OF_OTHERS = {
    "test_a_quote_holds",
    "test_every_number_of_a_document_is_accounted_for",
}  # tests of one other paper


@pytest.fixture(scope="module")
def tested(with_toy):
    """Return pytest's output for the tests of papers, with two more papers; tests of one other paper are omitted."""
    source = with_toy.source
    git = ["git", "-c", "user.name=toy", "-c", "user.email=toy@localhost"]
    for step in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "toy"]):
        subprocess.run([*git, *step], cwd=source, check=True)  # git's tracked files are the sources
    chosen = ["-k", " and ".join(f"not {slug}" for slug in paper.discover()), *about_papers(source)]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-n0", "-m", "not slow", *chosen]
    ran = subprocess.run(
        command,
        cwd=source,
        env=environment(PYTHONPATH=str(source / "src")),
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.thorough
def test_what_is_tested_of_every_paper_holds_of_two_more(with_toy, tested):
    chosen = about_papers(with_toy.source)
    assert len({test.partition("::")[0] for test in chosen}) >= 8
    code, said = tested
    assert code == 0, said
    of_each = [set(re.findall(rf"PASSED (\S+)\[{slug}\]", said)) for slug in (SLUG, BARE)]  # both were among the papers
    assert of_each[0] == of_each[1]
    assert len(of_each[0]) >= 4
    passed = set(re.findall(r"(?:PASSED|SKIPPED) ([^\s\[]+)", said))
    left_out = {test.removeprefix(f"{with_toy.source}/") for test in chosen} - passed
    assert {test.partition("::")[2] for test in left_out} == OF_OTHERS


@pytest.mark.thorough
def test_a_paper_without_errata_needs_no_file_of_them(with_toy, tested):
    source = with_toy.source
    assert not (source / "src/reproduction/papers" / BARE / "errata.py").exists()
    assert tested[0] == 0, tested[1]
    show = [sys.executable, "-m", "reproduction.evidence", BARE]
    about = {"cwd": source, "env": environment(PYTHONPATH=str(source / "src")), "capture_output": True, "text": True}
    assert subprocess.run(show, check=True, **about).stdout == f"{BARE} has no known errata.\n"
    refused = subprocess.run([*show, "1"], check=False, **about)
    assert refused.returncode == 1
    assert refused.stderr == f"{BARE}: this paper lists no errata, got 1\n"


def test_a_dropped_folder_is_a_paper_of_the_workflow(with_toy):
    assert len(FILES) <= 7
    with_toy.snakemake(SLUG, "results/agreement.tsv", cores=1)
    made = set(with_toy.files("results/toy2026/*.csv")) | set(with_toy.files("figures/toy2026/*"))
    assert made >= {f"results/{SLUG}/{name}.csv" for name in ("table_1", "errata", "agreement")}
    assert made >= {f"figures/{SLUG}/table_1.png", f"figures/{SLUG}/table_1.pdf"}
    verdicts = (with_toy.path / "results/agreement.tsv").read_text()
    assert SLUG in verdicts
    assert "reproduced" in verdicts


def test_its_settings_are_checked_and_can_be_overlaid(with_toy):
    overlay = with_toy.path / "mine.yaml"
    overlay.write_text(f"{SLUG}: {{table_1: {{nubmers: 3}}}}\n")
    output = with_toy.snakemake("--configfile", str(overlay), good=False)
    assert f"{SLUG}.table_1.nubmers: unknown key, did you mean 'numbers'" in output
    overlay.write_text(f"{SLUG}: {{table_1: {{numbers: 3}}}}\n")
    planned = with_toy.planned(f"results/{SLUG}/table_1.csv", "--configfile", str(overlay))
    assert planned == {f"{SLUG}_table_1_table": 1}


def test_it_has_its_page_in_the_documentation(with_toy, tmp_path):
    write = "import papers, pathlib, sys; papers.write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1]))"
    paths = os.pathsep.join(str(with_toy.source / place) for place in ("src", "docs/_ext"))
    command = [sys.executable, "-c", write, str(tmp_path)]
    made = subprocess.run(command, env=environment(PYTHONPATH=paths), capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    text = (tmp_path / f"{SLUG}.md").read_text()
    for part in ("A toy in seven files", "Table 1", f"{SLUG}_table_1_table", "square of 3", "are not five"):
        assert part in text, part


@pytest.mark.thorough
def test_a_broken_folder_stops_the_workflow_with_one_clear_error(copied_source, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(copied_source, source)
    toy(source / "src/reproduction/papers", **{"published.tsv": None})
    (tmp_path / "run").mkdir()
    output = Folder(tmp_path / "run", source=source).snakemake("--dry-run", good=False)
    assert f"papers/{SLUG}/published.tsv: is missing; it must contain the printed statements" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"paper.yaml": None}, "toy2026/paper.yaml: is missing; it must contain title"),
        ({"settings.yaml": None}, "toy2026/settings.yaml: is missing; it must contain sections"),
        ({"agreement.py": None}, "toy2026/agreement.py: is missing; it must contain ours(tables)"),
        ({"errata.py": None}, "toy2026/errata.py: is missing, but artefacts.errata"),
        (
            {"tables.py": None},
            "toy2026/tables.py: is missing, but artefacts",
        ),
        (
            {"tables.py": "x = 1\n"},
            "toy2026/tables.py: must contain the function table_1, which is named at artefacts.table_1.table",
        ),
        ({"figures.py": None}, "toy2026/figures.py: is missing, but artefacts"),
        ({"agreement.py": "x = 1\n"}, "toy2026/agreement.py: must define ours"),
        ({"errata.py": "def errata(): ...\n"}, "toy2026/errata.py: must define ERRATA"),
        ({"published.tsv": "a\tb\n"}, "toy2026/published.tsv: the first line must be"),
        ({"settings.yaml": "sectoins: {}\n"}, "toy2026/settings.yaml: sectoins: unknown key. The allowed keys are"),
        (
            {"settings.yaml": "sections: {tabel_1: {}}\n"},
            "toy2026/settings.yaml: sections.tabel_1: no table in paper.yaml uses",
        ),
        ({"settings.yaml": "a: [\n"}, "toy2026: "),
        ({"paper.yaml": FILES["paper.yaml"].replace("title", "titel")}, "paper.yaml: titel: unknown key"),
        ({"paper.yaml": FILES["paper.yaml"].replace("compute", "compote")}, "table.by: 'compote' is not allowed"),
        ({"paper.yaml": FILES["paper.yaml"].partition("      alt:")[0]}, "table_1.figure: missing key: alt"),
        (
            {"paper.yaml": FILES["paper.yaml"].partition("    table:")[0]},
            "artefacts.table_1: must have at least the key 'table', got neither 'table' nor 'figure'",
        ),
        (
            {"paper.yaml": INLINE},
            "paper.yaml: artefacts.table_1.table.caption: in braces, YAML ends a string at its first comma "
            "and reads 'with one comma' as a key: write a block instead: `caption: >-`",
        ),
        ({"paper.yaml": FILES["paper.yaml"].replace("year: 2026", "year: soon")}, "year: 'soon' is not an integer"),
    ],
)
def test_each_missing_or_wrong_part_has_its_error(tmp_path, changed, message):
    with pytest.raises(paper.PaperError) as caught:
        paper.read(toy(tmp_path, **changed))
    assert message in str(caught.value)


def test_the_mistakes_of_all_folders_come_at_once(tmp_path):
    toy(tmp_path / "one", **{"agreement.py": None})
    shutil.move(tmp_path / "one" / SLUG, tmp_path / "first2026")
    (tmp_path / "second2026").mkdir()
    with pytest.raises(paper.PaperError) as caught:
        paper.discover(tmp_path)
    assert "first2026/agreement.py" in str(caught.value)
    assert "second2026/paper.yaml" in str(caught.value)


ASKS = re.compile(r"(?<!kind\.)(?<!studies\.)\bdiscover\(\)(?!\[)")  # the set of papers, but not one paper by its name


def about_papers(source):
    """Return every test outside the papers' folders that depends on the set of papers and runs no workflow: directly,
    by its parametrisation, or through anything that it uses from its own module or another test module."""
    rooms = [p for room in ("unit", "docs") for p in sorted((source / "tests" / room).rglob("test_*.py"))]
    files = {p: p.read_text() for p in rooms if p.name != "test_built_site.py"}
    return [f"{p}::{name}" for p, text in files.items() for name in asking(text, source) if name.startswith("test_")]


def asking(text, source):
    """Return the names that a test module defines or imports from another and that depend on the set of papers."""
    if not ASKS.search(text) and "from tests" not in text:
        return []
    statements = [(_defined(node), node) for node in ast.parse(text).body]
    used = [(names, {part for n in ast.walk(node) for part in _names(n)}) for names, node in statements if names]
    asks = {name for names, node in statements if _asks(node, text.splitlines(), source) for name in names}
    while more := {name for names, needed in used if asks & needed for name in names} - asks:
        asks |= more
    return [name for names, _ in used for name in names if name in asks]


def _defined(node):
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.Assign):
        return [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def _names(node):
    """Return names that are used, including arguments, which may be fixtures."""
    return [node.id] if isinstance(node, ast.Name) else [node.arg] if isinstance(node, ast.arg) else []


def _asks(node, lines, source):
    """Return whether a statement depends on the set of papers, or imports from a test module that does."""
    if not isinstance(node, ast.ImportFrom):
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        return bool(ASKS.search("\n".join(lines[first - 1 : node.end_lineno])))
    place = source.joinpath(*(node.module or "").split("."))
    files = [place.with_suffix(".py"), *(place / f"{alias.name}.py" for alias in node.names)]
    of_tests = (node.module or "").startswith("tests")
    return of_tests and any(ASKS.search(file.read_text()) for file in files if file.is_file())


def test_a_test_asks_for_papers_through_whatever_it_names():
    """A name of its own, of a fixture, of its parameters, of a module of tests; not for one paper, nor for kinds."""
    text = """
from tests.browser import made_run
from tests.docs import site_pages
PAPERS = paper.discover()
@pytest.fixture
def those():
    return list(PAPERS)
def again(those):
    return those
def test_fixture(again): ...
@pytest.mark.parametrize("slug", discover())
def test_parameter(slug): ...
def test_module():
    made_run.make()
def test_itself():
    assert paper.discover()
def test_no():
    assert kind.discover() and studies.discover() and paper.discover()["one"] and site_pages
"""
    found = asking(text, ROOT)
    assert found == [
        "made_run",
        "PAPERS",
        "those",
        "again",
        *(f"test_{w}" for w in ("fixture", "parameter", "module", "itself")),
    ]
