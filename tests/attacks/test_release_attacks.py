"""Attacks on a release: each must fail against `_releases` and succeed against a version weakened on purpose."""

import hashlib
import itertools
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

from dpmultinomial._files import csv_table
from dpmultinomial._files.csv_table import parse
from dpmultinomial._mechanisms.swapping import permutation_swaps
from dpmultinomial._releases import _confidential, _noise, room
from dpmultinomial._seeding import stream

pytestmark = pytest.mark.thorough

TRUE = np.array([3, 0, 17, 120, 4, 88, 0, 0, 9, 41, 5, 63, 2, 2, 250, 31, 7, 1, 0, 12])
SEEDS = 200


def write_counts(root, name, values):
    (root / "confidential").mkdir(mode=0o700, exist_ok=True)
    path = root / "confidential" / name
    path.write_text("category,count\n" + "".join(f"c{i},{v}\n" for i, v in enumerate(values)))
    return f"confidential/{name}"


def released(folder):
    return csv_table.read(folder / "release.csv").whole("count")


def counts(root, name, *, epsilon=1.0, values=TRUE, generation=1):
    data = write_counts(root, f"{name}.csv", values)
    settings = {"mechanism": "discrete_laplace", "data": data, "epsilon": epsilon, "generation": generation}
    settings["source"] = "survey"
    return room.make(name, settings, root=root)


def seeded(root_seed, name, values, scale):
    """Return the weakened version: noise that follows from a public seed and the release's name."""
    rng = stream(root_seed, name)
    return (
        values
        + rng.geometric(1 - math.exp(-1 / scale), len(values))
        - rng.geometric(1 - math.exp(-1 / scale), len(values))
    )


# 1. Replay from a public seed and the code.


def replay(public_counts, name, scale):
    """Return candidates for the truth, one per seed; a candidate is plausible if no count is negative."""
    zero = np.zeros(len(public_counts), dtype=np.int64)
    return [public_counts - seeded(seed, name, zero, scale) for seed in range(SEEDS)]


def test_replay(tmp_path):
    weak = seeded(77, "county", TRUE, 2.0)
    assert any(np.array_equal(c, TRUE) for c in replay(weak, "county", 2.0))
    strong = released(counts(tmp_path, "county"))
    # all 20 noises agree with one of 200 streams by chance: below 200 (tanh(1/4))^20 < 1e-9
    assert not any(np.array_equal(c, TRUE) for c in replay(strong, "county", 2.0))


# 2. Two releases of the same data at two epsilons.


def extrapolate(a, scale_a, b, scale_b):
    return (scale_b * a - scale_a * b) / (scale_b - scale_a)


def test_two_epsilons(tmp_path):
    unit = stream(1, "unit").laplace(size=len(TRUE))
    weak = [TRUE + scale * unit for scale in (2.0, 1.0)]
    assert np.rint(extrapolate(weak[0], 2.0, weak[1], 1.0)) == pytest.approx(TRUE)
    first, second = released(counts(tmp_path, "a", epsilon=1.0)), released(counts(tmp_path, "b", epsilon=2.0))
    assert not np.array_equal(np.rint(extrapolate(first, 2.0, second, 1.0)), TRUE)
    with pytest.raises(ValueError, match="settings changed"):
        counts(tmp_path, "a", epsilon=2.0)


# 3. Two releases that differ in one record.


def test_one_record_more(tmp_path):
    more = TRUE.copy()
    more[4] += 1
    weak = seeded(1, "x", more, 2.0) - seeded(1, "x", TRUE, 2.0)
    assert np.array_equal(weak, more - TRUE)
    first = released(counts(tmp_path, "a"))
    with pytest.raises(ValueError, match="confidential file changed"):
        counts(tmp_path, "a", values=more)
    second = released(counts(tmp_path, "a", values=more, generation=2))
    assert not np.array_equal(second - first, more - TRUE)


# 4. Inverting a swap.


