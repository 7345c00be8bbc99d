"""Tests of questions on all kinds of posteriors by enumeration, with names of all kinds, and of invalid questions."""

import itertools
from math import comb
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import rankdata

import dpmultinomial as dpm
from dpmultinomial._accuracy import EXACT, Accuracy
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import counts, counts_with_total
from dpmultinomial._results import questions as answering
from dpmultinomial._results.convolutions import Window
from dpmultinomial._results.distributions import Continuous, Discrete, Draws
from dpmultinomial._results.expressions import Names, comparison
from dpmultinomial._results.joint import Enumerated, Independent, Pair
from dpmultinomial._results.posterior import COLUMNS
from dpmultinomial._results.quantities import Quantities
from dpmultinomial._results.questions import Drawer
from dpmultinomial._seeding import stream

NAMES = ["essex/men", "not met", "65+"]
KINDS = ("independent", "public total", "exact total", "noisy total", "swapped table", "additive counts")
TOP = 34  # counts that are enumerated
SIGMA = 1.5  # of a noisy total


def random_release(rng):
    """Return three noisy counts of a few records with their mechanism; the densities are implemented again below."""
    size, third = float(rng.uniform(0.3, 0.7)), 1 / 3
    laws = [
        {"law": "discrete_gaussian", "sigma": 3 * size},
        {"law": "laplace", "scale": size},
        {"law": "discrete_laplace", "scale": size, "clipped": {"at": 0}},
        {"law": "discrete_laplace", "scale": size, "threshold": 3},
    ]
    densities = [
        lambda y, n: np.exp(-((y - n) ** 2) / (18 * size**2)),
        lambda y, n: np.exp(-np.abs(y - n) / size),
        lambda y, n: np.exp(-n / size) / (1 - np.exp(-1 / size)) if y == 0 else np.exp(-np.abs(y - n) / size),
        lambda y, n: below_three(n, size) if np.isnan(y) else np.exp(-np.abs(y - n) / size),
    ]
    priors = ["flat", "1/(1+n)", {"law": "geometric", "mean": 3.0}]
    weights = [lambda n: np.ones(n.shape), lambda n: third / (1 + n), lambda n: 0.75**n]
    i, j = rng.integers(4), rng.integers(3)
    law = law_of(laws[i])
    return law.sample(rng.integers(0, 8, 3), rng=rng).astype(float), law, priors[j], densities[i], weights[j]


def below_three(n, scale):
    """Return P(n + D < 3), up to the constant (1 - a)/(1 + a) that all values share: a sum over D."""
    d = np.arange(-400, 401)
    listed = np.exp(-np.abs(d) / scale)
    return np.array([listed[d + one < 3].sum() for one in n.ravel()]).reshape(n.shape)


def vectors(size):
    return np.array(list(itertools.product(range(size), repeat=3)))


def jeffreys(n):
    """Return the weight of each vector of counts under Dirichlet(1/2, .., 1/2) rates, up to a factor of the total."""
    return np.exp((gammaln(n + 0.5) - gammaln(n + 1)).sum(axis=1))


def case(kind, seed):
    """A posterior, every possible vector of its counts, and their probabilities, without common code except drawing."""
    rng = stream(seed, "questions", kind)
    if kind == "swapped table":
        return swapped(rng)
    if kind == "additive counts":
        return additive(rng)
    released, law, prior, density, weight = random_release(rng)
    n = vectors(TOP)
    likelihood = np.prod([density(y, n[:, i]) for i, y in enumerate(released)], axis=0)
    p, total = likelihood * np.prod(weight(n), axis=1), n.sum(axis=1)
    names = dict(zip(NAMES, released, strict=True))
    if kind == "independent":
        posterior = counts.posterior(names, noise=law, prior=prior)
    elif kind == "public total":
        whole = int(rng.integers(0, 20))
        posterior, p = counts_with_total.posterior(names, noise=law, prior=prior, total=whole), p * (total == whole)
    elif kind == "exact total":  # by default, rates are Dirichlet(1/2, 1/2, 1/2)
        whole = int(rng.integers(0, 20))
        posterior = dpm.posterior(dpm.Release(names, mechanism=law, total=whole))
        p = likelihood * (total == whole) * jeffreys(n)
    else:  # noisy total
        noise = dpm.DiscreteGaussian(sigma=SIGMA)
        posterior = counts_with_total.posterior(names, noise=law, total={"released": 11, "noise": noise})
        # rates are Dirichlet(1/2, 1/2, 1/2), every total is as likely: N! Gamma(3/2)/Gamma(N + 3/2) is the factor of N
        whole_factor = np.exp(gammaln(total + 1) - gammaln(total + 1.5))
        p = likelihood * np.exp(-((11 - total) ** 2) / (2 * SIGMA**2)) * whole_factor * jeffreys(n)
    return posterior, n, p / p.sum()


def swapped(rng):
    """Return a 2 x 2 table of six records, k = 0, 2, 3, .. selected and deranged; original tables equally likely."""
    size, rate = 6, 0.4
    table = rng.multinomial(size, [0.25] * 4).reshape(2, 2)
    found = dpm.posterior(dpm.Release(table, mechanism=dpm.Swap(rate=rate)))
    n = np.array([v for v in itertools.product(range(size + 1), repeat=4) if sum(v) == size])
    permutations = np.array(list(itertools.permutations(range(size))))
    moved = (permutations != np.arange(size)).sum(axis=1)
    chosen = {k: comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1) if k != 1}
    chance = np.array([chosen[k] / (moved == k).sum() for k in moved])  # those that move k are alike
    p = np.zeros(len(n))
    for i, cells in enumerate(n):
        row, column = np.repeat([0, 0, 1, 1], cells), np.repeat([0, 1, 0, 1], cells)
        cell = 2 * row[permutations] + column
        seen = np.stack([(cell == j).sum(axis=1) for j in range(4)], axis=1)
        p[i] = chance[(seen == table.ravel()).all(axis=1)].sum()
    return found, n, p / p.sum()


