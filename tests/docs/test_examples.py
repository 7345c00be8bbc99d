"""Tests of the Python examples in README and docs/, and of the toy paper in the walk-through."""

import doctest
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.special import betainc, gammaln, logsumexp

from reproduction import kind, paper

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
EXAMPLES = [path for path in PAGES if "_build" not in path.parts and ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_run_and_show_what_they_say(path):
    result = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


def test_the_readme_is_short_and_has_its_pictures():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    pictures = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", text)
    assert pictures == ["docs/gallery/balmat2018.figure_1.png", "docs/gallery/report.png"]
    with Image.open(ROOT / pictures[1]) as picture:  # tests/browser/picture.py
        assert picture.width == 1300
    assert (ROOT / pictures[1]).stat().st_size < 100_000


def test_the_readme_has_a_kind_for_all_data_and_its_scores_add_up():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| your data | kind |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", table))
    assert set(kind.discover()) <= named
    assert {"parent", "table"} <= named  # columns that make a tree, and a batch
    said = re.search(r"at present: \*(.*?)\*", re.sub(r"\s+", " ", text))[1]
    scores = [part for part in said.split(". ") if part]
    assert [re.sub(r"\d+ ", "", part).partition(":")[0] for part in scores] == [
        "printed statements checked",
        "verbal statements judged with thresholds chosen by this project",
        "tests of the samples and curves of this project",
    ]
    for part in scores:
        judged, *parts = map(int, re.findall(r"\d+", part))
        assert judged == sum(parts)


def test_the_readmes_numbers_are_those_of_a_plain_enumeration():
    """Return the posterior of p1/(p1 + p0) for M = 50 from all compositions, by Beta distributions."""
    noisy, total, scale = (12.3, -4.1, 44.2), 50, 2.0
    cells = [(a, b, total - a - b) for a, b in itertools.product(range(total + 1), repeat=2) if a + b <= total]
    counts = np.array(cells, dtype=float)
    # Dirichlet(1/2, 1/2, 1/2) rates weigh the counts s by the product of Gamma(s + 1/2)/s!
    log_weights = (gammaln(counts + 0.5) - gammaln(counts + 1)).sum(axis=1) - np.abs(np.array(noisy) - counts).sum(
        axis=1
    ) / scale
    weights = np.exp(log_weights - logsumexp(log_weights))
    a, b = counts[:, 0] + 0.5, counts[:, 1] + 0.5
    assert weights @ (a / (a + b)) == pytest.approx(0.902, abs=5e-4)
    assert weights @ betainc(a, b, 0.513) == pytest.approx(0.025, abs=2e-4)
    assert weights @ betainc(a, b, 0.9999) == pytest.approx(0.975, abs=5e-4)


def walked_through(folder):
    """Write the files that docs/how-to/add-a-paper.md shows into `folder`."""
    text = (ROOT / "docs/how-to/add-a-paper.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)```", text, flags=re.DOTALL)
    folder.mkdir()
    for name, content in blocks:
        (folder / name).write_text(content, encoding="utf-8")
    return [name for name, _ in blocks]


def test_the_paper_that_the_walk_through_writes_is_one(tmp_path):
    names = walked_through(tmp_path / "toy2026")
    assert len(names) == 7
    found = paper.read(tmp_path / "toy2026")
    assert [artefact.name for artefact in found.artefacts] == ["table_1", "errata"]
    assert found.figures() == ["figures/toy2026/table_1.png"]
