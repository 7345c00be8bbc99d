"""Check the scenarios for noisy shares by comparing the posteriors with posteriors that are computed by enumeration."""

import numpy as np
import pytest
from scipy.special import gammaln

from reproduction import kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import making, sentences, summary

SHARES, TOTAL, R, ALPHA = {"a": 0.55, "b": 0.3, "c": 0.15}, 20, 2.0, 1.5
STATED = {"kind": "noisy_shares", "shares": SHARES, "total": TOTAL, "r": R, "alpha": ALPHA}


def made(folder, **settings):
    scenario = scenario_settings.single(
        "mine", {key: value for key, value in {**STATED, **settings}.items() if value is not None}, kind.discover()
    )
    files = making.files("mine", folder)
    making.part(scenario, files, root_seed=1)
    return making.read(files)


def test_counts_shares_and_rates_by_enumeration(tmp_path):
    """Check the posterior of counts, shares and rates against enumeration. Jeffreys' prior, Dirichlet(1/2, 1/2, 1/2),
    gives counts f a weight proportional to the product of Gamma(f + 1/2)/f!, and the release has the density
    Dirichlet(r f + alpha).
    """
    counts = np.array([(i, j, TOTAL - i - j) for i in range(TOTAL + 1) for j in range(TOTAL + 1 - i)])
    a = R * counts + ALPHA
    logs = gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1) + (a - 1) @ np.log(list(SHARES.values()))
    logs += (gammaln(counts + 0.5) - gammaln(counts + 1)).sum(axis=1)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    rows, _, _ = made(tmp_path, among=["a", "b"])
    found = rows.set_index(["quantity", "type"])["mean"]
    for i, name in enumerate(SHARES):
        assert found[name, "count"] == pytest.approx(p @ counts[:, i], rel=1e-10)
        assert found[name, "share"] == pytest.approx(p @ counts[:, i] / TOTAL, rel=1e-10)
        assert found[name, "rate"] == pytest.approx((p @ counts[:, i] + 0.5) / (TOTAL + 1.5), rel=1e-10)
    some = counts[:, 0] + counts[:, 1] > 0
    share = counts[some, 0] / (counts[some, 0] + counts[some, 1])
    assert found["a among a, b", "share"] == pytest.approx(p[some] @ share / p[some].sum(), rel=1e-10)
    released = rows[(rows["type"] == "share") & (rows["quantity"] == "a")]["released"].iloc[0]
    assert released == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("about", "questions", "stated"),
    [
        ("both", {}, True),
        ("rates", {}, True),
        ("counts", {}, False),
        ("counts", {"q": {"about": "rates", "probability": "a > b"}}, True),
    ],
)
def test_rates_state_the_sampling(tmp_path, about, questions, stated):
    _, _, facts = made(tmp_path, about=about, questions=questions)
    texts = sentences.assumptions(facts, facts["points"][0])
    sampled = "The rates (but not the counts) also assume that the records are an independent random sample."
    assert (sampled in texts) == stated


def test_the_stated_epsilon_is_called_an_upper_bound(tmp_path):
    """Check with Rényi's integral for the files (1, 0) and (0, 1), that is, Dirichlet parameters (r + a, a) and
    (a, r + a): the divergence is below the stated epsilon, which the results call an upper bound.
    """
    _, _, facts = made(tmp_path, r=None, alpha=None, epsilon=1.0, order=5.0)
    point = facts["points"][0]
    r, a = point["r"], point["alpha"]
    first, second = np.array([r + a, a]), np.array([a, r + a])
    mixed = 5 * first - 4 * second
    logs = [gammaln(x).sum() - gammaln(x.sum()) for x in (mixed, first, second)]
    assert 0.5 < (logs[0] - 5 * logs[1] + 4 * logs[2]) / 4 < 0.9
    texts = sentences.assumptions(facts, point)
    assert (
        "Privacy cost of the release: Rényi epsilon at most 1, order = 5 (neighbouring files: replace a record)."
        in texts
    )


def test_an_improbable_share_is_a_conflict(tmp_path):
    """Check that an improbable share leads to a warning on screen and in the metadata of the table. With r = 1/20 and
    alpha = 50, the share of one of three categories is near 1/3 for all counts, so that a share of 0.9 is improbable.
    """
    rare = {"shares": {"a": 0.9, "b": 0.05, "c": 0.05}, "r": 0.05, "alpha": 50.0}
    _, _, facts = made(tmp_path, **rare)
    check = facts["points"][0]["conflict"]
    assert (check["tested"], check["found"], check["names"]) == (3, True, ["a", "b", "c"])
    head = summary.as_text(making.files("mine", tmp_path)).splitlines()[1]
    assert head.startswith("CONFLICT: a, b and c are improbable under the stated noise and prior")
    _, _, facts = made(tmp_path)
    assert not facts["points"][0]["conflict"]["found"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"total": None}, "mine.total: is missing"),
        ({"shares": {"a": 0.5, "b": 0.6}}, "mine.shares: must sum to 1, got 1.1"),
        ({"alpha": None}, "mine: must contain either epsilon and order (Algorithm 1), or r and alpha, got r"),
        ({"among": ["a", "x"]}, "mine.among: 'x': unknown share"),
        ({"prior": "flatt"}, "got 'flatt'"),
    ],
)
def test_mistakes(change, said):
    asked = {key: value for key, value in {**STATED, **change}.items() if value is not None}
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", asked, kind.discover())
    assert said in str(caught.value)
