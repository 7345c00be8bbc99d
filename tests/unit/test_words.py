"""Tests that documents, docstrings and error messages use the terms of the field and plain English, and that messages
state the fault, the value and what to write instead.

Names quoted as code may be any word. To add a term, add a line to `TERMS` and correct the places that the test names.
"""

import ast
import math
import re
from pathlib import Path

import docstring_rules
import numpy as np
import pytest

import dpmultinomial as dpm
from dpmultinomial._results.questions import DRAWS, Rank
from reproduction import command

pytestmark = pytest.mark.house

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


FILES = {
    "ac.csv": "name,value\na,12\nc,3\n",
    "fraction.csv": "name,value\na,12\nb,3.5\n",
    "twice.csv": "name,value\na,12\nb,1\na,3\n",
    "scale.csv": "name,value,scale\na,12,1\nb,3,0\n",
    "group.csv": "name,value,group\na,12,x\nb,3,\n",
}
LAPLACE = ("--noise", "laplace", "--scale", "2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("ac.csv", *LAPLACE, "--ask", "a/c"),
            "unexpected '/' before 'c': a comparison must contain only sums and differences",
        ),
        (("ac.csv", *LAPLACE, "--ask", "a/c > 2"), "For a ratio, write {ratio: [a, b]}"),
        (("ac.csv",), "(dpm answer: --noise laplace --scale 2)"),
        (("ac.csv", "--noise", "tulap", "--scale", "2"), "did you mean discrete_laplace, after rounding"),
        (("fraction.csv", "--noise", "discrete_laplace", "--scale", "2"), "discrete_laplace noise, got 3.5 in row 2"),
        (("twice.csv", *LAPLACE), "the name 'a' occurs in rows 1 and 3: rename one of the counts"),
        (("scale.csv", "--noise", "laplace"), "column scale: must be > 0, got 0 (row 2)"),
        (("group.csv", *LAPLACE), "column 'group': the cell in row 2 is empty: name a group for each count"),
    ],
)
def test_messages_of_answers(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    with pytest.raises(SystemExit) as caught:
        command.main(("answer", *words))
    assert said in str(caught.value)


def test_the_key_of_a_table_of_probabilities_is_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = "{law: table, table: p.csv}"
    Path("mine.yaml").write_text(f"scenarios:\n  a: {{kind: noisy_counts, counts: {{a: 1, b: 2}}, noise: {noise}}}\n")
    with pytest.raises(SystemExit) as caught:
        command.main(("check", "mine.yaml"))
    assert "noise.table: unknown key, did you mean 'file'?" in str(caught.value)


def test_calibrated_mechanisms_name_the_sensitivity():
    with pytest.raises(TypeError, match=r"is missing: pass sensitivity=2 if one record is replaced"):
        dpm.Laplace.calibrated(1.0)
    for words in ({}, {"sensitivity": 1.0, "l2_squared": 1.0}):
        with pytest.raises(
            TypeError,
            match=r"exactly one of sensitivity .* and l2_squared .* must be given, got .*: pass l2_squared=2",
        ):
            dpm.DiscreteGaussian.calibrated(0.5, **words)
    both = (
        dpm.Gaussian.calibrated(0.5, sensitivity=math.sqrt(2)),
        dpm.Gaussian.calibrated(0.5, l2_squared=2.0),
    )
    assert [law.sigma for law in both] == pytest.approx([math.sqrt(2)] * 2)  # sigma^2 = 2/(2 rho)


def test_priors_and_groups_that_are_not_there():
    release = dpm.Release([1.0, 2.0, 3.0], mechanism=dpm.Laplace(scale=2.0))
    with pytest.raises(
        ValueError, match=r"groups is required .*: pass groups, or write \{'law': 'negative_binomial', \.\.\}"
    ):
        dpm.posterior(release, prior={"negative_binomial": {"mean": 3.0}})
    blank = dpm.Release([1.0, 2.0, 3.0], mechanism=dpm.Laplace(scale=2.0), groups=["a", " ", "b"])
    with pytest.raises(ValueError, match="the name for count 2 is empty"):
        dpm.posterior(blank)


def test_a_generator_is_made_by_a_public_function():
    found = dpm.posterior(dpm.Release([1.0, 2.0], mechanism=dpm.Laplace(scale=2.0)))
    with pytest.raises(TypeError, match=r"for example dpmultinomial\.stream\(seed, 'name'\), got 3"):
        found.counts.sample(2, rng=3)


def test_a_table_out_of_reach_names_public_functions():
    table = np.array([[50, 20, 10], [0, 30, 20], [10, 10, 40]])
    with pytest.raises(ValueError, match=r"the posterior of this table is sampled by Markov chains") as caught:
        dpm.posterior(dpm.Release(table, mechanism=dpm.Swap(rate=0.2)))
    assert "pass rng= to dpmultinomial.posterior" in str(caught.value)
    assert "._" not in str(caught.value)


def test_the_statistics_of_a_mechanism_of_sums_are_sums():
    """Of 0.5, 1 and 2 in [0, 3], measured from 1.5: -1 - 0.5 + 0.5 and 1 + 0.25 + 0.25; one record above."""
    x = [0.5, 1.0, 2.0, 4.0]
    mechanism = dpm.CensoredStatistics(lower=0.0, upper=3.0, scale=1e-9, sums=True)
    assert mechanism.of(x) == pytest.approx([-1.0, 1.5, 0.0, 1.0])
    assert mechanism.sample(x, rng=dpm.stream(1, "sums")) == pytest.approx(mechanism.of(x), abs=1e-6)
    assert dpm.CensoredStatistics(lower=0.0, upper=3.0).of(x) == pytest.approx([3.5 / 3, 3.5**2 / -3 + 5.25, 0, 1])


def test_ranks_on_which_all_draws_agree_state_a_bound():
    """No draw shows another rank: its probability is at most p with p such that (1 - p)^DRAWS = 0.05."""
    release = dpm.Release([205.0, 5.0, 100.0, 100.0], mechanism=dpm.Laplace(scale=1.0), parents=[None, 0, 0, 0])
    found = dpm.posterior(release)
    rows = found.ask({"r": {"rank": {"of": ["2", "3", "4"], "top": 3}}}, rng=dpm.stream(1, "ranks"))
    rows = rows.set_index("quantity")
    unseen = 1 - 0.05 ** (1 / DRAWS)
    assert rows.loc["r: 2", "mean"] == 3.0
    assert rows.loc["r: 2", "error"] == pytest.approx(2 * unseen)
    p = rows.loc["r: P(2 in top 3)"]  # certain for three ranked counts
    assert (p["mean"], p["error"]) == (1.0, 0.0)
    two = found.ask({"r": {"rank": {"of": ["2", "3", "4"], "top": 2}}}, rng=dpm.stream(1, "ranks"))
    p = two.set_index("quantity").loc["r: P(3 in top 2)"]
    assert (p["mean"], p["error"]) == (1.0, pytest.approx(unseen))
    other = rows.loc["r: 3"]
    assert other["error"] == pytest.approx(other["sd"] / DRAWS**0.5)


def test_a_probability_of_shares_is_given_that_their_denominator_is_not_0():
    """The counts a and b have the same distribution, so either is larger with the same probability."""
    released = dpm.Release({"a": 0, "b": 0, "c": 20}, mechanism=dpm.DiscreteLaplace(scale=0.5), total=20)
    found = dpm.posterior(released)
    a, b = (
        found.probability(f"{x} > {y}", of="shares", among=["a", "b"], rng=dpm.stream(1, "p")) for x, y in ("ab", "ba")
    )
    draws = dpm.stream(1, "p")  # of which about 2 % have the sum a + b > 0
    positive = found.probability("a + b > 0", rng=draws)
    size = int(a.accuracy.reason.partition(" of the draws")[0].rpartition(" ")[2].replace(",", ""))
    assert size == pytest.approx(100_000 * positive, rel=0.1)
    assert a.accuracy.error == pytest.approx((a * (1 - a) / size) ** 0.5)
    assert abs(a - b) < 4 * (a.accuracy.error + b.accuracy.error)
    assert a + b > 0.9  # they are equal only if both are positive


def test_a_rank_that_all_draws_show_has_the_probability_1():
    """The floating-point sum 1/6 + 4/6 + 1/6 is below 1."""
    rank = Rank(0, np.array([1, 2, 3]), np.array([1.0, 4.0, 1.0]) / 6)
    assert rank.probabilities.sum() < 1
    assert (rank.among(3), rank.among(2), rank.among(0)) == (1.0, pytest.approx(5 / 6), 0.0)
