"""Tests of plans against enumeration: conclusive and correct, or wrong; the stated frequency is from fresh releases."""

import inspect
import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import dpmultinomial as dpm
from dpmultinomial import stream
from dpmultinomial._inference import planning
from dpmultinomial._inference.planning import Goal, Search

RARE = {"a": 0.002, "b": 0.5, "c": 0.498}
SHARES = {"met": 0.5, "not_met": 0.4, "failed": 0.1}
WANTED, RUNS = 0.9, 400


def enumerated(epsilon, *, p, total, level, reach):
    """Return P(conclusive and correct), P(conclusive and wrong) of "1 > 2" for two counts with discrete Laplace noise,
    by listing every file, release and posterior; no code is shared with the library."""
    a = np.exp(-epsilon / 2)
    n = np.arange(total + 1)
    noise = np.arange(-reach, reach + 1)
    law = (1 - a) / (1 + a) * a ** np.abs(noise)
    values = np.arange(-reach, total + reach + 1)  # what either count can be released as, of any file
    away = np.abs(values[:, None, None] - n) + np.abs(values[None, :, None] - (total - n))
    post = a ** (away - away.min(axis=2, keepdims=True)).astype(float)
    chance = post[:, :, n > total - n].sum(axis=2) / post.sum(axis=2)
    right = wrong = 0.0
    for true in n:
        seen = chance[true : true + len(noise), total - true : total - true + len(noise)]
        weight = binom.pmf(true, total, p) * law[:, None] * law[None, :]
        yes, no = weight[seen >= level].sum(), weight[seen <= 1 - level].sum()
        right, wrong = (right + yes, wrong + no) if true > total - true else (right + no, wrong + yes)
    return right, wrong


@pytest.mark.thorough
def test_a_plan_agrees_with_the_enumeration_of_every_file_and_release():
    setting = {"p": 0.75, "total": 9, "level": 0.7}
    found = dpm.plan([0.75, 0.25], 9, question="'1' > '2'", level=0.7, probability=0.8, rng=stream(1, "plan"))
    right, wrong = enumerated(found.epsilon, reach=60, **setting)
    error = np.sqrt(0.8 * 0.2 / RUNS)
    assert right == pytest.approx(0.8 + error, abs=4 * error)  # the search aims at one standard error more
    assert found.frequency == pytest.approx(right, abs=4 * error)
    assert found.wrong == pytest.approx(wrong, abs=4 * np.sqrt(wrong * (1 - wrong) / RUNS))
    assert wrong > 4 / RUNS  # else nothing of this was tested
    for row in found.curve.itertuples():
        if row.epsilon > 0.4:  # else the enumeration would have to reach further
            exact = enumerated(row.epsilon, reach=80, **setting)
            assert row.frequency == pytest.approx(exact[0], abs=4.5 * np.sqrt(0.25 / (RUNS / 4)))


@pytest.mark.parametrize("of", ["rates", "shares"])
def test_an_answer_that_the_prior_gives_alone_and_wrongly_is_none(of):
    """Check a flat prior with P(a > .01) = .98, truth .002: at small epsilon every release is conclusive and wrong."""
    with pytest.raises(
        ValueError, match=r"even at the largest .* correct answer in (0.0|\d.\d)% .* wrong answer in (9\d.\d|100.0)%"
    ):
        dpm.plan(
            RARE, 50, question="a > 0.01", level=0.9, of=of, prior="flat", between=(0.001, 0.05), releases=100,
            rng=stream(1, "rare"),
        )  # fmt: skip


def test_a_curve_that_falls_is_refused():
    with pytest.raises(ValueError, match=r"decreases with epsilon .epsilon 0.01 .* the prior determines"):
        dpm.plan(
            {"a": 0.01, "b": 0.5, "c": 0.49}, 50, question="a > 0.01", level=0.9, probability=0.5, prior="flat",
            between=(0.01, 1.0), rng=stream(1, "x"),
        )  # fmt: skip