def test_inverting_a_swap(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    path = tmp_path / "confidential" / "p.csv"
    path.write_text("id,g,income\n" + "".join(f"{i},{i % 2},{1000 + i}\n" for i in range(120)))
    true, strata = parse(path.read_bytes(), name="p.csv", confidential=False), np.arange(120) % 2

    def invert(table):
        values, found = table.texts("income"), []
        for seed in range(SEEDS):
            sources = permutation_swaps.sources(strata, rate=0.5, rng=stream(seed, "pan2023", "scenario", "p"))
            found.append([values[i] for i in np.argsort(sources).tolist()])
        return found

    weak = permutation_swaps.sources(strata, rate=0.5, rng=stream(5, "pan2023", "scenario", "p"))
    (tmp_path / "weak.csv").write_bytes(true.exchanged(["income"], weak))
    assert true.texts("income") in invert(csv_table.read(tmp_path / "weak.csv"))
    settings = {"mechanism": "swap", "data": "confidential/p.csv", "swap": "income", "match": "g", "rate": 0.5}
    folder = room.make("p", settings, root=tmp_path)
    strong = csv_table.read(folder / "release.csv")
    assert strong.texts("income") != true.texts("income")  # no record selected: 2^-120
    assert true.texts("income") not in invert(strong)


# 5. Support: which counts could have led to the released number at all?


def floating(count, scale, rng):
    """Return the weakened version: textbook inversion in doubles, sign and magnitude from a grid of uniforms."""
    return count + (1 if rng.random() < 0.5 else -1) * (-scale * math.log(1 - rng.random()))


def reachable(value, count, scale):
    """Return whether some double uniform leads from `count` to exactly `value`."""
    if value == count:
        return True
    k = round(math.exp(-abs(value - count) / scale) * 2**53)
    sign = 1 if value > count else -1
    return any(
        count + sign * (-scale * math.log((k + d) / 2**53)) == value for d in range(-64, 65) if 0 < k + d <= 2**53
    )


def test_support(tmp_path):
    rng = stream(2, "support")
    alone = 0
    for _ in range(60):
        value = floating(5, 10.0, rng)
        assert reachable(value, 5, 10.0)
        alone += not reachable(value, 6, 10.0)
    assert alone > 20  # the double gives the truth away against its neighbour, again and again
    found = released(counts(tmp_path, "a", epsilon=0.2))
    # every whole number is reached from every count: q^|k| (1 - q)/(1 + q) > 0
    assert found.dtype == np.int64
    text = (tmp_path / "releases" / "a" / "1" / "release.csv").read_text()
    assert all(line.rpartition(",")[2].lstrip("-").isdigit() for line in text.splitlines()[1:])


def test_support_of_statistics_is_one_public_grid(tmp_path):
    """Check that values are integer multiples of the step for all records, so neighbours have the same support."""
    (tmp_path / "confidential").mkdir(mode=0o700)
    steps = []
    for name, shift in (("a", 0.0), ("b", 0.1234567)):
        rows = "".join(f"{i / 7 + shift:.9f}\n" for i in range(30))
        (tmp_path / "confidential" / f"{name}.csv").write_text("x\n" + rows)
        settings = {"mechanism": "censored_statistics", "data": f"confidential/{name}.csv", "column": "x"}
        folder = room.make(name, settings | {"lower": 0.5, "upper": 3, "epsilon": 1.0}, root=tmp_path)
        said, table = json.loads((folder / "record.json").read_text()), csv_table.read(folder / "release.csv")
        for key, value in zip(table.texts("statistic"), table.numbers("value"), strict=True):
            assert (value / said["step"][key]).is_integer()
        steps.append(said["step"])
    assert steps[0] == steps[1]


# 6. A hash of the confidential file as an oracle for guesses.


def guess(hashes, secret=b""):
    """Try small counts one after the other against every hash that was found."""
    for values in itertools.product(range(4), repeat=3):
        raw = ("category,count\n" + "".join(f"c{i},{v}\n" for i, v in enumerate(values))).encode()
        tried = {hashlib.sha256(raw).hexdigest(), _confidential.fingerprint(secret, b"data", b"small\n1", raw)}
        if tried & hashes:
            return list(values)
    return None


def test_hashes_are_no_oracle(tmp_path):
    true = [1, 3, 2]
    weak = {hashlib.sha256((tmp_path / write_counts(tmp_path, "small.csv", true)).read_bytes()).hexdigest()}
    assert guess(weak) == true
    counts(tmp_path, "small", values=true)
    counts(tmp_path, "small", values=true, generation=2)
    words = set()
    for path in (tmp_path / "releases").rglob("*"):
        if path.is_file():
            text = path.read_text().replace('"', " ").replace(",", " ")
            words |= {w for w in text.split() if len(w) == 64}
    assert len(words) >= 6
    words -= {
        hashlib.sha256(p.read_bytes()).hexdigest() for p in (tmp_path / "releases").rglob("release.csv")
    }  # public
    assert guess(words) is None
    assert guess(words, (tmp_path / "confidential" / ".release_key").read_bytes()) == true  # with the key it is
    lines = (tmp_path / "releases" / "ledger.tsv").read_text().splitlines()[1:]
    assert len({line.split("\t")[9] for line in lines}) == 2  # the same data look different in each generation


# 7. Canaries: nothing of a confidential file anywhere else.

CANARY = "73901846"


def hunt(root):
    found = []
    for path in root.rglob("*"):
        if path.is_file() and "confidential" not in path.relative_to(root).parts:
            found += [path] if CANARY.encode() in path.read_bytes() or CANARY in path.name else []
    return found


BROKEN = {
    "width": "category,count\na,1\nb,{}\nc,1,1\n",
    "number": "category,count\na,1\nb,x{}\n",
    "negative": "category,count\na,1\nb,-{}\n",
    "header": "category,{}\na,1\nb,2\n",
    "quote": 'category,count\na,1\nb,"{}\n',
    "stranger": "category,parent,count\na,,1\nb,{},1\n",
    "sum": "category,parent,count\na,,{}\nb,a,1\nc,a,2\n",
    "roots": "category,parent,count\n{0},,1\n9{0},,1\n",
    "ancestor": "category,parent,count\na,,1\n{0},{0},1\n",
    "columns": "category,parent,count,{0}\na,,1,{0}\nb,a,1,{0}\n",
    "twice": "category,count\n{0},1\n{0},2\n",
}


def test_canaries_of_files_that_fail(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    program = (
        "import sys, json, pathlib; from dpmultinomial._releases import room as releases\n"
        "releases.make('r', json.loads(sys.argv[1]), root=pathlib.Path(sys.argv[2]))"
    )
    said = ""
    for name, text in BROKEN.items():
        (tmp_path / "confidential" / f"{name}.csv").write_text(text.format(CANARY))
    for name in BROKEN:
        settings = {"mechanism": "discrete_laplace", "data": f"confidential/{name}.csv", "epsilon": 1.0}
        with pytest.raises(ValueError, match=rf"confidential/{name}\.csv") as caught:
            room.make("r", settings, root=tmp_path)
        said += repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
        pickle.dumps(caught.value.args)
    assert CANARY not in said
    job = [sys.executable, "-c", program, json.dumps(settings), str(tmp_path)]
    run = subprocess.run(job, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "FileFault" in run.stderr
    assert CANARY not in run.stderr + run.stdout
    assert not hunt(tmp_path)


def test_canaries_of_an_error_nobody_expected(tmp_path, monkeypatch):
    def broken(values, *, scale):
        raise ValueError(f"cannot draw for {values.tolist()}")

    write_counts(tmp_path, "r.csv", [int(CANARY), 2])
    monkeypatch.setattr(_noise, "discrete_laplace", broken)
    from dpmultinomial._releases import _counts as module

    assert module._noise.discrete_laplace is broken
    settings = {"mechanism": "discrete_laplace", "data": "confidential/r.csv", "epsilon": 1.0}
    with pytest.raises(RuntimeError, match="See confidential/r_1_error") as caught:
        room.make("r", settings, root=tmp_path)
    assert CANARY not in repr(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)
    report = tmp_path / "confidential" / "r_1_error.txt"
    assert report.stat().st_mode & 0o777 == 0o600
    assert CANARY in report.read_text()  # the double: this is what a plain traceback would have shown
    assert not hunt(tmp_path)


def test_canaries_of_releases_that_succeed(tmp_path):
    # the number is in every record's value and in a count; noise of scale 2e6 hits it with probability below 1e-6
    write_counts(tmp_path, "c.csv", [int(CANARY), 5, 7])
    rows = "".join(f"{i},{CANARY}.{i},{'a' if i % 2 else 'b'}\n" for i in range(64))
    (tmp_path / "confidential" / "p.csv").write_text("id,x,y\n" + rows)
    made = {
        "laplace": {"mechanism": "discrete_laplace", "epsilon": 1e-6},
        "gaussian": {"mechanism": "discrete_gaussian", "rho": 1e-12},
        "additive": {"mechanism": "additive_counts", "epsilon": 1e-5, "algorithm": "2"},
    }
    tree = f"category,parent,count\na,,{int(CANARY) + 5}\nb,a,{CANARY}\nc,a,5\nd,b,{CANARY}\ne,c,5\n"
    (tmp_path / "confidential" / "t.csv").write_text(tree)
    levels = {"levels": ["whole", "half", "part"], "narrow": "part"}
    for name, settings in (("laplace", made["laplace"]), ("gaussian", made["gaussian"])):
        asked = settings | levels | {"data": "confidential/t.csv", "source": "t"}
        room.make(f"{name}_tree", asked, root=tmp_path)
    for name, settings in made.items():
        room.make(name, settings | {"data": "confidential/c.csv", "source": "c"}, root=tmp_path)
    people = {"data": "confidential/p.csv", "source": "p"}
    limits = {"column": "x", "lower": 0, "upper": 10**9, "epsilon": 1.0}
    room.make("statistics", people | limits | {"mechanism": "censored_statistics"}, root=tmp_path)
    model = {"target": "y", "levels": {"y": ["a", "b"]}, "numeric": ["x"], "bounds": {"x": [0, 10**9]}}
    model |= {"noise": "dirichlet", "epsilon": 1.0, "order": 4.0}
    room.make("model", people | model | {"mechanism": "naive_bayes"}, root=tmp_path)
    assert not hunt(tmp_path)
    assert not any(p.stat().st_mode & 0o077 for p in (tmp_path / "confidential").iterdir() if p.suffix != ".csv")
    (tmp_path / "releases" / "weak.txt").write_text(f"n = {CANARY}")
    assert hunt(tmp_path)  # the hunter finds what a careless record would hold


# 8. Models: counts inside.


def counts_inside(text, tables):
    """Return whether normalised tables are those of integer counts: p n is an integer for all cells at the public n."""
    return all(abs(p * n - round(p * n)) < 1e-6 for p, n in tables) or "count" in text


def test_models_hold_no_counts(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    values = [("own", 71), ("rent", 29)]
    rows = "".join(f"{t}\n" for t, n in values for _ in range(n))
    (tmp_path / "confidential" / "p.csv").write_text("t\n" + rows)
    weak = [(n / 100, 100) for _, n in values]
    assert counts_inside("", weak)
    assert counts_inside(pickle.dumps({"_counts": [71, 29]}).decode("latin-1"), [])
    for noise_law in ("dirichlet", "discrete_laplace"):
        settings = {"mechanism": "bayesian_network", "data": "confidential/p.csv", "network": {"t": []}}
        epsilon = 0.5 if noise_law == "dirichlet" else 0.01  # whole noise that leaves .71: two zeros, less than 1e-5
        settings |= {"levels": {"t": ["own", "rent"]}, "noise": noise_law, "epsilon": epsilon, "floor": 2.5}
        settings |= {"source": "homes"}
        settings |= {"order": 3.0} if noise_law == "dirichlet" else {}
        folder = room.make(noise_law, settings, root=tmp_path)
        shares = csv_table.read(folder / "release.csv").numbers("probability")
        text = "".join((folder / n).read_text() for n in ("release.csv", "record.json"))
        text = text.replace("r counts + alpha", "")
        if noise_law == "dirichlet":
            assert not counts_inside(text, [(p, 100) for p in shares])
        assert "count" not in text
        assert abs(shares[0] - 0.71) > 1e-12
