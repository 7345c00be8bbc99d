"""The mutations of Cython sources: what is changed, what is left alone, what is built, tested and enough."""

import sys
from pathlib import Path

import pytest

from reproduction import dependencies

ROOT = Path(__file__).parents[2]
SOURCE = '''"""Docstring with 1 + 1."""
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


@pytest.fixture
def modules():
    """The modules beside the runner, which are no package."""
    sys.path.insert(0, str(ROOT / "tests" / "mutants"))
    try:
        import kernels_operators
        import kernels_tests

        import results
    finally:
        sys.path.remove(str(ROOT / "tests" / "mutants"))
    return kernels_operators, kernels_tests, results


def test_every_change_is_one_of_those_meant(modules, tmp_path):
    (tmp_path / "k.pyx").write_text(SOURCE)
    found = [(m.line, m.operator, m.after) for m in modules[0].mutants(tmp_path / "k.pyx")]
    condition, total = "if x[i] < 3.5 and <int64_t> x[i] > 0:", "total += x[i] * exp(-x[i])"
    assert sorted(found) == sorted([
        (6, "constant", "cdef double total = 1.0"), (6, "constant", "cdef double total = (-1.0)"),
        (9, "comparison", condition.replace("< 3", "<= 3")), (9, "comparison", condition.replace("> 0", ">= 0")),
        (9, "logic", condition.replace(" and ", " or ")),
        (9, "constant", condition.replace("3.5", "4.5")), (9, "constant", condition.replace("3.5", "2.5")),
        (9, "constant", condition.replace("> 0", "> 1")), (9, "constant", condition.replace("> 0", "> (-1)")),
        (10, "arithmetic", total.replace("+=", "-=")), (10, "arithmetic", total.replace("*", "/")),
        (10, "sign", total.replace("-x", "x")), (10, "dropped", "pass"),
    ])  # fmt: skip


def test_a_change_by_hand_must_fit_once(modules, tmp_path):
    (tmp_path / "k.pyx").write_text(SOURCE)
    mutant = modules[0].replaced(tmp_path / "k.pyx", "< 3.5", "< 7.0")
    assert mutant.apply(SOURCE) == SOURCE.replace("3.5", "7.0")
    assert (mutant.line, mutant.operator) == (9, "by hand")
    with pytest.raises(ValueError, match="must stand once"):
        modules[0].replaced(tmp_path / "k.pyx", "x[i]", "x[0]")


def test_a_header_builds_every_kernel_that_holds_its_code(modules):
    shared = ROOT / "src/dpmultinomial/_kernels"
    release, noise = "dpmultinomial/_mechanisms/additive/additive_release", "dpmultinomial/_kernels/geometric"
    assert modules[1].kernels_of(shared / "geometric.pxd", ROOT) == [noise, release]
    assert modules[1].kernels_of(shared / "geometric.pyx", ROOT) == [noise]


def test_every_kernel_has_tests_near(modules):
    for kernel in dependencies.kernels():
        names = [test.name for test in modules[1].tests_of([kernel], ROOT)]
        assert any(not name.startswith("test_hostile") for name in names), kernel
    nearest = modules[1].tests_of(["dpmultinomial/_mechanisms/swapping/swap_draws"], ROOT)[0]
    assert nearest.parts[:2] == ("tests", "unit")


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
        modules[2].Row("room", "module.py", 1, operator, "a", "b", outcome, "", 0.0)
        for operator, outcomes in (("NumberReplacer", sampled), ("by hand", by_hand))
        for outcome in outcomes
    ]
    assert modules[2].enough(rows) is enough