def curve(frequency):
    """Return a simulation in which a release is correct with probability `frequency`(epsilon), by common uniforms."""
    uniform = stream(2, "uniform").random(10_000)

    def simulate(epsilon, runs):
        right = uniform[:runs] < frequency(epsilon)
        return np.stack([right, ~right & (uniform[:runs] > 0.99)], axis=1)

    return simulate


def search(frequency, **more):
    setting = {"low": 0.01, "high": 100.0, "wanted": WANTED, "releases": RUNS, "precision": 0.02} | more
    return Search(curve(frequency), **setting)


def test_the_search_finds_where_a_known_curve_crosses():
    """Check the frequency epsilon/(epsilon + 1) with common uniforms: the crossing is an order statistic."""
    found = search(lambda e: e / (1 + e)).smallest()
    uniform = np.sort(stream(2, "uniform").random(10_000)[:RUNS])
    share = uniform[int(np.ceil(RUNS * (WANTED + np.sqrt(WANTED * (1 - WANTED) / RUNS)))) - 1]
    assert found == pytest.approx(share / (1 - share), rel=0.02)
    assert found >= share / (1 - share)


def test_the_search_goes_back_if_a_grid_point_failed_by_chance():
    """Check a crossing at 0.015 for all releases, although the fewer releases of the grid fail at 0.01 and at 0.02."""

    def simulate(epsilon, runs):
        right = np.full(runs, epsilon > 0.03 or (epsilon >= 0.015 and runs == RUNS))
        return np.stack([right, np.zeros(runs, bool)], axis=1)

    found = Search(simulate, low=0.01, high=0.04, wanted=WANTED, releases=RUNS, precision=0.02).smallest()
    assert 0.015 <= found <= 0.015 * 1.02


def test_the_search_uses_the_last_crossing():
    """Check a curve that falls below the target by chance: 0.95 from 0.015, 0.88 from 0.03, and 1 from 0.05."""

    def simulate(epsilon, runs):
        share = 1.0 if epsilon >= 0.05 else 0.88 if epsilon >= 0.03 else 0.95 if epsilon >= 0.015 else 0.5
        return np.stack([np.arange(runs) < round(share * runs), np.zeros(runs, bool)], axis=1)

    found = Search(simulate, low=0.01, high=0.08, wanted=WANTED, releases=RUNS, precision=0.02).smallest()
    assert 0.05 <= found <= 0.05 * 1.02


@pytest.mark.parametrize(
    ("frequency", "words"),
    [
        (lambda e: 0.95 if e < 0.05 else min(1.0, 0.3 + 0.5 * e), "decreases with epsilon"),
        (lambda e: 0.6 if e < 0.05 else min(1.0, 0.2 + 0.5 * e), "decreases with epsilon"),  # also below
        (lambda e: 0.97, "the success rate at the smallest epsilon must be below"),
        (lambda e: 0.9 * e / 100, r"is below \d+.\d*% \(the probability 0.9 and a margin\) even at the largest"),
    ],
)
def test_a_curve_without_one_crossing_is_refused(frequency, words):
    with pytest.raises(ValueError, match=words):
        search(frequency).smallest()


def test_a_fall_above_the_wish_or_by_chance_is_let_be():
    search(lambda e: 0.2 if e < 1 else 1.0 if e < 10 else 0.96).smallest()
    uniform = stream(3, "each")
    noisy = Search(
        lambda e, runs: np.stack([uniform.random(runs) < e / (1 + e), np.zeros(runs, bool)], axis=1), low=0.01,
        high=100.0, wanted=0.9, releases=RUNS, precision=0.02,
    )  # fmt: skip
    assert 4 < noisy.smallest() < 20  # independent releases at every epsilon: many small falls