def additive(rng):
    """Return algorithm 2: total and weights of the components with noise of -1, 0, 1, then multinomial shares."""
    epsilon, released = 0.9, rng.integers(0, 4, 3)
    names = dict(zip(NAMES, released.tolist(), strict=True))
    law = dpm.AdditiveCounts(epsilon=epsilon, algorithm="2", support=1)
    n, whole, a = vectors(12), int(released.sum()), np.exp(-epsilon)
    noise = {d: a ** abs(d) / (1 + 2 * a) for d in (-1, 0, 1)}
    p = np.zeros(len(n))
    for shift in itertools.product((-1, 0, 1), repeat=3):
        w = np.maximum(n + shift, 0).astype(float)
        w[w.sum(axis=1) == 0] = 1.0
        p += np.prod([noise[d] for d in shift]) * np.prod((w / w.sum(axis=1, keepdims=True)) ** released, axis=1)
    total = n.sum(axis=1)
    p *= sum(q * (np.maximum(total + d, 0) == whole) for d, q in noise.items())
    posterior = dpm.posterior(dpm.Release(names, mechanism=law))
    return posterior, n, p / p.sum()


def questions(names):
    a, b, c, *_ = names
    q = [f"'{name}'" for name in names]
    return {
        "sum": ({"sum": [a, c]}, lambda n: n[:, 0] + n[:, 2]),
        "all": ({"sum": [a, b, c]}, lambda n: n[:, :3].sum(axis=1)),
        "difference": ({"difference": [a, b]}, lambda n: n[:, 0] - n[:, 1]),
        "two against one": ({"difference": [[a, b], c]}, lambda n: n[:, 0] + n[:, 1] - n[:, 2]),
        "overlap": ({"difference": [[a, b], [b, c]]}, lambda n: n[:, 0] - n[:, 2]),
        "ratio": ({"ratio": [a, [b, c]]}, lambda n: np.divide(n[:, 0], n[:, 1] + n[:, 2])),
        "share": ({"share": {"of": [a], "among": [a, b]}}, lambda n: n[:, 0] / (n[:, 0] + n[:, 1])),
        "greater": ({"probability": f"{q[0]} > {q[1]}"}, lambda n: n[:, 0] > n[:, 1]),
        "at least": ({"probability": f"{q[2]} >= {q[0]} + 2"}, lambda n: n[:, 2] >= n[:, 0] + 2),
        "bound": ({"probability": f"{q[0]} + {q[1]} <= 5"}, lambda n: n[:, 0] + n[:, 1] <= 5),
        "equal": ({"probability": f"{q[0]} = {q[2]}"}, lambda n: n[:, 0] == n[:, 2]),
        "double": ({"probability": f"2 * {q[0]} != {q[1]}"}, lambda n: 2 * n[:, 0] != n[:, 1]),
        "mixed": (
            {"probability": f"{q[0]} + 0.5 * {q[1]} < {q[2]} * 1.5"},
            lambda n: n[:, 0] + 0.5 * n[:, 1] < 1.5 * n[:, 2],
        ),
    }


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(i, marks=pytest.mark.thorough) for i in range(3, 8))])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_equal_enumeration(kind, seed):
    """Check eight releases of each of seven kinds with thirteen questions each: 728 cases."""
    posterior, n, p = case(kind, seed)
    names, drawn = posterior.counts.names, {"mixed", "ratio", "double"}
    for label, (question, value) in questions(names).items():
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.asarray(value(n), dtype=float)
        rng = stream(seed, "mixed") if label in drawn or kind == "additive counts" else None
        if not p[np.isfinite(x)].sum() > 0:
            with pytest.raises(ValueError, match=f"{label}: the ratio is not defined"):
                posterior.ask({label: question}, rng=rng)
            continue
        (row,) = posterior.ask({label: question}, level=0.8, rng=rng).itertuples(index=False)
        kept = np.isfinite(x)
        weights = p[kept] / p[kept].sum()
        mean = weights @ x[kept]
        if row.status == "approximate":
            assert label in drawn or kind == "additive counts"  # whose joint law is known by its draws alone
            assert abs(row.mean - mean) < 5 * row.error  # false alarm 6e-7 each
            continue
        assert (row.quantity, row.type, row.status, row.error) == (label, "question", "exact", 0)
        assert row.mean == pytest.approx(mean, abs=3e-10), label  # the enumeration stops at 33
        if "probability" in question:
            assert np.isnan([row.sd, row.lower, row.upper]).all()
            continue
        assert row.sd == pytest.approx(np.sqrt(weights @ (x[kept] - mean) ** 2), abs=1e-8)
        order = np.argsort(x[kept], kind="stable")
        below = np.cumsum(weights[order])
        assert x[kept][order][np.searchsorted(below, 0.1 * (1 - 1e-9))] == pytest.approx(row.lower, abs=1e-12)
        assert x[kept][order][np.searchsorted(below, 0.9 * (1 - 1e-9))] == pytest.approx(row.upper, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_ranks_of_independent_counts_equal_enumeration(seed):
    posterior, n, p = case("independent", seed)
    ranks = rankdata(-n, method="min", axis=1)
    mean = p @ ranks
    last = int(np.argmax(mean))
    largest, one = {"rank": {"of": "all", "top": 2}}, {"rank": {"of": NAMES[last], "among": NAMES[::-1], "top": 2}}
    found = posterior.ask({"largest": largest}).set_index("quantity")
    listed = [NAMES.index(name.removeprefix("largest: ")) for name in found.index[::2]]
    assert mean[listed] == pytest.approx(np.sort(mean)[:2], abs=1e-9)  # equal counts come in any order
    found = posterior.ask({"largest": one}).set_index("quantity").combine_first(found)
    for i in {*listed, last}:
        row, top = found.loc[f"largest: {NAMES[i]}"], found.loc[f"largest: P({NAMES[i]} in top 2)"]
        assert row["mean"] == pytest.approx(mean[i], abs=1e-9)
        assert row["sd"] == pytest.approx(np.sqrt(p @ (ranks[:, i] - mean[i]) ** 2), abs=1e-8)
        assert top["mean"] == pytest.approx(p @ (ranks[:, i] <= 2), abs=1e-9)
        assert (row["status"], row["error"]) == ("exact", 0)


def test_ranks_of_tied_counts_are_drawn_with_their_error():
    posterior, n, p = case("public total", 3)
    ranks = rankdata(-n, method="min", axis=1)
    found = posterior.ask({"r": {"rank": {"of": "all", "top": 3}}}, rng=stream(1, "r")).set_index("quantity")
    for i, name in enumerate(posterior.counts.names):
        row = found.loc[f"r: {name}"]
        assert row["status"] == "approximate"
        assert abs(row["mean"] - p @ ranks[:, i]) < 5 * row["error"] + 1e-9
        first = found.loc[f"r: P({name} in top 3)"]  # no rank of three quantities is larger than 3
        assert (first["mean"], first["status"], first["error"]) == (1, "exact", 0)
        some = posterior.ask({"r": {"rank": {"of": name, "among": "all", "top": 3}}}, rng=stream(1, "r"))
        pd.testing.assert_frame_equal(some, found.loc[some["quantity"]].reset_index()[some.columns])


def test_shares_of_a_public_total_are_asked_in_their_own_unit():
    posterior, n, p = case("public total", 5)
    total = round(float(posterior.counts.mean().sum()))
    x = n[:, 0] / total
    rows = posterior.ask(
        {
            "share": {"sum": [NAMES[0]], "about": "shares"},
            "much": {"probability": f"'{NAMES[0]}' > 0.25", "about": "shares"},
            "gap": {"difference": [NAMES[0], NAMES[1]], "about": "shares"},
        }
    ).set_index("quantity")
    assert rows.loc["share", "mean"] == pytest.approx(p @ x, abs=1e-10)
    assert rows.loc["much", "mean"] == pytest.approx(p @ (x > 0.25), abs=1e-10)
    assert rows.loc["gap", "mean"] == pytest.approx(p @ (x - n[:, 1] / total), abs=1e-10)
    assert (rows["status"] == "exact").all()
    assert posterior.probability(f"'{NAMES[0]}' > 0.25", of="shares") == pytest.approx(rows.loc["much", "mean"])


def test_rates_are_compared_by_draws_and_one_alone_by_its_law():
    """Check two rates with sum 1, for which P(one > the other) is P(one > 1/2), which is exact."""
    posterior = counts_with_total.posterior({"a": 12.3, "b": 6.0}, noise=dpm.Laplace(scale=2.0), total=20)
    exact = posterior.probability("a > 0.5", of="rates")
    assert exact.accuracy.status == "exact"
    drawn = posterior.probability("a > b", of="rates", rng=stream(1, "rates"))
    assert drawn.accuracy.status == "approximate"
    assert 0 < drawn.accuracy.error < 2e-3
    assert abs(drawn - exact) < 5 * drawn.accuracy.error
    assert f"(approximate, error {drawn.accuracy.error:.1g})" in repr(drawn)
    assert posterior.probability("a <= 0.5", of="rates") == pytest.approx(1 - exact)
    assert posterior.probability("-1 * a < -0.5", of="rates") == pytest.approx(exact)
    with pytest.raises(ValueError, match="rng is required, because this question is answered by sampling"):
        posterior.probability("a > b", of="rates")


def test_standard_errors_are_those_of_the_answers():
    """Check that the spread of forty independent answers is the stated error, within a factor 1.5 (p = 1e-4)."""
    posterior, _, _ = case("noisy total", 1)
    asked = {
        "r": {"ratio": [NAMES[0], [NAMES[1], NAMES[2]]]},
        "m": {"probability": "2 * 'not met' > 'essex/men' + 65+"},
    }
    answers = [posterior.ask(asked, rng=stream(i, "spread")) for i in range(40)]
    rows = [a.set_index("quantity") for a in answers]
    for name in ("m",):
        means, errors = np.array([r.loc[name, "mean"] for r in rows]), np.array([r.loc[name, "error"] for r in rows])
        assert means.std(ddof=1) == pytest.approx(errors.mean(), rel=0.45)
    assert rows[0].loc["r", "status"] == "exact"


def test_an_answer_from_draws_does_not_depend_on_other_questions():
    posterior, _, _ = case("noisy total", 2)
    q = "2 * 'not met' > 'essex/men' + 65+"
    alone = posterior.ask({"m": {"probability": q}}, rng=stream(1, "x"))
    among = posterior.ask({"r": {"rank": {"of": "all"}}, "m": {"probability": q}}, rng=stream(1, "x"))
    assert alone.loc[0, "mean"] == among.loc[len(among) - 1, "mean"]


def test_a_chain_keeps_its_state_and_claims_no_error():
    noisy = {"met": 12.3, "not met": -4.1, "failed": 44.2}
    release = dpm.Release(noisy, mechanism=dpm.Laplace(scale=2.0), total=50)
    chain = dpm.posterior(release, method="gibbs", rng=stream(1, "g"))
    row = chain.ask({"p": {"probability": "'met' > 'not met'", "about": "rates"}}, rng=stream(2, "g")).iloc[0]
    assert row["status"] in ("converged", "not converged")
    assert np.isnan(row["error"])
    exact = dpm.posterior(release).probability("'met' > 'not met'", of="counts", rng=stream(3, "g"))
    assert row["mean"] == pytest.approx(0.97, abs=0.05)
    assert float(exact) == pytest.approx(0.97, abs=0.05)


def test_a_ratio_says_how_probable_it_is_that_there_is_one():
    posterior = counts.posterior({"a": 3, "b": 0}, noise=dpm.DiscreteLaplace(scale=1.0), prior="flat")
    none = posterior.counts["b"].pmf(0)
    law = posterior._asked("counts", None).law("r", "ratio", ["a", "b"])
    assert law.accuracy.reason == f"given that the denominator is not 0, which has probability {1 - none:.6g}"
    assert law.probabilities.sum() == pytest.approx(1)


def test_ten_thousand_differences_at_once():
    """Check that each answer equals the answer to a single question, for pairs in a ring of 200 counts."""
    rng = stream(1, "many")
    released = {f"c{i}": int(y) for i, y in enumerate(rng.integers(0, 60, 200))}
    posterior = counts.posterior(released, noise=dpm.DiscreteGaussian(sigma=3.0), prior="1/(1+n)")
    asked = {f"{i} {d}": {"difference": [f"c{i}", f"c{(i + d) % 200}"]} for i in range(200) for d in range(1, 51)}
    found = posterior.ask(asked)
    assert len(found) == 10_000
    mean, sd = posterior.counts.mean(), posterior.counts.sd()
    for row in found.iloc[::997].itertuples():
        i, d = map(int, row.quantity.split())
        one, two = f"c{i}", f"c{(i + d) % 200}"
        assert row.mean == pytest.approx(mean[one] - mean[two], abs=1e-10)
        assert row.sd == pytest.approx(np.hypot(sd[one], sd[two]), rel=1e-10)


def test_names_are_found_by_the_longest_that_fits():
    names = Names(["a", "a b", "a-b", "65+", "men", "men/women", "x'y", "3", "café"])
    read = {
        "a > a b": ({0: 1.0, 1: -1.0}, ">", 0.0),
        "a-b>=a": ({2: 1.0, 0: -1.0}, ">=", 0.0),
        "a - 'a b' == -1.5": ({0: 1.0, 1: -1.0}, "==", -1.5),
        "65+ + men/women < men": ({3: 1.0, 5: 1.0, 4: -1.0}, "<", 0.0),
        '"x\'y" * 2 <= 4': ({6: 2.0}, "<=", 4.0),
        "'3' != 3": ({7: 1.0}, "!=", 3.0),
        "2 * café * 0.5 = 1e3 + .5": ({8: 1.0}, "==", 1000.5),
        "a + a > a + 1": ({0: 1.0}, ">", 1.0),
        "a - a < 1": ({}, "<", 1.0),
        "- a + -2 > --3": ({0: -1.0}, ">", 5.0),
    }
    for text, (coefficients, operator, bound) in read.items():
        found = comparison(text, names)
        assert (found.coefficients, found.operator, found.bound) == (coefficients, operator, bound), text


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("a > women", KeyError, "unknown name 'women': did you mean men"),
        ("zzz > a", KeyError, "unknown name 'zzz': the known names are a, men"),
        ("a", ValueError, "a probability must contain exactly one of the operators .* got none"),
        ("a > men > 3", ValueError, "a probability must contain exactly one of the operators .* got 2"),
        ("a >", ValueError, "each side must be a sum of numbers, names, and products"),
        ("a * men > 3", ValueError, "each side must be a sum of"),
        ("a men > 3", ValueError, "each side must be a sum of"),
        ("a + > 3", ValueError, "each side must be a sum of"),
        (3, TypeError, "requires a comparison such as 'a > b', got 3"),
    ],
)
def test_what_is_no_comparison_is_refused(text, error, words):
    with pytest.raises(error, match=words):
        comparison(text, Names(["a", "men"]))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"mean": ["a"]}, "q: a question must have exactly one of the keys sum, difference, .* got mean"),
        ({"sum": ["a"], "ratio": ["a", "b"]}, "q: a question must have exactly one of the keys"),
        ({"difference": ["a"]}, "q: difference requires two sides"),
        ({"difference": "ab"}, "q: difference requires two sides"),
        ({"sum": []}, "q: sum requires names"),
        ({"sum": ["a", "a"]}, "q: sum: the names must be distinct"),
        ({"share": ["a"]}, "q: share must have the form {of: "),
        ({"share": {"of": ["a"], "among": ["b"]}}, "q: share: every name under 'of'"),
        ({"rank": {"top": 2}}, "q: rank must have the form {of: all"),
        ({"rank": {"of": "all", "top": 3}}, r"q: top must be in \[1, 2\], got 3"),
        ({"rank": {"of": "a"}}, r"q: rank requires at least two .* write {of: a, among: all}"),
        ({"rank": {"of": "all", "among": ["a", "b"], "low": 1}}, "q: rank must have the form {of: all"),
        ({"sum": ["a"], "about": "rates"}, "q: about must be one of 'counts'"),
        ({"ratio": ["a", "zero"]}, "q: its denominator|unknown name 'zero'"),
    ],
)
def test_a_wrong_question_is_named(question, words):
    posterior = counts.posterior({"a": 3, "b": 1}, noise=dpm.DiscreteLaplace(scale=1.0), prior="flat")
    with pytest.raises((ValueError, KeyError), match=words):
        posterior.ask({"q": question})
    with pytest.raises(TypeError, match="q: a question must be a mapping"):
        posterior.ask({"q": "a > b"})
    with pytest.raises(ValueError, match="level"):
        posterior.ask({}, level=1.0)
    assert tuple(posterior.ask({}).columns) == COLUMNS


