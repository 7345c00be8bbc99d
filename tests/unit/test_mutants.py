"""Tests of the mutants: each is one change, applied and undone, tested by importing tests; lists match the code."""

import functools
import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.house

ROOT = Path(__file__).parents[2]
SOURCE = '''"""Docstring with 1 + 1."""


def difference(first: int, second: int = 2, *, absolute: bool = True) -> int:
    """Another 3."""
    gap = first - second
    for _ in range(5):
        if absolute and gap < 0:
            gap = -gap
    return gap
'''
KERNEL = '''"""Docstring with 1 + 1."""
from libc.math cimport exp

cdef inline double c_f(const double *x, int64_t n) noexcept nogil:
    """Another 2 + 2."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(n):
        if x[i] < 3.5 and <int64_t> x[i] > 0:
            total += x[i] * exp(-x[i])
    return total
'''
HEADER = """#define SIZE 5
/* 1 + 1 */
static inline double f(double x, const double *p) {
    double gap = x - *p;
    if (x < 3.5 && p)
        return g(x, gap);
    gap *= 2.0;
    return gap;
}
"""


@pytest.fixture(scope="module")
def modules():
    """Return the modules of the runners, which are not in a package."""
    pytest.importorskip("cosmic_ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tests/mutants")
        import kernels
        import mutants
        import run
        import sabotages
    return SimpleNamespace(kernels=kernels, mutants=mutants, run=run, sabotages=sabotages)