def test_the_frequency_stated_is_not_one_the_search_saw(monkeypatch):
    seeds = []
    plain = planning._Simulation.seen

    def seen(self, epsilon, releases, seed):
        seeds.append((epsilon, releases, seed))
        return plain(self, epsilon, releases, seed)

    monkeypatch.setattr(planning._Simulation, "seen", seen)
    found = dpm.plan(SHARES, 100, question="met > failed", releases=120, rng=stream(1, "fresh"), precision=0.2)
    *tried, (epsilon, releases, fresh) = seeds
    assert {seed for *_, seed in tried} == {tried[0][2]} != {fresh}
    assert (epsilon, releases) == (found.epsilon, 120)
    assert {runs for _, runs, _ in tried} == {30, 120}
    assert sorted({e for e, *_ in tried}) == found.curve["epsilon"].tolist()


def posterior(counts, *, epsilon, total):
    law = dpm.DiscreteLaplace.calibrated(epsilon, sensitivity=2.0)
    return dpm.posterior(dpm.Release(counts, mechanism=law, total=total))


def goal(of="shares", among=None, interval=None, narrower=None, question=None, level=0.95):
    return Goal(tuple(SHARES), of, among, interval, narrower, question, level)


def test_an_interval_is_right_if_it_holds_the_truth():
    found = posterior(dict(zip(SHARES, (50, 40, 10), strict=True)), epsilon=50.0, total=100)
    asked = goal(interval="met", narrower=0.01)
    rng = stream(1, "unused")
    assert asked.met(found, 0.5, rng=rng) == (True, False)
    assert asked.met(found, 0.51, rng=rng) == (False, True)
    wide = posterior(dict(zip(SHARES, (50, 40, 10), strict=True)), epsilon=0.1, total=100)
    assert asked.met(wide, 0.5, rng=rng) == (False, False)
    counts = goal(of="counts", interval="met", narrower=0.5)
    assert counts.met(found, 50.0, rng=rng) == (True, False)
    assert counts.met(found, 51.0, rng=rng) == (False, True)


def test_an_interval_as_wide_as_the_limit_is_not_narrower_by_rounding():
    """Check all intervals of shares of 100 records that are exactly 0.2 wide: 20 of 100 records."""
    asked = goal(interval="met", narrower=0.2, level=0.9)
    for low in range(81):
        ends = low / 100, (low + 20) / 100
        found = SimpleNamespace(shares={"met": SimpleNamespace(interval=lambda level, ends=ends: ends)})
        assert asked.met(found, ends[0], rng=None) == (False, False)
        ends = low / 100, (low + 19) / 100
        found = SimpleNamespace(shares={"met": SimpleNamespace(interval=lambda level, ends=ends: ends)})
        assert asked.met(found, ends[0], rng=None) == (True, False)


def test_a_decision_is_right_on_the_side_of_the_truth():
    found = posterior(dict(zip(SHARES, (50, 40, 10), strict=True)), epsilon=50.0, total=100)
    rng = stream(1, "unused")
    for text, among, true in (
        ("met > not_met", None, True),
        ("met < not_met", None, False),
        ("met >= 0.5", None, True),
        ("met > 0.5", None, False),
        ("met > 0.55", ("met", "not_met"), True),
        ("failed > 0.2", ("not_met", "failed"), False),
    ):
        asked = goal(question=text, among=among)
        assert asked.truth(np.array([50.0, 40.0, 10.0])) is true
        assert asked.met(found, true, rng=rng) == (True, False)
        assert asked.met(found, not true, rng=rng) == (False, True)
    rates = goal(of="rates", question="met > 0.5", among=("met", "not_met"), level=0.6)
    assert rates.truth(np.array([0.5, 0.4, 0.1])) is True
    assert rates.met(found, True, rng=rng) == (True, False)


def test_the_truth_of_a_share_of_nothing_is_neither():
    asked = goal(interval="met", narrower=0.1, among=("met", "not_met"))
    truth = asked.truth(np.array([0.0, 0.0, 7.0]))
    found = posterior(dict(zip(SHARES, (0, 0, 7), strict=True)), epsilon=50.0, total=7)
    assert np.isnan(truth)
    assert asked.met(found, truth, rng=stream(1, "unused")) == (False, False)


