"""python tests/mutants/kernels.py [--count N] [--seed N]: mutants of the kernels, each compiled and tested.

A seeded random sample of small errors in .pyx, .pxd and .h files (signs, operators, comparisons, constants, statements,
arguments), and all kernels of ``listed.yaml``. Each mutant is made in a copy of the tree, in which only the kernels
that contain the file are built (-O1). A mutant that does not compile is skipped. A mutant that survives is tested again
by the unit tests in a build that checks every index. Rows, rates and exit code are those of `run.py`.
"""

import ast
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import mutants
import run
from mutants import KERNELS, ROOT, Mutant, Row

MOST = 300.0  # CPU seconds of tests per mutant
SWAPS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "and": "or", "or": "and",
    "&&": "||", "||": "&&",
    "min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin", "floor": "ceil", "ceil": "floor", "break": "continue",
    "True": "False", "False": "True", "not": "", "!": "",
}  # fmt: skip
_TYPE = r"(?:const|double|int|u?int(?:32|64)_t|Py_ssize_t|char|void|float|object|bint|bitgen_t|__m\w+)"
_WORDS = (r'"""(?:[^"]|"(?!""))*"""', r'"[^"\n]*"', r"'[^'\n]*'", rf"<{_TYPE}[\w \t*]*>", rf"\({_TYPE}[\w \t]*\**\)")
_CODE = (r"[\w.]+(?:(?<=\de)[+-]\d+)?", r"[-+*/]=|[<>=!]=|<<|>>|&&|\|\||//|->", r"[-+*/%<>!=(),;\[\]]")
SKIPPED = {True: [r"/\*(?:.|\n)*?\*/", r"#(?:[^\n]|(?<=\\)\n)*"], False: [r"#[^\n]*"]}  # of C, of Cython
_DECLARES = re.compile(
    r"\s*(import|from|cimport|def|cpdef|class|struct|enum|ctypedef|raise|@|cdef (class|struct|enum|extern)"
    rf"|{_TYPE}\b[^=]*$)"
)
_FUNCTION = re.compile(r"\s*(cdef|static)\b[^=]*\(|\s*cdef\b[^=]*$")
_CALL = re.compile(r"\b(?!range\b|in\b|return\b|if\b|for\b|while\b)[A-Za-z_]\w*\((\w+), (\w+)(?=[,)])")
_STATEMENT = re.compile(
    rf"(\s*)(?!(?:if|for|while|else|elif|with|try|return|cdef|pass|static|{_TYPE})\b)"
    r"(\w[^{};]*[=(][^{}]*?)(;?)\s*$"
)
Change = tuple[int, int, str, str]  # first and last place in the text, kind, replacement


