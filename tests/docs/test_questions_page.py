"""Check the answers in docs/how-to/questions.md against an enumeration of the counts."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making

PAGE = Path(__file__).parents[2] / "docs/how-to/questions.md"
N = np.arange(120)


def law(released, sigma=5.0):
    """Return the posterior for the prior 1/(1 + n) and discrete Gaussian noise, whose constant cancels."""
    weights = np.exp(-((released - N) ** 2) / (2 * sigma**2)) / (1 + N)
    return weights / weights.sum()


def shown(name):
    """Return the numbers of the row that begins with this name."""
    (row,) = re.findall(rf"^ *{re.escape(name)} +(\S.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [float(part) for part in row.split()[:3]]


def interval(p):
    """Return the central 95 % interval, with at most 2.5 % beyond each end."""
    values, below = np.arange(len(p)), np.cumsum(p)
    return [float(values[np.argmax(below >= 0.025)]), float(values[np.argmax(below >= 0.975)])]


@pytest.fixture(scope="module")
def counts():
    return {"essex/men": law(31), "essex/women": law(22), "orange/men": law(9), "orange/women": law(14)}


def test_the_five_tasks_equal_enumeration(counts):
    sums = {
        "men in essex": counts["essex/men"],
        "men in orange": counts["orange/men"],
        "men in both": np.convolve(counts["essex/men"], counts["orange/men"]),
    }
    for name, p in sums.items():
        mean, *ends = shown(name)
        assert mean == pytest.approx(np.arange(len(p)) @ p, abs=0.0051)
        assert ends == interval(p)
    for county in ("essex", "orange"):
        joint = np.outer(counts[f"{county}/men"], counts[f"{county}/women"])
        assert shown(f"more men in {county}")[0] == pytest.approx(np.tril(joint, -1).sum(), abs=0.0051)


def test_the_ranks_equal_enumeration(counts):
    names, rng_free = list(counts), np.stack(list(counts.values()))
    above = {(i, j): rng_free[j][::-1].cumsum()[::-1] - rng_free[j] for i in range(4) for j in range(4) if i != j}
    for i, name in enumerate(names[:2]):
        others = [above[i, j] for j in range(4) if j != i]  # P(other > n)
        mean = 1 + sum(counts[name] @ chance for chance in others)
        none = np.prod([1 - chance for chance in others], axis=0)
        one = sum(chance * np.prod([1 - o for o in others if o is not chance], axis=0) for chance in others)
        assert shown(f"largest: {name}")[0] == pytest.approx(mean, abs=6e-4)
        assert shown(f"largest: P({name} in top 2)")[0] == pytest.approx(counts[name] @ (none + one), abs=6e-4)


def test_a_flat_prior_is_shown_where_it_says_otherwise():
    flat = np.exp(-((9 - N) ** 2) / 50)
    mean, other, *_ = [*shown("orange/men"), None]
    assert mean == pytest.approx(N @ law(9), abs=0.0051)
    assert other == pytest.approx(N @ flat / flat.sum(), abs=0.0051)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_five_tasks_in_yaml_run_and_equal_enumeration(counts, tmp_path, monkeypatch):
    """Check answers of at most eight lines each, with the numbers in full precision."""
    monkeypatch.chdir(tmp_path)
    (listed,) = blocks("text")
    (tmp_path / "census.csv").write_text(listed)
    found = {}
    for text in blocks("yaml"):
        assert len(text.strip().splitlines()) <= 8
        ((name, written),) = yaml.safe_load(text)["scenarios"].items()
        files = making.files(name)
        making.part(scenario_settings.single(name, written, kind.discover()), files, root_seed=1)
        rows = pd.read_csv(files.csv).set_index("quantity")
        assert (rows["status"] == "exact").all()
        assert rows.index[:4].tolist() == list(counts)
        found |= {name: rows}
    assert list(found) == ["essex", "orange", "majority", "elsewhere", "both"]
    both = np.convolve(counts["essex/men"], counts["orange/men"])
    sums = {"essex": ("essex/men", counts["essex/men"]), "orange": ("men in orange", counts["orange/men"])}
    for name, (label, p) in (sums | {"both": ("men in both", both)}).items():
        row = found[name].loc[label]
        assert row["mean"] == pytest.approx(np.arange(len(p)) @ p, rel=1e-9)
        assert [row["lower"], row["upper"]] == interval(p)
    for name, county in (("majority", "essex"), ("elsewhere", "orange")):
        joint = np.outer(counts[f"{county}/men"], counts[f"{county}/women"])
        chance = found[name].loc[f"more men in {county}", "mean"]
        assert chance == pytest.approx(np.tril(joint, -1).sum(), rel=1e-9)
        assert chance < 0.95