def test_a_swapped_table_is_asked_by_its_cells():
    """Check a 2 x 2 table of 10 records: the answers of its listed tables, against 8,000 draws of the posterior."""
    release = dpm.Release([[3, 2], [1, 4]], mechanism=dpm.Swap(rate=0.3))
    found = dpm.posterior(release)
    asked = {
        "gap": {"difference": ["1/1", "2/1"]},
        "share": {"share": {"of": ["1/1"], "among": ["1/1", "2/2"]}},
        "more": {"probability": "1/1 > 1/2"},
    }
    rows = found.ask(asked).set_index("quantity")
    assert (rows["status"] == "exact").all()
    x = found.counts.sample(8000, rng=stream(1, "swap")).astype(float)
    assert abs(rows.loc["gap", "mean"] - (x[:, 0] - x[:, 2]).mean()) < 5 * rows.loc["gap", "sd"] / np.sqrt(len(x))
    assert abs(rows.loc["more", "mean"] - (x[:, 0] > x[:, 1]).mean()) < 5 * 0.5 / np.sqrt(len(x))
    share = x[:, 0] / (x[:, 0] + x[:, 3])
    assert abs(rows.loc["share", "mean"] - np.nanmean(share)) < 5 * rows.loc["share", "sd"] / np.sqrt(len(x))