def changes(text: str, c: bool) -> Iterator[Change]:
    """Return every change of a Cython or C source that may compile, in the order of the text."""
    token = re.compile("|".join(f"({part})" for part in ("|".join((*SKIPPED[c], *_WORDS)), "|".join(_CODE))))
    masked = re.sub("|".join((*SKIPPED[c], *_WORDS)), lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    allowed, start, signature = [], 0, False
    for line in masked.splitlines(keepends=True):
        signature = signature or bool(_FUNCTION.match(line))
        if not signature and not _DECLARES.match(line):
            allowed.append((start, start + len(line)))
            yield from ((start + a, start + b, kind, new) for a, b, kind, new in _of_line(line, c))
        signature = signature and not re.search(r"[{:;]\s*$" if c else r":\s*$|^[^(]*$", line)
        start += len(line)
    words, lines = [found for found in token.finditer(text) if found[2]], iter(allowed)
    first, last = next(lines, (len(text), len(text)))
    for before, here, after in zip(words, words[1:], words[2:], strict=False):
        while here.start() >= last:
            first, last = next(lines, (len(text), len(text)))
        if first <= here.start() and text[here.start() - 2 : here.start()] != "::":  # a memoryview's layout
            yield from ((here.start(), here.end(), kind, new) for kind, new in _of_word(before[0], here[0], after[0]))


def _of_word(before: str, word: str, after: str) -> Iterator[tuple[str, str]]:
    """Return the changes of one word: (kind, replacement)."""
    value = bool(re.match(r"[\w.\])]", before)) and before not in ("return", "and", "or", "not", "in", "if", "else")
    if re.fullmatch(r"\d+|\d*\.\d*(e[+-]?\d+)?", word) and word != ".":
        number = ast.literal_eval(word)
        for new in (number + 1,) if word == "0" and before in ("[", ",") else (number + 1, number - 1):
            if new != number:
                yield "constant", repr(new) if new >= 0 else f"({new!r})"
    elif word in "+-" and not value:
        yield "sign", ""
    elif (
        word in SWAPS and (value or word.isalpha() or word == "!") and (word, after) != ("not", "in") and before != "is"
    ):
        kinds = {"+-*/%": "arithmetic", "<>=": "comparison", "!": "logic"}
        kind = next((kind for signs, kind in kinds.items() if word.rstrip("=") and word[0] in signs), "word")
        yield "comparison" if word == "!=" else kind, SWAPS[word]


def _of_line(line: str, c: bool) -> Iterator[Change]:
    """Replace f(a, b, ..) by f(b, a, ..); a statement that is not the first line of a block is removed."""
    for call in _CALL.finditer(line):
        if call[1] != call[2]:
            yield call.start(1), call.end(2), "arguments", f"{call[2]}, {call[1]}"
    statement = _STATEMENT.match(line)
    if (
        statement
        and bool(statement[3]) == c
        and not line.rstrip().endswith((":", ",", "("))
        and line.count("(") == line.count(")")
    ):
        yield statement.start(2), statement.end(2), "dropped", "" if c else "pass"


def sampled(seed: int) -> Iterator[Mutant]:
    """Yield mutants without end: a line, uniformly from all that can change, then a kind of change, then a change."""
    rng, places, seen = random.Random(seed), defaultdict(lambda: defaultdict(list)), set()
    files = sorted(path for suffix in KERNELS for path in (ROOT / "src").rglob(f"*{suffix}"))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    for path, text in texts.items():
        for change in changes(text, path.suffix == ".h"):
            places[path, text.count("\n", 0, change[0])][change[2]].append(change)
    order = sorted(places)
    while len(seen) < len(order):
        path, line = rng.choice(order)
        kinds = places[path, line]
        start, end, kind, new = change = rng.choice(kinds[rng.choice(sorted(kinds))])
        if (path, change) not in seen:
            seen.add((path, change))
            text = texts[path]
            yield mutants.mutant(str(path.relative_to(ROOT)), kind, text, text[:start] + new + text[end:])


def build(tree: Path, kernels: list[str], *, checked: bool = False) -> dict[Path, bytes] | None:
    """Build the kernels of a tree; return None if they do not compile; `checked`: with checks of every index."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
    settings = {**os.environ, "DPMULTINOMIAL_KERNELS": " ".join(kernels), "DPMULTINOMIAL_DEBUG": str(int(checked))}
    done = subprocess.run(command, cwd=tree, env=settings, capture_output=True)
    return compiled(tree, kernels) if done.returncode == 0 else None


def compiled(tree: Path, kernels: list[str]) -> dict[Path, bytes]:
    """Return the current compiled files of the kernels."""
    return {path: path.read_bytes() for kernel in kernels for path in (tree / "src").glob(f"{kernel}.*.so")}


def put(files: dict[Path, bytes]) -> None:
    """Write files as new files, because a process may still have the old ones mapped."""
    for path, content in files.items():
        path.unlink(missing_ok=True)
        path.write_bytes(content)


def tried(copy: run.Copy, mutant: Mutant) -> Row | None:
    """Return the row of a mutant of a kernel, or None if it does not compile."""
    from reproduction import dependencies

    if reason := mutants.equivalents().get(mutant.key):
        return run.row(mutant, "equivalent", reason, 0.0)
    kernels = [k for k in dependencies.kernels() if ROOT / mutant.file in dependencies.kernel_sources(k)]
    tests, right = run.tests_of(mutant.file), compiled(copy.path, kernels)
    spent, outcome, by = 0.0, "survived", ""
    copy.put(mutant.file, mutant.text)
    (copy.path / mutant.file).touch()  # newer than the C file of the mutant before it, which is otherwise built again
    try:
        for checked in (False, True):
            wrong = build(copy.path, kernels, checked=checked)
            if wrong is None:
                return None
            versions = {True: wrong, False: right}
            change = partial(lambda versions, mutated: put(versions[mutated]), versions)
            chosen = [test for test in tests if not checked or test.startswith("tests/unit")]
            outcome, by, seconds = copy.fate(chosen, MOST, change, slower=9 if checked else 3, memory=run.MEMORY)
            spent += seconds
            if outcome != "survived":
                break
        return run.row(mutant, outcome, by, spent)
    finally:
        copy.put(mutant.file, (ROOT / mutant.file).read_text(encoding="utf-8"))
        put(right)


def main() -> int:
    asked = run.arguments(__doc__, default=40).parse_args()
    listed = [mutant for mutant in mutants.all_listed() if mutants.package(mutant.file) == "kernels"]
    with TemporaryDirectory() as folder:
        copy = run.Copy(Path(folder))
        setup = (copy.path / "setup.py").read_text(encoding="utf-8")
        assert '"-O3"' in setup
        copy.put("setup.py", setup.replace('"-O3"', '"-O1"'))
        compiling = (m for m in sampled(asked.seed) if asked.matching in f"{m.file} {m.before}")
        chosen = chain(run.some(listed, asked), islice(compiling, asked.count))
        return int(not run.judge("kernels", chosen, asked, partial(tried, copy)))


if __name__ == "__main__":
    sys.exit(main())