def test_a_sample_leaves_out_what_would_raise_the_rate(modules, tmp_path):
    """Check twenty seeds of all places: no docstring, annotation or star of a signature, no bit operators."""
    (tmp_path / "one.py").write_text(SOURCE)
    lines, operators = set(), set()
    for seed in range(20):
        found = modules.mutants.sampled(["one.py"], 99, seed, tmp_path)
        assert len({m.key for m in found}) == len(found)
        assert not [m for m in found if "/," in m.after or "^" in m.after or "|" in m.after]
        for m in found:
            old, new = SOURCE.splitlines(), m.text.splitlines()
            assert [i + 1 for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b] == [m.line]
            assert modules.mutants.words(SOURCE).count(m.before) == 1
        lines |= {m.line for m in found}
        operators |= {m.operator for m in found}
    assert lines == {4, 6, 7, 8, 9}
    assert {"AddNot", "NumberReplacer", "ZeroIterationForLoop"} <= operators
    draws = [[m.key for m in modules.mutants.sampled(["one.py"], 4, seed, tmp_path)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert len(draws[0]) == 4


def test_an_exception_with_a_dotted_name_is_not_changed(modules, tmp_path):
    (tmp_path / "one.py").write_text("try:\n    f()\nexcept (OSError, g.Error):\n    pass\n")
    for seed in range(4):
        found = modules.mutants.sampled(["one.py"], 9, seed, tmp_path)
        assert [m.after for m in found if "Error" in m.after] == ["except (CosmicRayTestingException, g.Error):"]


def test_every_change_of_a_kernel_is_one_of_those_meant(modules):
    def changed(source, c):
        for start, end, kind, new in modules.kernels.changes(source, c):
            line = source.count("\n", 0, start)
            yield line + 1, kind, (source[:start] + new + source[end:]).splitlines()[line].strip()

    condition, total = "if x[i] < 3.5 and <int64_t> x[i] > 0:", "total += x[i] * exp(-x[i])"
    assert sorted(changed(KERNEL, False)) == sorted([
        (6, "constant", "cdef double total = 1.0"), (6, "constant", "cdef double total = (-1.0)"),
        (9, "comparison", condition.replace("< 3", "<= 3")), (9, "comparison", condition.replace("> 0", ">= 0")),
        (9, "word", condition.replace(" and ", " or ")),
        (9, "constant", condition.replace("3.5", "4.5")), (9, "constant", condition.replace("3.5", "2.5")),
        (9, "constant", condition.replace("> 0", "> 1")), (9, "constant", condition.replace("> 0", "> (-1)")),
        (10, "arithmetic", total.replace("+=", "-=")), (10, "arithmetic", total.replace("*", "/")),
        (10, "sign", total.replace("-x", "x")), (10, "dropped", "pass"),
    ])  # fmt: skip
    assert sorted(changed(HEADER, True)) == sorted([
        (4, "arithmetic", "double gap = x + *p;"),
        (5, "comparison", "if (x <= 3.5 && p)"), (5, "word", "if (x < 3.5 || p)"),
        (5, "constant", "if (x < 4.5 && p)"), (5, "constant", "if (x < 2.5 && p)"),
        (6, "arguments", "return g(gap, x);"), (7, "arithmetic", "gap /= 2.0;"), (7, "dropped", ";"),
        (7, "constant", "gap *= 3.0;"), (7, "constant", "gap *= 1.0;"),
    ])  # fmt: skip


def test_a_mutant_is_applied_and_judged_and_the_file_is_as_before(modules, tmp_path, monkeypatch):
    """Check one mutant that a test detects and one that no test detects, in a copy of a tree of two files."""
    (tmp_path / "root/src").mkdir(parents=True)
    (tmp_path / "root/src/gaps.py").write_text(SOURCE)
    (tmp_path / "root/test_gaps.py").write_text(
        "from gaps import difference\n\n\ndef test_gap():\n    assert difference(5) == 3\n"
    )
    (tmp_path / "root/pytest.ini").write_text("[pytest]\nmarkers =\n  slow\n  attack\n  site\n")
    (tmp_path / "list.yaml").write_text(
        '- {file: gaps.py, before: "first - second", after: "first + second"}\n'
        '- {file: gaps.py, before: "gap = -gap", after: "gap = 0"}\n'
    )
    for module in (modules.run, modules.mutants):
        monkeypatch.setattr(module, "ROOT", tmp_path / "root")
    monkeypatch.setattr(modules.run, "BUILD", tmp_path / "build")
    monkeypatch.setattr(modules.run, "_LARGE", ())
    monkeypatch.setattr(modules.run, "tests_of", lambda file: ["test_gaps.py"])
    listed = modules.mutants.listed(tmp_path / "list.yaml", tmp_path / "root/src")
    copy = modules.run.Copy(tmp_path)
    rows = [modules.run.tried(copy, mutant) for mutant in listed]
    assert [(row.outcome, row.by) for row in rows] == [("killed", "test_gaps.py::test_gap"), ("survived", "")]
    assert (copy.path / "src/gaps.py").read_text() == SOURCE == (tmp_path / "root/src/gaps.py").read_text()
    monkeypatch.setattr(modules.mutants, "equivalents", lambda: {listed[1].key: "no reason"})
    assert modules.run.tried(copy, listed[1]).outcome == "equivalent"


def test_a_list_must_fit_the_code(modules, tmp_path):
    (tmp_path / "one.py").write_text(SOURCE)
    (tmp_path / "list.yaml").write_text(
        '- {file: one.py, before: "gap", after: "x"}\n- {file: moved.py, before: "x", after: "y"}\n'
    )
    with pytest.raises(ValueError) as error:
        modules.mutants.listed(tmp_path / "list.yaml", tmp_path)
    assert "entry 1 ('gap') is 5 times in one.py, not once" in str(error.value)
    assert "entry 2 ('x'): there is no file moved.py; write where it is now" in str(error.value)


def test_every_list_fits_the_code(modules):
    """Check that each `before` occurs exactly once in its file, also for equivalent mutants; tests import each file."""
    listed = modules.mutants.all_listed()
    assert {modules.mutants.package(m.file) for m in listed} >= {"kernels", "reproduction", "accounting", "wang2020"}
    assert [m.file for m in listed if not modules.run.tests_of(m.file)] == []
    texts = {file: modules.mutants.words((ROOT / file).read_text()) for file, _, _ in modules.mutants.equivalents()}
    assert [key for key in modules.mutants.equivalents() if texts[key[0]].count(key[1]) != 1] == []


def test_every_sabotage_fits_the_code(modules):
    rows = modules.mutants.table(modules.sabotages.TABLE)
    for row in rows:
        module, _, names = row["place"].partition(":")
        right = functools.reduce(getattr, names.split("."), importlib.import_module(module))
        assert callable(modules.sabotages.changed(row["change"], right))
    assert {row["paper"] for row in rows} == set(modules.sabotages.FULL)
    twice = modules.sabotages.changed("x * 2", lambda *, x: x)
    assert (twice(x=3), modules.sabotages.changed("argument 2 * 2", lambda a, b: a - b)(1, 3)) == (6, -5)
    assert modules.sabotages.changed("result * 2", abs)(-4) == 8


def test_nearest_tests_come_first_also_of_a_header(modules):
    assert modules.run.tests_of("src/dpmultinomial/_accounting/renyi.py")[0] == "tests/unit/accounting/test_renyi.py"
    for kernel in (ROOT / "src").rglob("*.pyx"):
        assert modules.run.tests_of(str(kernel.relative_to(ROOT))), kernel
    for header in (ROOT / "src").rglob("*.h"):
        assert modules.run.tests_of(str(header.relative_to(ROOT))), header


@pytest.mark.parametrize(
    ("sampled", "by_hand", "enough"),
    [
        (["killed"] * 9 + ["survived"], ["killed"], True),  # nine of ten
        (["killed"] * 8 + ["survived"], [], False),  # eight of nine
        (["killed"] * 8 + ["timeout", "survived", "equivalent"], ["equivalent"], True),
        (["killed"] * 8 + ["equivalent", "survived"], [], False),
        (["killed"] * 50, ["killed"] * 50 + ["survived"], False),  # every constant of a cost
        ([], ["killed"], True),
    ],
)
def test_nine_tenths_of_a_sample_and_all_by_hand_are_enough(modules, sampled, by_hand, enough):
    rows = [
        modules.mutants.Row("module.py", 1, operator, "a", "b", outcome, "", 0.0)
        for operator, outcomes in (("NumberReplacer", sampled), ("by hand", by_hand))
        for outcome in outcomes
    ]
    assert modules.mutants.enough(rows) is enough
