"""Tests of public releases that were changed or forged: rejected with the key or line."""

import hashlib
import json
import math
from contextlib import suppress

import pytest

from dpmultinomial._files import places, published
from dpmultinomial._files.places import FileFault
from dpmultinomial._releases import losses, room

from ..releases.test_room import COUNTS, PEOPLE, SETTINGS

WRONG = (None, True, "", "x", -1, 0, 0.5, 1e300, -1e300, 1e-300, 10**400, [], [1], {}, {"a": 1}, [[]], {"a": {}})
TREE = "category,parent,count\nstate,,9\nnorth,state,5\nsouth,state,4\n"
OF_TREES = {"data": "confidential/tree.csv", "source": "tree", "levels": ["state", "county"]}
ALL = SETTINGS | {
    "laplace_tree": {"mechanism": "discrete_laplace", "epsilon": 1.0, "narrow": "county"} | OF_TREES,
    "added_gaussian_tree": {"mechanism": "discrete_gaussian", "rho": 0.5} | OF_TREES,
    "gaussian_tree": {"mechanism": "discrete_gaussian", "rho": 0.5, "relation": "replace a record"} | OF_TREES,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return one release of every mechanism, in a folder without a ledger: (record, bytes of its file)."""
    root = tmp_path_factory.mktemp("records")
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential/counts.csv").write_text(COUNTS)
    (root / "confidential/people.csv").write_text(PEOPLE)
    (root / "confidential/tree.csv").write_text(TREE)
    found = {}
    for name, settings in ALL.items():
        folder = room.make(name, settings, root=root)
        found[name] = json.loads((folder / "record.json").read_bytes()), (folder / "release.csv").read_bytes()
    return found


def put(folder, record, data):
    folder.mkdir(exist_ok=True)
    (folder / "record.json").write_text(record if isinstance(record, str) else json.dumps(record))
    (folder / "release.csv").write_bytes(data)
    return folder


# Words for people, counts that only describe, and what belongs to nothing else: other values may be right.
FREE = {
    *("source", "invariants", "not_hardened_because", "column", "versions", "exact_delta_of_one_table", "target"),
    *("records", "strata", "strata_of_one_record", "largest_stratum", "epsilon_per_unit_of_distance", "encoding"),
    *("epsilon_per_unit_of_distance_exact", "matched", "ceiling", "lower", "upper", "rate", "order"),
    *("floor", "r", "alpha", "total", "tables", "generation", "release", "narrow"),
}


@pytest.mark.parametrize("mechanism", ALL)
def test_every_release_is_opened_and_every_changed_record_refused(made, tmp_path, mechanism):
    """Omit, misspell and replace every key by values of every kind: no other value is accepted for relevant keys."""
    record, data = made[mechanism]
    assert published.open_release(put(tmp_path / "good", record, data)).record == record
    for key, value in record.items():
        for name in ((), (key + "x",)):
            changed = {k: v for k, v in record.items() if k != key} | dict.fromkeys(name, value)
            if name or key not in ("against_ceiling", "ceiling", "epsilon_at_delta"):  # which version 0.2 did not state
                refused(put(tmp_path / "bad", changed, data))
        for other in WRONG:
            if other != value or type(other) is not type(value):
                folder = put(tmp_path / "bad", record | {key: other}, data)
                if key not in FREE and (mechanism, key) != ("swap", "against_ceiling"):  # a text
                    refused(folder)
                elif isinstance(other, (list, dict)) or other is True:
                    taken(folder, key)


def refused(folder):
    with pytest.raises(FileFault, match=r"record\.json|release\.csv"):
        published.open_release(folder)


def taken(folder, key):
    """Check that a value of another type is rejected even where another value may be valid."""
    try:
        published.open_release(folder)
    except FileFault:
        return
    assert key in ("versions", "exact_delta_of_one_table", "ceiling", "matched")


@pytest.mark.parametrize(
    ("mechanism", "key", "value", "words"),
    [
        ("discrete_laplace", "scale", 0.02, "are inconsistent"),
        ("discrete_laplace", "scale", 2.001, "are inconsistent"),
        ("discrete_laplace", "scale", 1e-300, "are inconsistent"),
        (
            "discrete_laplace",
            "total",
            0.5,
            "the value '0.5' of the key total is invalid for the mechanism discrete_laplace",
        ),
        ("discrete_laplace", "mechanism", "discrete_gaussian", "discrete_gaussian"),
        ("discrete_laplace", "mechanism", "any text", "mechanism must be one of discrete_laplace"),
        ("discrete_laplace", "law", "Laplace", "of the key law is invalid"),
        ("discrete_laplace", "categories", 5, "release.csv must have 5 rows, as stated in the record, got 4 rows"),
        ("discrete_laplace", "hardened", False, "hardened must be false for Dirichlet"),
        ("discrete_laplace", "extra", 1, "the key 'extra' is not valid for the mechanism discrete_laplace"),
        ("discrete_gaussian", "scale", 0.5, "are inconsistent"),
        ("additive_counts", "epsilon_of_each_count", 2.0, "are inconsistent"),
        ("additive_counts", "algorithm", "4", "of the key algorithm is invalid"),
        ("swap", "cost_of_one_exchange", 1.0, "cost_of_one_exchange must be equal"),
        ("swap", "records", 79, "must have 79 rows, as stated in the record, got 80 rows"),
        ("swap", "swapped", ["income"], "no column 'income'"),
        ("swap", "rate", 1, "of the key rate is invalid"),
        ("censored_statistics", "upper", 1.0, "lower must be below upper"),
        ("naive_bayes", "network", {"age": ["tenure"]}, "must be a node of the network in the record"),
        ("bayesian_network", "sensitivity", 6, "are inconsistent"),
        ("naive_bayes", "network", {"age": [], "tenure": ["Age"]}, "every parent must be a node of the network"),
        ("naive_bayes", "network", {"age": ["tenure"], "tenure": ["age"]}, "network must not contain a cycle"),
        ("bayesian_network", "network", {"age": ["age"]}, "network must not contain a cycle"),
        ("naive_bayes", "levels", {"age": ["a", "b"]}, "levels must be the categories of the nodes"),
        ("naive_bayes", "tables", 7, "tables must be the number of nodes"),
        ("naive_bayes", "order", 1.5, "order must be the order in cost"),
        ("laplace_tree", "sensitivity", 1, "of the key sensitivity is invalid"),
        ("gaussian_tree", "total", 10, "must be equal to the total in the record, got '9'"),
        (
            "laplace_tree",
            "nodes",
            {"state": 2, "county": 1},
            "the numbers of nodes per level must be",
        ),
        ("gaussian_tree", "cost", {"relation": "replace a record", "rho": 10**308}, "of the key cost is invalid"),
        ("discrete_gaussian", "cost", {"relation": "replace a record", "rho": 10**308}, "of the key cost is invalid"),
        ("swap", "against_ceiling", {"relation": "replace a record", "epsilon": 1.0}, "against_ceiling must be"),
    ],
)
def test_numbers_that_do_not_belong_together_are_told(made, tmp_path, mechanism, key, value, words):
    record, data = made[mechanism]
    with pytest.raises(FileFault, match=words):
        published.open_release(put(tmp_path / "r", record | {key: value}, data))


def scaled(numbers, factor):
    return {level: value * factor for level, value in numbers.items()}


@pytest.mark.parametrize("mechanism", ["laplace_tree", "gaussian_tree", "added_gaussian_tree"])
def test_numbers_of_a_tree_are_changed_together_or_not_at_all(made, tmp_path, mechanism):
    """Check levels with half the cost or noise, a change other than the sensitivity, and shares without a cost."""
    record, data = made[mechanism]
    gaussian = mechanism != "laplace_tree"
    shares, first = record["shares"], next(iter(record["shares"]))
    cheap = {key: record["cost"][key] * (0.5 if key != "relation" else 1) for key in record["cost"]}
    counted = {key: value * (0.5 if key != "relation" else 1) for key, value in record["against_ceiling"].items()}
    forged = {
        "half the cost, of shares that sum to 2": {
            "cost": cheap, "against_ceiling": counted, "shares": scaled(shares, 2),
        },
        "twice the change": {
            "change_of_a_level": 2 * record["change_of_a_level"],
            "scale": scaled(record["scale"], math.sqrt(2) if gaussian else 2),
        },
        "other shares": {"shares": shares | {first: shares[first] * 0.99}},
        "noise 1 % smaller": {"scale": scaled(record["scale"], 0.99)},
    }  # fmt: skip
    for change in forged.values():
        with pytest.raises(FileFault, match=r"are inconsistent|cost must be the sum|must be the share|is invalid"):
            published.open_release(put(tmp_path / "r", record | change, data))


@pytest.mark.parametrize(
    "mechanism", ["discrete_laplace", "discrete_gaussian", "additive_counts", "laplace_tree", "added_gaussian_tree"]
)
@pytest.mark.parametrize("factor", [0.25, 0.5, 0.99, 1.01, 2])
def test_what_a_ceiling_counts_is_what_the_cost_says(made, tmp_path, mechanism, factor):
    record, data = made[mechanism]
    stated = {k: v if k == "relation" else v * factor for k, v in record["against_ceiling"].items()}
    for wrong in (stated, record["against_ceiling"] | {"relation": "add or remove a record"}, "outside"):
        with pytest.raises(FileFault, match="against_ceiling must be the cost for the relation 'replace a record'"):
            published.open_release(put(tmp_path / "r", record | {"against_ceiling": wrong}, data))


@pytest.mark.parametrize("mechanism", ALL)
def test_the_epsilon_at_a_delta_follows_from_the_noise_and_the_cost(made, tmp_path, mechanism):
    """Check that a record without a ledger that states a smaller epsilon is rejected, and a larger one is not."""
    record, data = made[mechanism]
    stated = record["epsilon_at_delta"]
    assert losses.opened(put(tmp_path / "r", record, data)).record == record
    for factor in (1 - 1e-5, 0.5, 1e-9, 0.0, -1.0):
        forged = record | {"epsilon_at_delta": stated | {"epsilon": stated["epsilon"] * factor}}
        with pytest.raises(FileFault, match=r"epsilon_at_delta must be >= .* according to the noise"):
            losses.opened(put(tmp_path / "r", forged, data))
    if stated["epsilon"] < record["cost"].get("epsilon", math.inf):
        more = record | {"epsilon_at_delta": stated | {"epsilon": stated["epsilon"] * (1 + 1e-9)}}
        losses.opened(put(tmp_path / "r", more, data))
    smaller = record | {"epsilon_at_delta": stated | {"delta": stated["delta"] / 10}}
    if set(record["cost"]) & {"rho", "order"}:  # a pure loss has a bound that changes little with delta
        with pytest.raises(FileFault, match="epsilon_at_delta must be >="):
            losses.opened(put(tmp_path / "r", smaller, data))
    old = {key: value for key, value in record.items() if key != "epsilon_at_delta"}
    losses.opened(put(tmp_path / "r", old, data))  # version 0.2


def test_the_epsilon_at_a_delta_of_laplace_counts_by_hand(made, tmp_path):
    """Use one count that moves by 1 up and another by 1 down. Each has the loss 1/s with probability 1/(1 + a), and
    -1/s with a/(1 + a), a = exp(-1/s). So delta(e) = (1 - exp(e - 2/s))/(1 + a)^2 for 0 <= e <= 2/s.
    """
    record, data = made["discrete_laplace"]
    delta, scale = record["epsilon_at_delta"]["delta"], record["scale"]
    epsilon = 2 / scale + math.log1p(-delta * (1 + math.exp(-1 / scale)) ** 2)
    for factor, good in ((1 + 1e-9, True), (1 - 1e-4, False)):
        changed = record | {"epsilon_at_delta": {"epsilon": epsilon * factor, "delta": delta}}
        folder = put(tmp_path / "r", changed, data)
        if good:
            losses.opened(folder)
        else:
            with pytest.raises(FileFault, match="epsilon_at_delta must be >="):
                losses.opened(folder)


@pytest.mark.parametrize("sensitivity", [1, 7, 50, 2**53])
@pytest.mark.parametrize("scale", [1e-3, 0.05, 1e3, 2.0**40])
@pytest.mark.parametrize("mechanism", ["discrete_laplace", "discrete_gaussian"])
def test_a_record_with_extreme_noise_is_checked(made, tmp_path, mechanism, scale, sensitivity):
    """Check that extreme settings end in an answer. Without the limit on rho, sensitivity 7 would take hours."""
    record, data = made[mechanism]
    gaussian = mechanism == "discrete_gaussian"
    value = sensitivity / (2 * scale**2) if gaussian else sensitivity / scale
    cost = {"relation": "replace a record", "rho" if gaussian else "epsilon": value}
    stated = {"epsilon": -1.0, "delta": 1e-6, "method": "conversion"}
    more = {"scale": scale, "sensitivity": sensitivity, "cost": cost, "against_ceiling": cost}
    with pytest.raises(FileFault, match="epsilon_at_delta"):
        losses.opened(put(tmp_path / "r", record | more | {"epsilon_at_delta": stated}, data))


@pytest.mark.parametrize(("r", "alpha"), [(1e6, 1.0), (0.1, 1e6), (1e3, 1e-3), (1e250, 1e250), (1e-250, 1e-250)])
def test_a_record_of_a_model_cannot_exhaust_the_memory(made, tmp_path, r, alpha):
    """Check that the loss distribution of such noise, with up to 1e8 points, is not computed."""
    record, data = made["naive_bayes"]
    more = {"r": r, "alpha": alpha, "epsilon_at_delta": record["epsilon_at_delta"] | {"epsilon": -1.0}}
    assert losses.of_record(record) is not None
    assert losses.of_record(record | more) is None
    with pytest.raises(FileFault, match="epsilon_at_delta must be >="):
        losses.opened(put(tmp_path / "r", record | more, data))


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-30, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("mechanism", ALL)
def test_every_delta_of_a_record_has_an_answer(made, tmp_path, mechanism, delta):
    record, data = made[mechanism]
    stated = {"epsilon": record["cost"].get("epsilon", 1e9), "delta": delta}
    with suppress(FileFault):
        losses.opened(put(tmp_path / "r", record | {"epsilon_at_delta": stated}, data))
    with pytest.raises(FileFault, match="epsilon_at_delta"):
        losses.opened(put(tmp_path / "r", record | {"epsilon_at_delta": stated | {"epsilon": -1e-6}}, data))


@pytest.mark.parametrize("text", ['{"total": Infinity}', '{"a": 1, "a": 2}', "[" * 10**5, "NaN", "\xff", "", "{}", "3"])
def test_what_is_no_record_is_refused(made, tmp_path, text):
    with pytest.raises(FileFault, match=r"record\.json"):
        published.open_release(put(tmp_path / "r", text, b""))
    whole = json.dumps(made["discrete_laplace"][0])
    for bad in (whole.replace("200", "Infinity"), whole.replace("{", '{"total": 3,', 1), whole[:-5]):
        with pytest.raises(FileFault, match="is not valid JSON"):
            published.open_release(put(tmp_path / "r", bad, made["discrete_laplace"][1]))


FILES = {
    "discrete_laplace": [
        (lambda t: t.replace("south", "north"), "line 4, column 'category'"),
        (lambda t: t.replace("south", " "), "must be a category that is not empty"),
        (lambda t: t.replace("\n", ",1\n").replace("count,1", "count,more"), "must have the columns category, count"),
        (lambda t: t.replace("category", "name"), "must have the columns"),
        (lambda t: t + "extra,4\n", "must have 4 rows, as stated in the record, got 5 rows"),
        (lambda t: t.rsplit(",", 1)[0] + ",1.5\n", "must be an integer"),
        (lambda t: "", "empty"),
    ],
    "additive_counts": [(lambda t: t.rsplit(",", 1)[0] + ",-5\n", "must be in")],
    "censored_statistics": [
        (lambda t: t.replace("sse", "mean"), "'statistic' must contain the values mean, sse, low, high, in this order"),
        (lambda t: t.rsplit(",", 1)[0] + ",nan\n", "must be a number"),
    ],
    "naive_bayes": [
        (lambda t: t.replace("age", "income"), "must be a node"),
        (lambda t: t.rsplit(",", 1)[0] + ",1.5\n", "must be in"),
        (lambda t: t.rsplit(",", 1)[0] + ",0.999\n", "must sum to 1"),
        (lambda t: "\n".join([*t.splitlines()[:-2], *t.splitlines()[:-3:-1]]) + "\n", "according to the network"),
        (lambda t: "\n".join(t.splitlines()[:-1]) + "\n", r"rows, as stated in the record"),
    ],
    "swap": [(lambda t: t.replace("tenure", "house"), "no column 'tenure'"), (lambda t: t + t[-20:], "fields|rows")],
}


@pytest.mark.parametrize(("mechanism", "at"), [(m, i) for m, cases in FILES.items() for i in range(len(cases))])
def test_a_file_that_is_no_such_release_is_refused(made, tmp_path, mechanism, at):
    damage, words = FILES[mechanism][at]
    record, data = made[mechanism]
    changed = damage(data.decode()).encode()
    stated = record | {"sha256": hashlib.sha256(changed).hexdigest()}
    with pytest.raises(FileFault, match=words):
        published.open_release(put(tmp_path / "r", stated, changed))


def test_where_there_is_a_ledger_it_must_name_the_release(made, tmp_path):
    record, data = made["discrete_laplace"]
    record = record | {"release": "county"}
    (tmp_path / "releases/county").mkdir(parents=True)
    folder = put(tmp_path / "releases/county/1", record, data)
    assert published.open_release(folder).number("scale") == 2.0
    ledger, digest = tmp_path / "releases/ledger.tsv", hashlib.sha256((folder / "record.json").read_bytes()).hexdigest()
    head = "release\tgeneration\tsha256\trecord_sha256\n"
    good = f"county\t1\t{record['sha256']}\t{digest}\n"
    ledger.write_text(head + good)
    assert published.open_release(folder).number("scale") == 2.0
    for text, words in (
        (head, "is not listed in"),
        (head + good.replace("\t1\t", "\t2\t"), "is not listed in"),
        (head + good.replace(digest, "0" * 64), "does not match the SHA-256 checksums in"),
        (head + good.replace(record["sha256"], "0" * 64), "does not match the SHA-256 checksums in"),
        ("a\tb\n", "line 1: the header must contain the columns"),
        ("", "line 1: the header must contain the columns"),
    ):
        ledger.write_text(text)
        with pytest.raises(FileFault, match=words):
            published.open_release(folder)
    ledger.write_text(head + good)
    again = json.dumps(record | {"scale": 2.0000001})  # close enough for its cost, not for the ledger
    (folder / "record.json").write_text(again)
    with pytest.raises(FileFault, match="does not match the SHA-256 checksums in"):
        published.open_release(folder)
    folder.rename(folder.with_name("2"))
    with pytest.raises(FileFault, match="but the folder belongs to county, generation 2: restore the record"):
        published.open_release(folder.with_name("2"))


def test_a_number_of_a_record_is_one(made, tmp_path):
    record, data = made["discrete_laplace"]
    found = published.open_release(put(tmp_path / "r", record, data))
    assert math.isclose(found.number("scale"), 2.0)
    with pytest.raises(FileFault, match="the value of nothing must be a number"):
        found.number("nothing")


def test_confidential_files_are_known_under_every_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home, away = tmp_path / "confidential", tmp_path / "away"
    (home / "deep").mkdir(parents=True)
    away.mkdir()
    for path in (home / "c.csv", home / "deep/d.csv", away / "e.csv", tmp_path / "public.csv"):
        path.write_text("category,count\na,1\n")
    (tmp_path / "link.csv").symlink_to(home / "c.csv")
    (tmp_path / "hard.csv").hardlink_to(home / "deep/d.csv")
    (tmp_path / "linked").symlink_to(home)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in (
        "confidential/c.csv", "confidential/deep/d.csv", "./confidential/../confidential/c.csv", "link.csv", "hard.csv",
        "linked/c.csv", "linked/deep/d.csv", str(home / "c.csv"), "confidential", "linked", "confidential/none.csv",
        "/proc/self/cwd/confidential/c.csv", "/elsewhere/confidential/x.csv",
    ):  # fmt: skip
        with pytest.raises(FileFault, match="is confidential: only a release"):
            places.public(name)
    for name in ("public.csv", "away/e.csv", "none.csv", "circle", "circle/x", "confidential.csv"):
        assert str(places.public(name)) == name
    with pytest.raises(FileFault, match="not contain NUL"):
        places.public("a\0b")
    for path in (home / "deep/d.csv", home / "c.csv"):
        path.unlink()
    (home / "deep").rmdir()
    home.rmdir()
    home.symlink_to(away)  # the folder may be a link
    for name in ("away/e.csv", "confidential/e.csv"):
        with pytest.raises(FileFault, match="is confidential"):
            places.public(name)
