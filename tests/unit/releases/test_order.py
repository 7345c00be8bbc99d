"""Tests that the order of the rows of a confidential file does not affect any published byte, for the same noise.

Pages, figures and answers are computed only from the published bytes, so the result applies to all of them.
"""

import numpy as np
import pytest

from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import _noise, room

FLAT = ["category,count", "pear,12", "apple,700", '"fig, dried",0', "cherry,31", "Ärger,5", "date,0", "élan,44"]
SWAPPED_COLUMNS = ["count,category", "12,pear", "700,apple", "0,fig", "31,cherry"]
TREE = ["category,parent,count", "all,,60", "east,all,31", "west,all,29", "b,east,20", "a,east,11", "d,west,29",
        "c,west,0"]  # fmt: skip
RECORDS = ["area,age,sex,x", *(f"{a},{age},{s},{x}" for a, age, s, x in zip(
    "ababbaabbaababab", [30, 31, 30, 9, 77, 8, 30, 9] * 2, "mfmfffmmfmfmmmff", [0.1, 0.7, 2.3, 1e9] * 4, strict=True
)), '"a",30,m,0.1', 'b,"9",f,1000000000.0']  # fmt: skip
LEVELS = {"sex": ["f", "m"], "area": ["a", "b"]}
CASES = {
    "laplace": (FLAT, {"mechanism": "discrete_laplace", "epsilon": 1.0}),
    "gaussian": (SWAPPED_COLUMNS, {"mechanism": "discrete_gaussian", "rho": 0.5}),
    "tree": (TREE, {"mechanism": "discrete_laplace", "epsilon": 1.0}),
    "narrow tree": (TREE, {"mechanism": "discrete_laplace", "epsilon": 1.0, "levels": ["root", "side", "leaf"],
                           "narrow": ["side", "leaf"]}),
    "public root": (TREE, {"mechanism": "discrete_gaussian", "rho": 1.0, "relation": "replace a record"}),
    "summed": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "1-summed"}),
    "independent": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "1-independent"}),
    "clipped": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "2"}),
    "mode": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "3"}),
    "statistics": (RECORDS, {"mechanism": "censored_statistics", "epsilon": 1.0, "column": "x", "lower": 0,
                           "upper": 3}),
    "swap": (RECORDS, {"mechanism": "swap", "swap": ["sex", "x"], "match": ["area"], "rate": 0.5,
                       "accept_weak_privacy": True}),
    "classifier": (RECORDS, {"mechanism": "naive_bayes", "target": "sex", "levels": LEVELS, "numeric": ["age"],
                             "bounds": {"age": [0, 90]}, "noise": "discrete_laplace", "epsilon": 1.0}),
    "dirichlet": (RECORDS, {"mechanism": "naive_bayes", "target": "sex", "levels": LEVELS, "noise": "dirichlet",
                            "epsilon": 3.0, "order": 5.0}),
    "network": (RECORDS, {"mechanism": "bayesian_network", "levels": LEVELS, "network": {"area": [], "sex": ["area"]},
                          "noise": "discrete_gaussian", "rho": 1.0}),
}  # fmt: skip


@pytest.fixture
def noise(monkeypatch):
    """Use the same noise at every position, in every release."""

    def added(values, *, scale):
        return values + np.random.default_rng(7).integers(-20, 20, len(values))

    monkeypatch.setattr(_noise, "discrete_laplace", added)
    monkeypatch.setattr(_noise, "discrete_gaussian", added)
    monkeypatch.setattr(_noise, "private_stream", lambda: np.random.default_rng(8))
    return monkeypatch


def published(root, lines, settings, *, end="\n", encoding="utf-8"):
    """Return the bytes of both public files and the ledger, without keyed fingerprints and times."""
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential" / "c.csv").write_bytes((end.join(lines) + end).encode(encoding))
    settings = settings | {"data": "confidential/c.csv"}
    folder = room.make("r", settings, root=root)
    ledger = (root / "releases" / "ledger.tsv").read_text()
    digests = [part for line in ledger.splitlines() for part in line.split("\t")[3:8]]
    return (folder / "release.csv").read_bytes(), (folder / "record.json").read_bytes(), digests


@pytest.mark.parametrize("case", CASES)
def test_no_published_byte_depends_on_the_order_of_the_rows(tmp_path, noise, case):
    (header, *rows), settings = CASES[case]
    orders = [rows, rows[::-1], sorted(rows), *(np.random.default_rng(k).permutation(rows).tolist() for k in range(2))]
    found = []
    for k, order in enumerate(orders):
        noise.setenv("XDG_STATE_HOME", str(tmp_path / f"account {k}"))  # else one file spends one budget
        found.append(published(tmp_path / str(k), [header, *order], settings))
    for other in found[1:]:
        assert other == found[0]


def test_names_are_in_the_order_of_names(tmp_path, noise):
    data, _, _ = published(tmp_path / "flat", *CASES["laplace"])
    names = parse(data, name="c", confidential=False).texts("category")
    assert names == ["apple", "cherry", "date", "fig, dried", "pear", "Ärger", "élan"]
    data, _, _ = published(tmp_path / "tree", *CASES["tree"])
    assert parse(data, name="c", confidential=False).texts("category") == ["all", "east", "west", "a", "b", "c", "d"]


@pytest.mark.parametrize(("end", "encoding"), [("\r\n", "utf-8"), ("\n", "utf-8-sig"), ("\r\n", "utf-16")])
def test_a_swap_keeps_the_form_of_the_file_and_every_field_that_is_held(tmp_path, noise, end, encoding):
    lines, settings = CASES["swap"]
    data, _, _ = published(tmp_path, lines, settings, end=end, encoding=encoding)
    text = data.decode(encoding)
    header, *rows = text.removesuffix(end).split(end)
    assert (header, rows) == (lines[0], sorted(rows))
    for column in (0, 1):
        assert sorted(row.split(",")[column] for row in rows) == sorted(row.split(",")[column] for row in lines[1:])


def test_a_file_that_is_sorted_by_a_swapped_column_does_not_undo_the_swap(tmp_path):
    """Check one stratum of people sorted by income: the released rank is independent of the confidential rank."""
    names = np.random.default_rng(3).permutation(400).tolist()
    settings = {"mechanism": "swap", "swap": ["income"], "match": ["area"], "rate": 0.9, "accept_weak_privacy": True}
    data, _, _ = published(tmp_path, ["area,id,income", *(f"a,{name},{k}" for k, name in enumerate(names))], settings)
    incomes = [int(row.split(b",")[2]) for row in data.splitlines()[1:]]
    right = np.mean(np.array(incomes) == np.arange(400))
    assert right < 0.05  # 0.1 stay in place of a file in the order of incomes; 1/400 by chance


def test_a_table_is_sorted_by_the_bytes_of_its_records():
    table = parse(b'\n\na,b\r\n2,"x\r\ny"\n\n1,z', name="t", confidential=True)
    assert table.sorted().raw == b'a,b\r\n1,z\r\n2,"x\r\ny"\r\n'
    assert parse(b"a,b\n", name="t", confidential=True).sorted().raw == b"a,b\n"
