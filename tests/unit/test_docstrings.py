"""Tests that docstrings are in numpydoc format, one entry per line, use existing names and describe every parameter."""

import re
from pathlib import Path

import docstring_rules
import pytest

pytestmark = pytest.mark.house

SRC = Path(__file__).parents[2] / "src"
PLAIN, COMPILED = sorted(SRC.rglob("*.py")), sorted(SRC.rglob("*.pyx"))


def found(path):
    read = docstring_rules.of_python if path.suffix == ".py" else docstring_rules.of_cython
    return read(path.relative_to(SRC), path.read_text(encoding="utf-8"))


def test_every_docstring_keeps_the_rules():
    names = docstring_rules.Names(SRC)
    wrong = [
        f"{docstring.where} {docstring.name}: {what}"
        for path in [*PLAIN, *COMPILED]
        for docstring in found(path)
        for what in [*docstring_rules.mistakes(docstring), *names.unknown(docstring.text)]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_docstring_of_a_kernel_is_overlooked():
    for path in COMPILED:
        read = list(found(path))
        assert len(read) == path.read_text(encoding="utf-8").count('"""') / 2
        assert [d.where for d in read if not d.name] == [f"{path.relative_to(SRC)}:{first_line(path)}"]


def first_line(path):
    return next(n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if line.startswith('"""'))


GOOD = '''
"""A module."""

class Law:
    """A law.

    Parameters
    ----------
    low, high : ends, low < high.
    step : width of a cell; see `Law.of`:
        and where it ends.
    """

    low: int
    high: int
    step: float = 0.5
    known: int = field(init=False)
    kinds: ClassVar[int] = 3

    def of(self, x, *rest, rate=(1, 2), **more):
        """The value at x: `rate` : 1 is fast.

        Parameters
        ----------
        x : float64 (n,).
        *rest : others.
        rate, more : numbers.

        Returns
        -------
        float64 (n,). Costs O(n).
            In all.

        Raises
        ------
        ValueError, zipfile.BadZipFile
            If x is none.
        """

    def _inner(self, x, y):
        """Part of it.

        Parameters
        ----------
        x : known.
        """
'''
SAMPLES = [  # (what is changed, into what, mistakes in words)
    (
        "float64 (n,).\n        *rest",
        "float64 (n,). rest",
        ["'rest' needs a line of its own", r"\['rest'\] are missing"],
    ),
    (
        "float64 (n,).\n        *rest",
        "float64 (n,); rest",
        ["'rest' needs a line of its own", r"\['rest'\] are missing"],
    ),
    ("        *rest : others.\n", "", [r"Parameters: \['rest'\] are missing"]),
    ("rate, more :", "rates, more :", [r"\['rates'\] are not in the signature", r"\['rate'\] are missing"]),
    ("rate, more :", "rate, more, x :", ["x stands twice"]),
    ("        and where", "    and where", ["'and where it ends.' is no `name : text`"]),
    ("            In all", "        In all", ["Returns: 'float64 .*' is no `name", "Returns: 'In all.' is no `name"]),
    ("            In all", "          In all", ["'  In all.' is not indented by 4"]),
    ("x : known", "z : known", [r"\['z'\] are not in the signature"]),
    ("Returns\n        -------", "Return\n        ------", ["'Return' is no section"]),
    ("Raises\n        ------", "Returns\n        -------", ["must each stand once"]),
    ("            If x is none.\n", "", ["must be names of errors, and below it when"]),
    ("low, high : ends", "low: ends", ["'low: ends.*' is no `name : text`", r"\['low', 'high'\] are missing"]),
    ("    low: int\n    high: int\n    step: float = 0.5\n", "", ["nothing here takes any"]),
    ("The value at x: `rate`", "The\n        value at x: `rate`", ["'The' ends early before 'value'"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), SAMPLES, ids=[str(i) for i in range(len(SAMPLES))])
def test_the_rules_find_what_is_wrong(old, new, expected):
    """Make one change at a time to a good sample: exactly its mistakes are reported."""
    assert told(docstring_rules.of_python, GOOD) == []
    assert GOOD.count(old) == 1
    wrong = told(docstring_rules.of_python, GOOD.replace(old, new))
    assert len(wrong) == len(expected)
    assert all(re.search(pattern, line) for pattern, line in zip(expected, wrong, strict=True)), wrong


def told(read, source):
    return [what for docstring in read(Path("sample"), source) for what in docstring_rules.mistakes(docstring)]


KERNEL = '''# cython: language_level=3
"""A kernel."""

cdef class Table:
    """What a loop reads.

    Parameters
    ----------
    rows : int64 (n,).
    """
    def __cinit__(self, rows):
        pass

cdef inline double c_one(double x, const double[:, ::1] table) noexcept nogil:
    """One draw."""
    return x

def fill(Table table not None, double[:, ::1] out not None, int size=3, *,
         first=(0, 0), rng):
    """Many draws.

    Parameters
    ----------
    table, out : see `c_one`.
    size, first : whole numbers.
    rng : numpy Generator.
    """
'''


def test_compiled_signatures_are_read():
    read = {d.name: d.parameters for d in docstring_rules.of_cython(Path("sample"), KERNEL)}
    assert read == {
        "": None,
        "Table": ("rows",),
        "c_one": ("x", "table"),
        "fill": ("table", "out", "size", "first", "rng"),
    }
    assert told(docstring_rules.of_cython, KERNEL) == []
    wrong = told(docstring_rules.of_cython, KERNEL.replace("size, first :", "sizes :"))
    assert len(wrong) == 2


def test_names_that_nothing_has_are_found(tmp_path):
    room = tmp_path / "laws"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "normal.py").write_text('"""`gone`."""\ndef density(x):\n    return x\n')
    names = docstring_rules.Names(tmp_path)
    right = "`x`, `density`, `normal.density`, `laws.normal`, `laws.normal.density`, ``gone``"
    assert list(names.unknown(right)) == []
    assert list(names.unknown("`gone` `normal.x_y` `normal.laws`")) == [
        "`gone` names nothing",
        "`normal.x_y` names nothing",
        "`normal.laws`: normal has no laws",
    ]