def test_plans_are_about_shares_of_the_file_with_the_law_of_releases():
    found = dpm.plan(SHARES, 200, interval="met", narrower=0.1, releases=100, rng=stream(1, "plan"))
    facts = json.loads(json.dumps(found.facts))
    assert (facts["of"], facts["mechanism"], facts["sensitivity"]) == ("shares", "discrete_laplace", 2.0)
    assert (facts["level"], facts["probability"], facts["total"]) == (0.95, 0.9, 200)
    assert facts["shares"] == SHARES
    assert found.releases == 100
    assert found.summary().iloc[0].tolist() == [
        found.epsilon, found.frequency, found.wrong, found.standard_error, 100,
    ]  # fmt: skip
    p = (found.frequency * 100 + 2) / 104
    assert found.standard_error == found.accuracy.error == pytest.approx(np.sqrt(p * (1 - p) / 100))
    assert list(found.curve) == ["epsilon", "frequency", "wrong"]
    assert found.curve["epsilon"].is_monotonic_increasing
    assert repr(found).startswith(f"Plan(epsilon {found.epsilon:.3g}: decisive and correct in {found.frequency:.1%}")
    axis = found.plot().axes[0]
    right, wrong = (line.get_xydata() for line in axis.lines[:2])
    np.testing.assert_array_equal(right, found.curve[["epsilon", "frequency"]])
    np.testing.assert_array_equal(wrong, found.curve[["epsilon", "wrong"]])
    assert axis.get_xlabel() == "epsilon"
    assert axis.containers[0].lines[0].get_xydata().tolist() == [[found.epsilon, found.frequency]]


@pytest.mark.thorough
def test_more_noise_needs_more_epsilon():
    """Check that twice the sensitivity needs twice the epsilon, and that a user's mechanism is used unchanged."""
    asked = {"interval": "met", "narrower": 0.1, "releases": 100, "between": (0.05, 50.0)}
    once = dpm.plan(SHARES, 200, sensitivity=1.0, rng=stream(1, "s"), **asked)
    twice = dpm.plan(SHARES, 200, rng=stream(1, "s"), **asked | {"between": (0.1, 100.0)})
    assert twice.epsilon == pytest.approx(2 * once.epsilon)
    assert twice.frequency == once.frequency
    own = dpm.plan(SHARES, 200, mechanism=lambda e: dpm.DiscreteLaplace(scale=1 / e), rng=stream(1, "s"), **asked)
    assert own.epsilon == once.epsilon
    laplace = dpm.plan(SHARES, 200, mechanism="laplace", rng=stream(1, "s"), **asked)
    assert laplace.facts["mechanism"] == "laplace"
    assert laplace.epsilon != once.epsilon


@pytest.mark.thorough
def test_a_prior_is_handed_on():
    """Check that a prior that is certain and correct needs less epsilon than a flat prior."""
    asked = {"question": "met > failed", "of": "counts", "releases": 100, "rng": stream(1, "prior")}
    sure = dpm.plan(SHARES, 40, prior=[10.0, 8.0, 2.5], **asked)
    flat = dpm.plan(SHARES, 40, prior="flat", **asked | {"rng": stream(1, "prior")})
    assert sure.epsilon < 0.8 * flat.epsilon