def test_a_group_of_one_quantity_is_asked_by_draws():
    """Check the sum of a single log odds ratio: the mean to five standard errors, and the standard error."""
    found = dpm.posterior(dpm.Release([[3, 2], [1, 4]], mechanism=dpm.Swap(rate=0.3)))
    (name,) = found.parameters.names
    law, n = found.parameters[name], answering.DRAWS
    row = found.ask({"s": {"sum": name, "about": "parameters"}}, rng=stream(1, "one")).iloc[0]
    assert row["status"] == "approximate"
    assert row["mean"] == pytest.approx(law.mean(), abs=5 * law.sd() / np.sqrt(n))
    assert row["error"] == pytest.approx(law.sd() / np.sqrt(n), rel=0.02)  # five standard errors of an sd, or more


@pytest.mark.thorough
def test_wide_windows_are_drawn_and_not_added_up():
    release = dpm.Release([30_000.4, 50_001.2, 19_998.0], mechanism=dpm.Laplace(scale=3000.0), total=100_000)
    found = dpm.posterior(release)
    assert found.counts.together is None
    row = found.ask({"d": {"difference": ["1", "2"]}}, rng=stream(1, "wide")).iloc[0]
    assert row["status"] == "approximate"
    exact = found.counts["1"].mean() - found.counts["2"].mean()
    assert abs(row["mean"] - exact) < 5 * row["error"]


