"""Tests of the only entry to confidential data: who opens files, who may import `_releases`, and what it loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dpmultinomial

ROOT = Path(dpmultinomial.__file__).parent
ROOMS = ("_kernels", "_accounting", "_mechanisms", "_audits", "_posteriors", "_models", "_files", "_releases")
OPENERS = {"open", "read_bytes", "read_text", "read_csv", "read_table", "fromfile", "loadtxt", "genfromtxt", "memmap"}
# who may open what: public files, confidential files, and the release room's own books, lock and staged files
MAY_OPEN = {
    "_files/csv_table.py",
    "_files/published.py",
    "_releases/_budget_records.py",
    "_releases/_confidential.py",
    "_releases/_durable.py",
    "_releases/_protocol.py",
    "_releases/restoring.py",
}


def modules():
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_who_opens_files():
    found = {str(p.relative_to(ROOT)) for p in modules() if OPENERS & set(calls(ast.parse(p.read_text())))}
    assert found == MAY_OPEN


def test_confidential_files_are_opened_in_one_package():
    for path in modules():
        names = " ".join(imported(ast.parse(path.read_text())))
        if path.parent.name != "_releases":
            assert "releases" not in names, path
        if path.name not in ("room.py", "_confidential.py", "_budget_records.py", "restoring.py"):
            assert "confidential" not in names, path


def test_the_confidential_reader_never_shows_values():
    calls_of_parse = [
        (path.name, ast.unparse(keyword.value))
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "parse"
        for keyword in node.keywords
        if keyword.arg == "confidential"
    ]
    assert sorted(calls_of_parse) == [
        ("_confidential.py", "True"),
        ("_microdata.py", "True"),
        ("csv_table.py", "False"),
        ("csv_table.py", "self.confidential"),
        ("published.py", "False"),
    ]


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("_releases", ("opendp", "randomgen", "pandas", "scipy")),
        ("_releases.room", ("opendp", "randomgen", "pandas", "dpmultinomial._posteriors", "dpmultinomial._models")),
        ("_files.csv_table", ("opendp", "pandas", "dpmultinomial._releases")),
    ],
)
def test_importing_loads_no_more_than_it_needs(module, absent):
    program = f"import sys, dpmultinomial.{module}; print(*[m for m in {absent!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_noise_takes_no_seed():
    text = (ROOT / "_releases" / "_noise.py").read_text()
    assert "_seeding" not in text
    for path in (ROOT / "_releases").glob("*.py"):
        assert not any(name.endswith("stream") and "seeding" in name for name in imported(ast.parse(path.read_text())))