GOOD = {"interval": "met", "narrower": 0.1}
REFUSED = [
    ({}, "exactly one of question and interval must be given, got question = None and interval = None"),
    ({**GOOD, "question": "met > failed"}, "exactly one of question and interval must be given, got question = 'met"),
    ({"interval": "met"}, "must be given together"),
    ({"question": "met > failed", "narrower": 0.1}, "must be given together"),
    ({**GOOD, "level": 0.5}, r"level must lie in \(1/2, 1\), got 0.5"),
    (
        {**GOOD, "probability": 0.95},
        r"for an interval, probability must be below the level of the interval \(0.95\), got 0.95",
    ),
    ({**GOOD, "probability": 1.0}, "probability must lie strictly between 0 and 1"),
    ({**GOOD, "narrower": 0.0}, "narrower must be"),
    ({**GOOD, "interval": "none"}, "interval must be one of 'met', 'not_met', 'failed'"),
    ({**GOOD, "among": ["not_met", "failed"]}, "interval must be one of 'not_met', 'failed'"),
    ({**GOOD, "among": ["met"]}, "at least two different categories"),
    ({**GOOD, "among": ["met", "met"]}, "at least two different categories"),
    ({**GOOD, "among": ["met", "none"]}, "among must be one of"),
    ({**GOOD, "among": ["met", "failed"], "of": "counts"}, "the argument `among` is valid only for shares and rates"),
    ({**GOOD, "of": "parameters"}, "of must be one of 'shares', 'counts', 'rates'"),
    ({**GOOD, "mechanism": "gauss"}, "mechanism must be one of 'discrete_laplace', 'laplace'"),
    ({**GOOD, "releases": 99}, "releases must be"),
    ({**GOOD, "between": (1.0, 1.0)}, "the argument `between` must be"),
    ({**GOOD, "between": (0.0, 1.0)}, "between must be"),
    ({**GOOD, "precision": 0.0}, "precision must be"),
    ({**GOOD, "sensitivity": 0.0}, "sensitivity must be"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=str)
def test_a_bad_plan_is_refused_before_anything_is_simulated(arguments, words, monkeypatch):
    monkeypatch.setattr(planning._Simulation, "seen", lambda *_: pytest.fail("simulated"))
    with pytest.raises((ValueError, TypeError), match=words):
        dpm.plan(SHARES, 100, rng=stream(1, "bad"), **arguments)


@pytest.mark.parametrize(
    ("shares", "total", "words"),
    [
        ({"a": 0.5, "b": 0.4}, 10, "shares must be >= 0 and sum to 1"),
        ({"a": 1.5, "b": -0.5}, 10, "shares must be >= 0 and sum to 1"),
        ({"a": 1.0}, 10, "shares must"),
        ({"a": 0.5, "b": 0.5}, 0, "total must be"),
    ],
)
def test_bad_shares_and_totals_are_refused(shares, total, words):
    with pytest.raises(ValueError, match=words):
        dpm.plan(shares, total, interval="a", narrower=0.1, rng=stream(1, "bad"))
    with pytest.raises(KeyError, match="none"):
        dpm.plan(SHARES, 10, question="none > met", rng=stream(1, "bad"))


@pytest.mark.parametrize(
    ("chance", "is_true", "is_false"),
    [
        (0.95, (True, False), (False, True)),
        (np.nextafter(0.95, 0), (False, False), (False, False)),
        (np.nextafter(1 - 0.95, 1), (False, False), (False, False)),
        (1 - 0.95, (False, True), (True, False)),
    ],
)
def test_a_probability_equal_to_the_level_is_conclusive(chance, is_true, is_false):
    found = SimpleNamespace(probability=lambda *_, **__: chance)
    asked = goal(question="met > failed")
    assert asked.met(found, True, rng=None) == is_true
    assert asked.met(found, False, rng=None) == is_false


@pytest.mark.parametrize(
    ("narrower", "truth", "answer"),
    [
        (0.25, 0.3, (False, False)),  # the interval is 0.25 wide, and not narrower
        (0.26, 0.3, (True, False)),
        (0.26, 0.25, (True, False)),
        (0.26, 0.5, (True, False)),
        (0.26, 0.25 - 5e-13, (True, False)),  # a rounding error
        (0.26, 0.5 + 5e-13, (True, False)),
        (0.26, 0.25 - 2e-12, (False, True)),
        (0.26, 0.5 + 2e-12, (False, True)),
    ],
)
def test_the_ends_of_an_interval_belong_to_it(narrower, truth, answer):
    def interval(level):
        return (0.25, 0.5) if level == 0.9 else (0.0, 1.0)

    found = SimpleNamespace(shares={"met": SimpleNamespace(interval=interval)})
    assert goal(interval="met", narrower=narrower, level=0.9).met(found, truth, rng=None) == answer


def steps(least, low, high, **more):
    """Return a search whose releases are all correct from the epsilon `least`, and the calls of its simulation."""
    calls = []

    def simulate(epsilon, runs):
        calls.append((epsilon, runs))
        return np.stack([np.full(runs, epsilon >= least), np.arange(runs) * 10 < runs], axis=1)

    setting = {"wanted": WANTED, "releases": RUNS, "precision": 0.02} | more
    return Search(simulate, low=low, high=high, **setting), calls


@pytest.mark.parametrize("least", [1.0001, 1.3, 1.99, 2.0, 2.01, 3.9, 4.0, 5.0, 7.99, 8.0])
def test_the_epsilon_found_is_sufficient_and_almost_the_smallest(least):
    planned, _ = steps(least, 1.0, 8.0)
    assert least <= planned.smallest() <= least * 1.02


@pytest.mark.parametrize(
    ("least", "precision", "found"),
    [(1.2, 0.5, 2**0.5), (1.5, 0.5, 2.0), (1.2, 0.4, 2**0.5), (1.1, 0.4, 2**0.25), (1.1, 1.1, 2.0)],
)
def test_the_search_stops_at_the_requested_precision(least, precision, found):
    """Check the halvings of the logarithm of the range 1 to 2: the ratio of the ends is 2, 2^(1/2), 2^(1/4)."""
    assert steps(least, 1.0, 2.0, precision=precision)[0].smallest() == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize(
    ("high", "releases", "grid", "runs"),
    [
        (1.5, 400, [1.0, 1.5], 100),
        (2.0, 800, [1.0, 2.0], 200),
        (8.0, 60, [1.0, 2.0, 4.0, 8.0], 20),
        (9.0, 400, [9 ** (i / 4) for i in range(5)], 100),
    ],
)
def test_the_grid_has_factors_of_at_most_two_and_a_quarter_of_the_releases(high, releases, grid, runs):
    planned, calls = steps(high, 1.0, high, releases=releases)
    planned.smallest()
    assert [epsilon for epsilon, _ in calls[: len(grid)]] == pytest.approx(grid, rel=1e-12)
    assert [size for _, size in calls[: len(grid)]] == [runs] * len(grid)
    assert {size for _, size in calls[len(grid) :]} == {releases}
    assert len({epsilon for epsilon, _ in calls[len(grid) :]}) == len(calls) - len(grid)  # each once
    curve = planned.curve()
    assert curve["epsilon"].tolist() == sorted({epsilon for epsilon, _ in calls})
    assert curve["frequency"].tolist() == [float(epsilon >= high) for epsilon in curve["epsilon"]]
    assert (curve["wrong"] == 0.1).all()


@pytest.mark.parametrize(
    ("wanted", "releases", "target"),
    [(0.9, 400, 0.9 + 0.015), (0.5, 100, 0.55), (0.99, 20, 0.995)],  # the last plus sqrt(.99 .01/20) is above 1
)
def test_the_target_is_one_standard_error_higher_and_below_one(wanted, releases, target):
    planned, _ = steps(1.5, 1.0, 2.0, wanted=wanted, releases=releases)
    assert planned._target == pytest.approx(target, rel=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "wanted", "refused"),
    [
        (95, 82, 0.9, False),  # 13 of 100 releases: 0.13 < 4 sqrt(0.13 0.87/100) = 0.1345
        (95, 81, 0.9, True),  # 14 of 100 releases: 0.14 > 4 sqrt(0.14 0.86/100) = 0.1388
        (100, 86, 0.86, False),  # the rate remains at the target
        (100, 86, 0.87, True),
    ],
)
def test_a_fall_of_more_than_four_standard_errors_is_refused(first, second, wanted, refused):
    def simulate(epsilon, runs):
        share = {1.0: 20, 2.0: first, 4.0: second}.get(round(epsilon, 9), 100 if epsilon > 4 else 20)
        return np.stack([np.arange(runs) * 100 < share * runs, np.zeros(runs, bool)], axis=1)

    planned = Search(simulate, low=1.0, high=8.0, wanted=wanted, releases=400, precision=0.5)
    if not refused:
        assert planned.smallest() > 1
        return
    words = (
        rf"^the success rate decreases with epsilon \(epsilon 2 gives a correct answer in {first}.0% and a wrong "
        rf"answer in 0.0% of releases, but epsilon 4 gives a correct answer in {second}.0% and a wrong answer in 0.0% "
        r"of releases\)"
    )
    with pytest.raises(ValueError, match=words):
        planned.smallest()


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (45, r"is below 91.5% \(the probability 0.9 and a margin\) even at the largest epsilon \(epsilon 8 gives a "
             r"correct answer in 45.0% and a wrong answer in 25.0% of releases\): increase the upper limit"),
        (91, r"is below 91.5% .*\(epsilon 8 gives a correct answer in 91.0% "),  # 0.9 + sqrt(0.9 0.1/400) = 0.915
        (95, r"must be below 91.5% .*, but epsilon 1 gives a correct answer in 95.0% and a wrong answer in 25.0% of "
             r"releases: decrease the lower limit"),
    ],
)  # fmt: skip
def test_messages_of_a_search_contain_both_rates(share, words):
    def simulate(_, runs):
        number = np.arange(runs) * 100
        return np.stack([number < share * runs, number >= 75 * runs], axis=1)

    with pytest.raises(ValueError, match=words):
        Search(simulate, low=1.0, high=8.0, wanted=0.9, releases=400, precision=0.5).smallest()


