"""Tests of the arguments that a mechanism passes to its noise, with the noise replaced by known values."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dpmultinomial._files import csv_table
from dpmultinomial._files.csv_table import parse
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._releases import _classifier, _microdata, _noise, room, spending


@pytest.fixture
def root(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    return tmp_path


def table(text):
    return parse(text.encode(), name="t.csv", confidential=True)


def test_statistics_reach_the_noise_rounded_to_their_grid(root, monkeypatch):
    monkeypatch.setattr(_noise, "discrete_laplace", lambda values, *, scale: values)
    x = np.array([0.1, 0.5, 1.3, 2.2, 2.9, 3.5, 9.0])
    (root / "confidential" / "x.csv").write_text("x\n" + "".join(f"{v}\n" for v in x))
    settings = {"mechanism": "censored_statistics", "data": "confidential/x.csv", "column": "x", "epsilon": 1.0}
    folder = room.make("c", settings | {"lower": 0.5, "upper": 3}, root=root)
    said = json.loads((folder / "record.json").read_text())
    inside = x[(x >= 0.5) & (x <= 3)]
    truth = {"mean": inside.mean(), "sse": ((inside - inside.mean()) ** 2).sum(), "low": 1, "high": 2}
    found = csv_table.read(folder / "release.csv")
    for key, value in zip(found.texts("statistic"), found.numbers("value"), strict=True):
        assert abs(value - truth[key]) <= said["step"][key] / 2 + 1e-15


def test_the_total_of_an_additive_release_gets_noise_of_its_own(root, monkeypatch):
    monkeypatch.setattr(_noise, "discrete_laplace", lambda values, *, scale: values + 1000)
    (root / "confidential" / "c.csv").write_text("category,count\na,10\nb,20\nc,30\n")
    settings = {"mechanism": "additive_counts", "data": "confidential/c.csv", "epsilon": 1.0, "algorithm": "3"}
    folder = room.make("a", settings, root=root)
    assert csv_table.read(folder / "release.csv").whole("count").sum() == 1060  # 60 and 1000 once, not three times


def test_many_pure_costs_are_cheaper_through_their_renyi_curve():
    many = [spending.Cost(relation=spending.REPLACE, epsilon=0.1)] * 400

    def curve(order):  # randomised response at epsilon = 0.1, and equation 14 of Ponnoprat (2022)
        response = math.log((math.exp(order * 0.1) + math.exp((1 - order) * 0.1)) / (1 + math.exp(0.1))) / (order - 1)
        return 400 * response + math.log1p(-1 / order) - (math.log(1e-6) + math.log(order)) / (order - 1)

    best = minimize_scalar(curve, bounds=(1.01, 100), method="bounded").fun
    assert best < 0.35 * 40  # the sum of all is 40
    assert best - 1e-9 <= spending.epsilon_at(many, delta=1e-6) <= best * 1.01


def test_a_swapped_file_with_another_byte_changed_is_never_published():
    before = table("a,b\n1,x\n2,y\n3,z\n")
    sources = np.array([1, 2, 0])
    good = before.exchanged(["b"], sources)
    _microdata._verify(before, good, ["b"], sources)
    for bad in (good.replace(b"3,", b"4,"), good.replace(b"y", b"x", 1), good + b"\n", good.replace(b"\n", b"\r\n", 1)):
        with pytest.raises(RuntimeError, match="does not contain the drawn records"):
            _microdata._verify(before, bad, ["b"], sources)


def test_bins_are_closed_below_and_the_outer_ones_take_the_rest():
    settings = {"numeric": ["x"], "bounds": {"x": [0, 10]}, "bins": 5, "levels": {}}
    names, codes = _classifier.categories(settings, table("x\n-3\n0\n1.9\n2\n8\n9.9\n10\n77\n"), "x")
    assert names[0] == "[0, 2)"
    assert codes.tolist() == [0, 0, 0, 1, 4, 4, 4, 4]


def test_a_dirichlet_model_shares_its_budget_over_its_tables(root):
    (root / "confidential" / "p.csv").write_text("t,u,v\n" + "a,c,e\nb,d,f\n" * 9)
    levels = {"t": ["a", "b"], "u": ["c", "d"], "v": ["e", "f"]}
    settings = {"mechanism": "naive_bayes", "data": "confidential/p.csv", "target": "t", "levels": levels}
    folder = room.make("m", settings | {"noise": "dirichlet", "epsilon": 3.0, "order": 5.0}, root=root)
    said = json.loads((folder / "record.json").read_text())
    assert (said["r"], said["alpha"]) == dirichlet.calibrate(1.0, order=5.0)
    assert said["exact_delta_of_one_table"]["epsilon"] == 1.0


def test_association_is_that_of_a_chi_squared_table():
    """Check Cramer's V of a two by two table: |ad - bc| divided by the root of the product of its margins."""
    a, b = np.repeat([0, 0, 1, 1], [5, 2, 1, 4]), np.repeat([0, 1, 0, 1], [5, 2, 1, 4])
    assert _microdata.cramers_v(a, b) == pytest.approx((5 * 4 - 2 * 1) / (7 * 5 * 6 * 6) ** 0.5, rel=1e-12)
    assert np.isnan(_microdata.cramers_v(a, np.zeros_like(a)))