def test_the_multinomial_weight_of_a_vector():
    """Return the weight of the noisy total: Dirichlet(1, 1, 1) over vectors of sum N is 1 of (N + 1)(N + 2)/2."""
    n = np.array([2, 0, 3])
    total = n.sum()
    exact = gammaln(total + 1) - gammaln(n + 1).sum() + gammaln(3) + gammaln(n + 1).sum() - gammaln(total + 3)
    assert exact == pytest.approx(np.log(2 / ((total + 1) * (total + 2))))


def test_a_sure_rank_has_a_probability_and_no_more():
    """Check that rounding of a sum does not give a probability above 1."""
    from dpmultinomial._results.questions import Rank

    law = Rank(place=0, ranks=np.arange(1, 4), probabilities=np.array([0.1, 0.7, 0.2 + 2**-51]))
    assert law.probabilities.sum() > 1
    assert (law.among(3), law.among(1)) == (1.0, 0.1)


def test_what_stands_on_both_sides_cancels_exactly():
    """Check an almost certain zero, also with a public total: exact and without a generator, not approximate."""
    import dpmultinomial as dpm

    names = [f"c{i}" for i in range(100)]
    for total in (None, 500):
        release = dpm.Release([5.0] * 100, names=names, mechanism=dpm.DiscreteLaplace(scale=1.0), total=total)
        found = dpm.posterior(release, prior="flat")
        row = found.ask({"none": {"difference": [["c1", "c2"], ["c2", "c1"]]}}).iloc[0]
        assert (row["mean"], row["sd"], row["lower"], row["upper"], row["status"]) == (0, 0, 0, 0, "exact")


def test_all_means_all_names_in_every_kind_of_question():
    release = dpm.Release({"a": 3.0, "b": 9.0, "c": 5.0}, mechanism=dpm.DiscreteLaplace(scale=1.0))
    found = dpm.posterior(release, prior="flat")
    names = ["a", "b", "c"]
    both = {
        "sum": ({"sum": "all"}, {"sum": names}),
        "share": ({"share": {"of": "a", "among": "all"}}, {"share": {"of": "a", "among": names}}),
        "difference": ({"difference": ["all", "a"]}, {"difference": [names, "a"]}),
        "ratio": ({"ratio": ["a", "all"]}, {"ratio": ["a", names]}),
    }
    for short, long in both.values():
        ours, theirs = (found.ask({"q": asked}, rng=stream(1, "all")) for asked in (short, long))
        pd.testing.assert_frame_equal(ours, theirs)


def test_ranks_of_counts_that_are_far_apart_are_certain():
    """Windows of noise with sd 1 end after 10; a count 1,000 above or below changes the rank by exactly 1 or 0."""
    noise = dpm.DiscreteGaussian(sigma=1.0)
    found = dpm.posterior(dpm.Release({"a": 5, "b": 1005, "c": 2005, "d": 1005}, mechanism=noise), prior="flat")
    rows = found.ask({"r": {"rank": {"of": "all", "top": 4}}}).set_index("quantity")
    assert (rows.loc["r: c", "mean"], rows.loc["r: c", "sd"]) == (1.0, 0.0)
    assert (rows.loc["r: a", "mean"], rows.loc["r: a", "sd"]) == (4.0, 0.0)
    assert rows.loc["r: P(a in top 4)", "mean"] == 1.0
    # of two equal counts, one is larger with probability (1 - P(equal))/2; P(equal) = sum of p^2
    p = noise.pmf(np.arange(-20, 21))
    assert rows.loc["r: b", "mean"] == pytest.approx(2 + (1 - p @ p) / 2, rel=1e-12)


