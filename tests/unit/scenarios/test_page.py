"""Tests of the pages of scenarios: self-contained, small, in words, for any names."""

import base64
import gzip
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpmultinomial._releases.spending import Cost
from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making, page

NAMES = ["met with spaces", "Île-de-France", "東京都", "القاهرة", "a" * 60, "</script><script>alert(1)</script>"]


def written(tmp_path, budgets=None, **settings):
    scenario = scenario_settings.single("mine", {"kind": "noisy_counts", **settings}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    target = tmp_path / "pages/mine.html"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = page.write(files, target, budgets=budgets)
    return target.read_text(encoding="utf-8"), told


@pytest.mark.parametrize("size", [2, 6, 200])
def test_a_page_is_small_and_asks_nobody(tmp_path, size):
    names = (NAMES + [f"c{i}" for i in range(200)])[:size]
    counts = {name: 10.5 + i % 7 for i, name in enumerate(names)}
    text, _ = written(tmp_path, counts=counts, epsilon=1.0, total=13 * size, among=names[:2])
    assert len(text.encode()) <= page.LARGEST
    outside = re.findall(r'(?:src|href|url)\s*[=(]\s*"?(?!data:|#)([^"\s>)]+)', text.partition("<svg")[0])
    outside += re.findall(r'(?:src|href)="(?!data:|#)([^"]+)"', text.partition("</svg>")[2])
    assert outside == []
    assert "<script>alert" not in text
    assert "<svg" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 10  # a name is one element's
    assert text.count("<h2>") == 5


def test_a_page_says_what_was_protected_and_of_which_budget(tmp_path):
    text, told = written(tmp_path, counts={"a": 5, "b": 9}, epsilon=1.0, total=14)
    assert told.headline in text
    assert "Individual records were protected with epsilon = 1 (replace a record)." in text
    assert "can become at most 3 : 1 (73 %) sure of the true one." in text  # e = 2.72 and e/(1 + e) = 0.731
    assert "With probability at least 95 %, a published count is within 6 of the true count." in text
    text, _ = written(tmp_path, rehearsal={"counts": [5, 9]}, epsilon=1.0)
    assert "No data were protected: this is a rehearsal with invented counts." in text
    text, _ = written(tmp_path, counts={"a": 5, "b": 9}, noise={"law": "laplace", "scale": 2.0}, total=14)
    assert "The privacy cost of the published numbers is not stated" in text


def test_a_page_says_the_epsilon_of_the_loss_distribution(tmp_path):
    """rho .02 under replacement: sigma^2 = 2/(2 * .02), exact epsilon at 1e-6 by a sum over the noise."""
    noise = {"law": "discrete_gaussian", "rho": 0.02, "relation": "replace a record"}
    text, _ = written(tmp_path, counts={"a": 5, "b": 9}, noise=noise, total=14)
    x = np.arange(-120, 121)
    p = np.exp(-(x**2) * 0.02 / 2)
    both = np.convolve(p, p) / p.sum() ** 2
    loss = (2 * np.arange(-240, 241) + 2) * 0.02 / 2
    at = next(e for e in np.arange(0.8, 1.0, 1e-4) if (both * np.maximum(-np.expm1(e - loss), 0)).sum() <= 1e-6)
    said = re.search(r"with epsilon = ([0-9.]+) at delta = 1e-06; budgets count rho", text)
    assert float(said[1]) == pytest.approx(at, abs=3e-4)
    assert page.composed({"law": "laplace", "scale": 2.0}, Cost(relation="replace a record", epsilon=1.0)) == []
    assert page.composed({"law": "gaussian", "sd": 2.0}, Cost(relation="replace a record", rho=0.02)) == []


def test_equal_results_give_equal_pages(tmp_path):
    asked = {"counts": {"a": 5, "b": 9}, "epsilon": 1.0, "total": 14}
    first, _ = written(tmp_path / "one", **asked)
    second, _ = written(Path(tmp_path / "two"), **asked)
    assert first == second


def test_a_page_has_the_title_and_the_source_that_the_scenario_states(tmp_path):
    asked = {"counts": {"a": 5, "b": 9}, "epsilon": 1.0, "total": 14}
    text, _ = written(tmp_path, **asked, title="Deaths <1 year", source="Office, table 3")
    assert "<h1><bdi>Deaths &lt;1 year</bdi></h1>" in text
    assert "<p>Source: <bdi>Office, table 3</bdi></p>" in text


def test_a_page_of_many_counts_is_short_and_has_them_all(tmp_path):
    """Check the order: answers, then the thirty largest counts; the whole table compressed; the same in the figure."""
    counts = {f"c{i}": 7 * i % 1000 for i in range(900)}
    asked = {"questions": {"more": {"probability": "c142 > c1"}}}
    text, told = written(tmp_path, counts=counts, noise={"law": "laplace", "scale": 2.0}, **asked)
    assert told.headline.startswith("more: the probability that c142 > c1 is ")
    assert [line.noun for line in told.lines[:2]] == ["probability", "true count"]
    assert [line.quantity for line in told.lines[1:4]] == sorted(counts, key=counts.get, reverse=True)[:3]
    assert len(told.lines) == 31
    assert "870 more rows are in the results file; the table shows the largest." in text
    assert "the 30 largest of 900" in text
    raw = base64.b64decode(re.search(r"application/gzip;base64,([^\"]+)", text)[1])
    assert gzip.decompress(raw) == (tmp_path / "results/scenarios/mine.csv").read_bytes()
    assert len(text) < 200_000
