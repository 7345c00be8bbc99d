"""Tests of the drawn noise: distribution by chi-squared, closed forms of costs, and the arguments passed to it."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

from dpmultinomial._files import csv_table
from dpmultinomial._files.csv_table import parse
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._releases import _classifier, _microdata, _noise, room, spending


def pmf(kind, scale, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale) if kind == "laplace" else np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


# The draws cannot be seeded, so every run draws anew: a threshold of 1e-9 a case is its false-alarm rate.
@pytest.mark.parametrize(
    ("kind", "scale"), [("laplace", 0.4), ("laplace", 2.0), ("laplace", 7.3), ("gaussian", 0.6), ("gaussian", 4.0)]
)
def test_law(kind, scale):
    size, reach = 40_000, 300
    draw = _noise.discrete_laplace if kind == "laplace" else _noise.discrete_gaussian
    found = draw(np.full(size, 11, dtype=np.int64), scale=scale) - 11
    expected = size * pmf(kind, scale, reach)
    kept = np.flatnonzero(expected >= 8)
    inner = slice(kept[0], kept[-1] + 1)
    counts = np.bincount(found + reach, minlength=2 * reach + 1)
    observed = [counts[: kept[0]].sum(), *counts[inner], counts[kept[-1] + 1 :].sum()]
    wanted = np.array([expected[: kept[0]].sum(), *expected[inner], expected[kept[-1] + 1 :].sum()])
    chi2 = float(((np.array(observed) - wanted) ** 2 / np.maximum(wanted, 1e-9)).sum())
    assert stats.chi2.sf(chi2, len(wanted) - 1) > 1e-9


def test_costs_are_the_closed_forms_rounded_upwards():
    for epsilon in (1e-9, 0.01, 0.1, 0.3, 1.0, 7.0, 1000.0):
        for sensitivity in (1, 2, 5):
            scale = _noise.laplace_scale(epsilon, sensitivity=sensitivity)
            assert scale == pytest.approx(sensitivity / epsilon, rel=1e-14)
            assert scale >= sensitivity / epsilon
            stated = _noise.laplace_epsilon(scale, sensitivity=sensitivity)
            assert epsilon * (1 - 1e-14) <= stated <= epsilon
            scale = _noise.gaussian_scale(epsilon, l2_squared=sensitivity)
            assert scale == pytest.approx((sensitivity / (2 * epsilon)) ** 0.5, rel=1e-14)
            assert epsilon * (1 - 1e-13) <= _noise.gaussian_rho(scale, l2_squared=sensitivity) <= epsilon
            assert _noise.gaussian_rho(scale, l2_squared=sensitivity) >= sensitivity / (2 * scale**2)


def test_nothing_that_can_be_seeded_repeats_it():
    values = np.zeros(64, dtype=np.int64)
    drawn = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        streams = _noise.private_stream().integers(0, 2**63, 4)
        drawn.append((*_noise.discrete_laplace(values, scale=1e6), *streams))
    # equal by chance in one of 68 places: below 68/1e6
    assert not any(a == b for a, b in zip(*drawn, strict=True))


def test_the_stream_is_chacha20_under_a_key_of_256_bits():
    state = _noise.private_stream().bit_generator.state
    assert state["bit_generator"].endswith("ChaCha")
    assert state["state"]["rounds"] == 20
    assert sum(int(w != 0) for w in np.asarray(state["state"]["keysetup"]).ravel()[:8]) >= 7  # one word 0: 2^-29


def test_the_generator_is_the_cipher():
    # the first 8 bytes of the keystream under the zero key and nonce (RFC 8439, appendix A.1, test vector 1)
    randomgen = pytest.importorskip("randomgen")
    assert int(randomgen.ChaCha(key=0, rounds=20).random_raw()).to_bytes(8, "little").hex() == "76b8e0ada0f13d90"


def test_extremes():
    big = np.array([2**53, -(2**53)])
    assert np.abs(_noise.discrete_laplace(big, scale=0.01) - big).max() <= 1  # P(|k| > 1) = 2 exp(-200)
    assert _noise.discrete_laplace(np.zeros(0, dtype=np.int64), scale=1.0).shape == (0,)
    assert np.abs(_noise.discrete_laplace(np.zeros(9, dtype=np.int64), scale=2.0**40)).max() > 2**30


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.zeros(3), 1.0),
        (np.zeros((2, 2), dtype=np.int64), 1.0),
        (np.array([2**53 + 1]), 1.0),
        (np.array([-(2**63)]), 1.0),
        (np.zeros(3, dtype=np.int64), 0.0),
        (np.zeros(3, dtype=np.int64), float("nan")),
        (np.zeros(3, dtype=np.int64), 2.0**41),
        (np.zeros(3, dtype=np.int64), "1"),
    ],
)
@pytest.mark.parametrize("draw", [_noise.discrete_laplace, _noise.discrete_gaussian])
def test_bad_input_is_refused(draw, values, scale):
    with pytest.raises((ValueError, TypeError)):
        draw(values, scale=scale)


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
        with pytest.raises(RuntimeError, match="differ from the drawn records"):
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
