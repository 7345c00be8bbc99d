"""Tests that documents, docstrings and error messages use the terms of the field and plain English.

Names quoted as code may be any word. To add a term, add a line to `TERMS` and correct the places that the test names.
"""

import ast
import re
from pathlib import Path

import docstring_rules
import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
TERMS = {  # our word: what the field says
    r"behind": "given, underlying, of",
    r"(?:left|leaves?|leaving)\s+(?:\w+\s+)?out": "neglected, omitted, dropped; of a setting: optional, by default",
    r"memory's\s+worth": "in chunks",
    r"rooms?": "package; of memory: space",
    r"doors?": "entry point",
    r"(?:un)?seal(?:ed|s|ing)?": "JSON-encoded",
    r"twins?": "reference implementation",
    r"whatever\s+the\s+reach|reach\s+of\s+the\s+noise|noise's\s+reach": "half-width",
    r"boxes": "intervals",
    r"honesty": "accuracy",
    r"beforehand": "prior, in advance",
    r"anew": "again",
    r"(?:work(?:s|ed)?|working)\s+out": "compute",
    r"of\s+(?:its|their|his)\s+own": "separate, own",
    r"far\s+out": "extreme, improbable",
    r"stands?\s+(?:beside|there|alongside)": "is next to, is reported alongside",
    r"hangs?\s+together": "are consistent, depend on each other",
    r"whole\s+numbers?": "integer",
    r"(?:one|two|number|name|row|column|value|job|entry)\s+a\s+"
    r"(?:row|column|count|quantity|level|node|record|table)": "per",
    r"made[\s-]+up": "synthetic, invented",
    r"refus(?:e|es|ed|al|ing)": "reject",
    r"taken?s?\s+for\s+granted": "assume",
    r"(?<!there )(?<!where )(?:is|are|was|were)\s+no\s+(?!longer|more|less|other|such|\w+er\b)\w+": "is not a",
    r"lest|of\s+late|as\s+to": "plain words",
}
_CODE = re.compile(  # blocks, formulas, names, addresses, and what an entry of a section describes
    r"^(`{3,}).*?^\1|\$\$.*?\$\$|``[^`\n]+``|`[^`\n]+`|\$[^$\n]+\$|\]\([^)\n]*\)|^ *\w+(?:, \w+)* : ",
    re.DOTALL | re.MULTILINE,
)
_OURS = re.compile("|".join(rf"\b(?:{term})\b" for term in TERMS), re.IGNORECASE)


def prose(text):
    """Return a text without quoted code and formulas; its lines keep their numbers."""
    return _CODE.sub(lambda quoted: "\n" * quoted[0].count("\n") or " ", text)


def found(text):
    """Yield (line from 1, our word, the field's word) of every term in a text."""
    words = prose(text)
    for match in _OURS.finditer(words):
        better = next(v for k, v in TERMS.items() if re.fullmatch(k, match[0], re.IGNORECASE))
        yield words[: match.start()].count("\n") + 1, match[0], better


def messages(text):
    """Yield (line, message) of every error raised in a Python module, without the values filled in."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            for part in ast.walk(node.exc.args[0]):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield node.lineno, part.value


def documents():
    paths = {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/how-to").glob("*.md"),
        *SRC.rglob("*.md"),
    }
    told_otherwise = {ROOT / "CHANGELOG.md", ROOT / "docs/how-to/release-keys.md"}  # what was; what `make docs` writes
    return sorted(paths - told_otherwise)


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_use_the_terms_of_the_field(path):
    wrong = [f"line {n}: {word!r}: say {better}" for n, word, better in found(path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_docstrings_use_the_terms_of_the_field():
    wrong = []
    for path in [*SRC.rglob("*.py"), *SRC.rglob("*.pyx")]:
        if "tests" in path.parts:
            continue
        read = docstring_rules.of_python if path.suffix == ".py" else docstring_rules.of_cython
        for docstring in read(path.relative_to(SRC), path.read_text(encoding="utf-8")):
            told = {(word, better) for _, word, better in found(docstring.text)}
            wrong += [f"{docstring.where} {docstring.name}: {word!r}: say {better}" for word, better in sorted(told)]
    assert not wrong, "\n".join(wrong)


def test_error_messages_use_the_terms_of_the_field():
    wrong = []
    for path in SRC.rglob("*.py"):
        if "tests" not in path.parts:
            for line, text in messages(path.read_text(encoding="utf-8")):
                wrong += [f"{path.relative_to(SRC)}:{line}: {word!r}: say {better}" for _, word, better in found(text)]
    assert not wrong, "\n".join(wrong)


def test_a_term_is_found_in_prose_and_not_in_code():
    text = "The shares behind\nnoisy counts; `room.make`, ``behind``.\n\n```\nbehind\n```\n\nA Twin is left\nout."
    assert [(n, word.split()[0]) for n, word, _ in found(text)] == [(1, "behind"), (8, "Twin"), (8, "left")]
    assert [word for _, word, _ in found("room : $boxes$ in the room.\n")] == ["room"]
    assert list(found("The shares given noisy counts: no term is leftover, and a bedroom is none.")) == []
    for sample in ("left out", "leaves it out", "rooms", "sealed", "unsealed", "whatever the reach", "the door"):
        assert len(list(found(f"It is {sample}, so."))) == 1