def test_tied_quantities_have_the_better_rank_in_draws():
    """Half of the draws are (5, 5, 3), the others (1, 2, 2): b is always first, a and c are first or third."""

    class Group:
        names, together = ("a", "b", "c"), None

        def __len__(self):
            return 3

        def sample(self, size, *, rng):
            return np.tile([[5.0, 5.0, 3.0], [1.0, 2.0, 2.0]], (size // 2, 1))

    found = Drawer(Group(), np.random.default_rng(1)).ranks([0, 1, 2], 3)
    ranks = {rank.place: dict(zip(rank.ranks.tolist(), rank.probabilities.tolist(), strict=True)) for rank in found}
    assert found[0].place == 1
    assert ranks == {1: {1: 1.0}, 0: {1: 0.5, 3: 0.5}, 2: {1: 0.5, 3: 0.5}}


@pytest.mark.parametrize(("most", "listed", "expected"), [(4, True, 0.3), (3, True, None), (4, False, None)])
def test_a_comparison_of_multiples_is_listed_only_up_to_the_largest_number_of_pairs(
    most, listed, expected, monkeypatch
):
    """a is 0 or 1, b is 1 or 2, independent: 2 a > b only if a = 1 and b = 1."""
    first, second = Window(0, np.array([0.25, 0.75])), Window(1, np.array([0.4, 0.6]))
    pair = Pair(first, second, None, np.outer(first.weights, second.weights))
    together = SimpleNamespace(unit=1.0, pair_of=lambda plus, minus: pair if listed else None)
    monkeypatch.setattr(answering, "LARGEST_PAIR", most)
    found = answering.chance(together, comparison("2 * a > b", Names(("a", "b"))))
    assert found is expected or found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("coefficients", "step"),
    [
        ([1.0, -3.0], 1.0), ([0.5, 2.0], 0.5), ([1 / 3, 0.5], 1 / 6), ([1 / 60], 1 / 60), ([1 / 61], None),
        ([1000.0], 1.0), ([1001.0], None), ([1000.5], None), ([500.5], None), ([500.0, 0.5], 0.5), ([2**0.5], None),
        ([1 + 1e-10], 1.0), ([1 + 1e-8], None), ([-1000.0, 1.0], 1.0),
    ],
)  # fmt: skip
def test_coefficients_are_multiples_of_a_unit_fraction(coefficients, step):
    """Denominators up to 60, multiples up to 1,000: 1000.5 is 2,001 halves."""
    assert answering._common(dict(enumerate(coefficients))) == step


@pytest.mark.parametrize("weights", [[1e-30, 1.0], [1.0, 1e-30], [0.25, 0.75], [3.0, 1.0]])
def test_a_probability_is_computed_from_the_smaller_side(weights):
    asked = comparison("a < 1", Names(["a"]))
    found = answering._where(np.array([0, 1]), np.array(weights), asked)
    assert found == pytest.approx(weights[0] / sum(weights), rel=1e-15, abs=0)
    assert 1 - found == pytest.approx(weights[1] / sum(weights), abs=2e-16)


def independent(*windows):
    """Return independent counts with the given weights."""
    laws = [Discrete(np.arange(first, first + len(p)), np.array(p), name="", type="count", accuracy=EXACT)
            for first, p in windows]  # fmt: skip
    return Independent(lambda i: laws[i])


THREE = ((0, [0.2, 0.5, 0.3]), (1, [0.4, 0.6]), (0, [0.7, 0.1, 0.1, 0.1]))


def vectors_of(*windows):
    """Return all vectors of independent counts with their probabilities."""
    values = [np.arange(first, first + len(p)) for first, p in windows]
    every = np.array(list(itertools.product(*values)))
    p = np.array([np.prod([w[1][n - w[0]] for n, w in zip(row, windows, strict=True)]) for row in every])
    return every, p / p.sum()


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("a > b", lambda a, b, c: a > b),
        ("2 * a >= b + c", lambda a, b, c: 2 * a >= b + c),
        ("a + 0.5 * b - 1.5 * c < 1", lambda a, b, c: a + 0.5 * b - 1.5 * c < 1),
        ("3 * a = 2 * b", lambda a, b, c: 3 * a == 2 * b),
        ("a + b + c != 3", lambda a, b, c: a + b + c != 3),
        ("0 > a - 1", lambda a, b, c: a < 1),
        ("2 > 1", lambda a, b, c: a == a),
        ("2 < 1", lambda a, b, c: a != a),
        ("2 * a + 2 * b > 5", lambda a, b, c: a + b > 2.5),
    ],
)
def test_comparisons_of_independent_counts_equal_enumeration(text, true):
    n, p = vectors_of(*THREE)
    found = answering.chance(independent(*THREE), comparison(text, Names(["a", "b", "c"])))
    assert found == pytest.approx(p[true(*n.T)].sum(), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("joint", ["independent", "listed"])
@pytest.mark.parametrize(("above", "below"), [([0], [1]), ([2], [0]), ([0], [0, 2]), ([0, 1], [0, 1, 2]), ([0], [0])])
def test_ratios_equal_enumeration(joint, above, below):
    n, p = vectors_of(*THREE)
    together = independent(*THREE) if joint == "independent" else Enumerated(n, p)
    values, chances, undefined = answering.ratio(together, above, below)
    top, bottom = n[:, above].sum(axis=1), n[:, below].sum(axis=1)
    good = bottom != 0
    wanted = {}
    for r, q in zip((top[good] / bottom[good]).tolist(), p[good].tolist(), strict=True):
        wanted[r] = wanted.get(r, 0.0) + q
    assert undefined == pytest.approx(p[~good].sum(), abs=1e-15)
    if above == below:
        assert (values.tolist(), chances.tolist()) == ([1.0], [1.0])
    else:
        assert values.tolist() == sorted(wanted)
        assert chances == pytest.approx([wanted[r] for r in sorted(wanted)], rel=1e-12)


def test_a_ratio_of_overlapping_sums_and_of_too_many_pairs_is_drawn(monkeypatch):
    together = independent(*THREE)
    assert answering.ratio(together, [0, 1], [1, 2]) is None  # neither disjoint nor a share
    monkeypatch.setattr(answering, "LARGEST_PAIR", 6)
    assert answering.ratio(together, [0], [1]) is not None  # 3 * 2 pairs
    monkeypatch.setattr(answering, "LARGEST_PAIR", 5)
    assert answering.ratio(together, [0], [1]) is None


def test_expected_ranks_equal_enumeration_and_ties_have_the_better_rank():
    windows = (*THREE, (2, [0.5, 0.5]))
    n, p = vectors_of(*windows)
    ranks = 1 + (n[:, None, :] > n[:, :, None]).sum(axis=2)
    laws = [Window(first, np.array(weights) * (i + 1)) for i, (first, weights) in enumerate(windows)]
    assert answering.expected(laws) == pytest.approx(p @ ranks, rel=1e-13)
    found = answering.exact_ranks(independent(*windows), [0, 1, 2, 3], 4)
    assert [rank.place for rank in found] == np.argsort(p @ ranks, kind="stable").tolist()
    for rank in found:
        wanted = {r: p[ranks[:, rank.place] == r].sum() for r in (1, 2, 3, 4)}
        assert dict(zip(rank.ranks.tolist(), rank.probabilities.tolist(), strict=True)) == pytest.approx(
            {r: q for r, q in wanted.items() if q > 0}, rel=1e-12)  # fmt: skip
        assert rank.among(2) == pytest.approx(wanted[1] + wanted[2], rel=1e-12)
    assert [rank.place for rank in answering.exact_ranks(independent(*windows), [2, 0], 1)] == [0]


def test_improbable_ranks_have_a_small_relative_error():
    """P(b >= 1) = 0.001 and P(c >= 1) = 1e-9 are independent, and a is 0: all ranks of a by products."""
    laws = independent((0, [1.0]), (0, [0.999, 1e-3]), (0, [1 - 1e-9, 1e-9]))
    a = answering.exact_ranks(laws, [0, 1, 2], 3)[2]
    assert a.probabilities.tolist() == pytest.approx([0.999 * (1 - 1e-9), 1e-3 + 0.998e-9, 1e-12], rel=1e-6)


@pytest.mark.parametrize(("most", "listed"), [(36, True), (35, False)])
def test_ranks_are_drawn_if_their_distributions_take_too_many_steps(most, listed, monkeypatch):
    """a and b have 3 values and two uncertain opponents each: 2^2 * 3 steps; three such ranks have 36."""
    windows = ((0, [0.2, 0.5, 0.3]),) * 3
    monkeypatch.setattr(answering, "MOST_WORK", most)
    assert (answering.exact_ranks(independent(*windows), [0, 1, 2], 3) is not None) == listed


@pytest.mark.parametrize(
    ("first", "wanted"),
    [(5, [1.0, 1.0]), (4, [1.0, 0.75]), (3, [0.75, 0.5]), (2, [0.5, 0.0]), (1, [0.0, 0.0]), (0, [0.0, 0.0])],
)
def test_the_probability_that_another_count_is_larger(first, wanted):
    """The count is 3 or 4; the other has the weights 1, 1, 2 from `first` on."""
    found = answering._exceeding(Window(3, np.ones(2)), [Window(first, np.array([1.0, 1.0, 2.0]))])
    assert found.tolist() == [wanted]


class Three:
    """Three quantities that are known only from draws, each the number of its draw plus 0, 1 or 2."""

    names, together = ("a", "b", "c"), None

    def __init__(self, status="exact", size=3, kind="rate"):
        self.names = tuple("abc"[:size]) if size <= 3 else tuple(map(str, range(size)))
        self.status, self.sizes, self.type = status, [], kind

    def __len__(self):
        return len(self.names)

    def __getitem__(self, name):
        return SimpleNamespace(accuracy=Accuracy(self.status, 0.0, "by hand"), type=self.type)

    def sample(self, size, *, rng):
        self.sizes.append(size)
        return np.arange(size, dtype=float)[:, None] + np.arange(len(self))


def test_draws_state_their_standard_errors():
    drawer = Drawer(Three(), np.random.default_rng(1))
    n = answering.DRAWS
    assert n == 100_000
    assert drawer.state.status == "approximate"
    assert drawer.state.reason == (
        "by hand; 100,000 independent draws; error: one standard error, or a 95 % bound if all draws agree"
    )
    assert Drawer(Three("approximate"), None).state.reason == (
        "100,000 independent draws from an approximate distribution (by hand); error, of the draws alone: one standard "
        "error, or a 95 % bound if all draws agree"
    )
    state = Accuracy("approximate", 0.1, "n draws (by hand; error: e); error, of the draws")
    heavy = answering._heavy(Draws(np.ones(2), name="x", type="question", accuracy=state), (0.5, 0.5), "why")
    assert heavy.accuracy.reason == "the mean why; n draws (by hand; error: e)"  # the error of the draws does not exist
    assert drawer.error(2.0) == 2.0 / np.sqrt(n)
    assert drawer.error_of_chance(0.2) == pytest.approx(np.sqrt(0.16 / n))
    bound = 1 - 0.05 ** (1 / n)  # of Clopper and Pearson
    assert drawer.error_of_chance(0.0) == drawer.error_of_chance(1.0) == pytest.approx(bound, rel=1e-9)
    assert drawer.error_of_rank(0.5, 7) == 0.5 / np.sqrt(n)
    assert drawer.error_of_rank(0.0, 7) == pytest.approx(6 * bound, rel=1e-9)
    chance = drawer.chance(np.tile([1.0, 0.0, np.nan, 0.0, 0.0], 100), comparison("a > 0.5", Names(["a"])))
    assert (float(chance), chance.accuracy.error) == (0.25, pytest.approx(np.sqrt(0.1875 / 400)))
    assert chance.accuracy.reason.startswith("given that the denominator is not 0, as in 400 of the draws; by hand; ")
    law = drawer.law(np.tile([1.0, np.nan, 3.0], 200), "x")
    assert (law.mean(), law.name, law.type) == (2.0, "x", "question")
    assert law.accuracy.error == pytest.approx(np.sqrt(400 / 399) / np.sqrt(400))
    # 399 draws with a value are too few, as for a Markov chain
    with pytest.raises(ValueError, match="it is not 0 in 399 of 400 draws, and at least 400 are required"):
        drawer.law(np.append(np.ones(399), np.nan), "x")
    with pytest.raises(ValueError, match="certainly or almost certainly 0"):
        drawer.law(np.array([np.nan]), "x")
    for status in ("converged", "not converged"):
        chain = Drawer(Three(status), np.random.default_rng(1))
        assert (chain.state.status, chain.state.reason) == (status, "by hand")
        assert np.isnan([chain.error(1.0), chain.error_of_chance(0.5), chain.error_of_chance(1.0)]).all()


@pytest.mark.parametrize("kind", ["count", "share", "rate", "parameter"])
def test_quantiles_of_discrete_quantities_are_draws(kind):
    """Of 40 draws, one is 1 and 39 are 2, so P(x <= 1) = 1/40 = 0.025 and P(x <= 2) = 1. The interpolated quantile is
    1 + 39 q between the first two draws.
    """
    law = Drawer(Three(kind=kind), None).law(np.append([1.0], np.full(39, 2.0)), "x")
    assert law.discrete == (kind in ("count", "share"))
    assert law.quantile([0.0, 0.025, 0.0251]) == pytest.approx(
        [1.0, 1.0, 2.0] if law.discrete else [1.0, 1 + 0.025 * 39, 1 + 0.0251 * 39]
    )


@pytest.mark.parametrize(("size", "calls"), [(50, 1), (51, 2)])
def test_draws_of_up_to_fifty_quantities_are_kept(size, calls):
    group = Three(size=size)
    drawer = Drawer(group, np.random.default_rng(1))
    first, second = drawer.columns([0, 2]), drawer.columns([1])
    assert first.shape == (answering.DRAWS, 2)
    assert (first[:, 1] - first[:, 0] == 2).all()
    assert (second[:5, 0] == np.arange(5) + 1).all()
    assert len(group.sizes) == calls
    assert drawer.columns([]).shape == (answering.DRAWS, 0)


@pytest.mark.parametrize(("at_once", "sizes"), [(60, [1] * 7), (120, [2, 2, 2, 1]), (10**7, [7])])
def test_draws_of_many_quantities_come_in_blocks(at_once, sizes, monkeypatch):
    monkeypatch.setattr(answering, "DRAWS", 7)
    monkeypatch.setattr(answering, "_AT_ONCE", at_once)
    group = Three(size=60)
    assert Drawer(group, np.random.default_rng(1)).columns([3]).shape == (7, 1)
    assert group.sizes == sizes


class Uniform:
    """Uniform distribution on (0, 2)."""

    support = (0.0, 2.0)

    def cdf(self, x):
        assert 0 <= x <= 2
        return np.asarray(x / 2)


@pytest.mark.parametrize(
    ("text", "p"),
    [
        ("a < 0.5", 0.25), ("a <= 0.5", 0.25), ("a > 0.5", 0.75), ("a >= 0.5", 0.75), ("a = 0.5", 0.0), ("a != 1", 1.0),
        ("-1 * a < -0.5", 0.75), ("-2 * a >= -1", 0.25), ("2 * a < 1", 0.25), ("a < 3", 1.0), ("a > 3", 0.0),
        ("a > -1", 1.0), ("a < -1", 0.0), ("a <= 2", 1.0), ("a > 0", 1.0), ("1 > 0", 1.0), ("1 < 0", 0.0),
    ],
)  # fmt: skip
def test_a_comparison_of_one_real_quantity_is_its_distribution_function(text, p):
    law = Continuous(Uniform(), name="a", type="rate", accuracy=EXACT)
    group = Quantities(["a"], lambda i: law, joint=None)
    found = answering.Asked(group, Drawer(group, None)).probability(text)
    assert float(found) == pytest.approx(p, abs=1e-15)
    assert found.accuracy.status == "exact"


def test_a_comparison_of_one_listed_quantity_and_of_draws():
    law = Discrete([1, 2, 5], [0.2, 0.3, 0.5], name="a", type="share", accuracy=EXACT)
    group = Quantities(["a"], lambda i: law, joint=None)
    asked = answering.Asked(group, Drawer(group, None))
    for text, p in (("a > 1", 0.8), ("a = 2", 0.3), ("2 * a < 10", 0.5), ("-1 * a < -2", 0.5), ("a != 5", 0.5)):
        assert float(asked.probability(text)) == pytest.approx(p, rel=1e-14)
    draws = Quantities(["a"], lambda i: Draws([1.0, 2.0], name="a", type="rate", accuracy=EXACT), joint=None)
    with pytest.raises(ValueError, match="rng is required"):
        answering.Asked(draws, Drawer(draws, None)).probability("a > 1")


def test_the_sum_of_all_others_is_not_among_all():
    group = SimpleNamespace(sums={"total"}, words=Names(("a", "total", "b")), parents=None)
    asked = answering.Asked(group, None)
    assert asked.selected.places("sum", "all") == [0, 2]
    assert asked.selected.places("sum", ["total", "b"]) == [1, 2]
    assert asked.selected.places("sum", "b") == [2]
    named = SimpleNamespace(sums=(), words=Names(("all", "b")), parents=None)
    assert answering.Asked(named, None).selected.places("sum", "all") == [0]  # a quantity of this name
    assert asked._state(0.0) is EXACT
    assert asked._state(0.25).reason == "given that the denominator is not 0, which has probability 0.75"
    assert asked._state(1e-8).reason.endswith("which has probability more than 0.999999")


@pytest.mark.parametrize(("size", "top"), [(3, 3), (5, 5), (6, 5)])
def test_a_rank_shows_the_first_five_by_default(size, top):
    posterior = counts.posterior(
        {f"c{i}": 10 * i for i in range(size)}, noise=dpm.DiscreteLaplace(scale=1.0), prior="flat"
    )
    rows = posterior.ask({"r": {"rank": {"of": "all"}}})
    assert len(rows) == 2 * top
    assert rows["quantity"].tolist()[1] == f"r: P(c{size - 1} in top {top})"


def test_numbers_in_comparisons_may_have_points_and_exponents():
    names = Names(["a", "b c"])
    for text, bound in (
        ("a > 1.", 1.0),
        ("a > .5e1", 5.0),
        ("a > 2E-1", 0.2),
        ("a > 1e+2", 100.0),
        ("a + 1 > 3 - 1", 1.0),
    ):
        assert comparison(text, names).bound == pytest.approx(bound)
    assert comparison("2*3*a > --1", names).coefficients == {0: 6.0}
    assert comparison("a - 2*'b c' - a <= 0", names).coefficients == {1: -2.0}
    assert comparison("a_b > 1", Names(["a", "a_b"])).coefficients == {1: 1.0}
    with pytest.raises(KeyError, match="unknown name 'a_c'"):
        comparison("a_c > 1", Names(["a", "a_b"]))
    for wrong, words in (("/a > 1", "unexpected '/' before 'a'"), ("a ! b > 1", "cannot be parsed|unknown name")):
        with pytest.raises((KeyError, ValueError), match=words):
            comparison(wrong, names)


@pytest.mark.parametrize(("size", "more"), [(10, ""), (11, ", ..")])
def test_an_unknown_name_lists_ten_known_names(size, more):
    names = [f"q{i}" for i in range(size)]
    with pytest.raises(KeyError) as told:
        Names(names).place("zzzz")
    assert told.value.args[0] == f"unknown name 'zzzz': the known names are {', '.join(names[:10])}{more}"


@pytest.mark.parametrize(("gap", "equal"), [(1e-13, True), (1e-11, False), (0.0, True)])
def test_numbers_that_differ_only_by_rounding_are_equal(gap, equal):
    x = np.array([1.0 + gap])
    found = {op: bool(answering.Comparison({0: 1.0}, op, 1.0).holds(x)[0]) for op in (">", "<", ">=", "<=", "==", "!=")}
    assert found == {">": not equal, "<": False, ">=": True, "<=": equal, "==": equal, "!=": not equal}