def test_a_plan_in_words():
    found = planning.Plan(0.1234, 0.912, 0.05, 0.0141, 400, None, {})
    assert repr(found) == (
        "Plan(epsilon 0.123: decisive and correct in 91.2% of releases (standard error 1.4%), decisive but wrong in "
        "5.0%)"
    )
    assert found.accuracy.reason == "frequency in 400 simulated releases"


@pytest.mark.parametrize(
    ("mechanism", "law", "words"),
    [
        ("laplace", dpm.Laplace(scale=6.0), "laplace"),  # the sensitivity 3 divided by epsilon 1/2
        ("discrete_laplace", dpm.DiscreteLaplace(scale=6.0), "discrete_laplace"),
        (lambda e: dpm.Laplace(scale=5 / e), dpm.Laplace(scale=10.0), repr(dpm.Laplace(scale=5.0))),
    ],
)
def test_a_mechanism_of_a_plan_and_its_name(mechanism, law, words):
    made, found = planning._mechanism(mechanism, 3.0)
    assert made(0.5) == law
    assert found == words


def test_the_shares_of_a_plan_add_up_to_one_and_are_numbered():
    names, p = planning._shares([0.25, 0.75 + 9e-10])
    assert names == ("1", "2")
    assert p.tolist() == pytest.approx([0.25, 0.75], rel=2e-9)
    assert p.sum() == pytest.approx(1, abs=1e-15)
    assert planning._shares({"a": 0.0, 7: 1.0})[0] == ("a", "7")
    with pytest.raises(ValueError, match=r"must be >= 0 and sum to 1, .* with the sum 1.00000001$"):
        planning._shares([0.25, 0.75 + 1e-8])


def test_the_default_values_of_a_plan():
    given = {n: p.default for n, p in inspect.signature(dpm.plan).parameters.items() if p.default is not p.empty}
    assert given == {
        "interval": None, "narrower": None, "question": None, "level": 0.95, "probability": 0.9,
        "mechanism": "discrete_laplace", "sensitivity": 2.0, "among": None, "of": "shares", "prior": None,
        "releases": 400, "between": (0.01, 100.0), "precision": 0.02,
    }  # fmt: skip
