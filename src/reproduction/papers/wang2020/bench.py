"""Speed of the additive releases and of their exact posteriors on the paper's Example 2 and its pair of counts."""

from run import timed

from dpmultinomial.mechanisms import additive_counts as mechanism
from dpmultinomial.posteriors import additive_counts
from dpmultinomial.seeding import stream
from reproduction.papers.wang2020 import examples, literal

RELEASES, LITERAL = 10_000, 60


def benchmarks():
    rng = stream(1, "bench")
    counts = examples.example_2()
    model = {"epsilon": 1.0, "support": 50, "rng": rng}
    fast = timed(lambda: mechanism.release_all(counts, size=RELEASES, **model), 11)
    loop = timed(lambda: [literal.release(counts.tolist(), **model) for _ in range(LITERAL)], 1) * RELEASES / LITERAL
    window = 20
    pair = timed(lambda: additive_counts.posterior([250, 357], epsilon=1.0, algorithm="2", window=window), 51)
    fourfold = timed(lambda: literal.pair_table([250, 357], epsilon=1.0, window=window), 1)
    rows = [
        ("10,000 releases, four algorithms, Example 2", fast, "0.25 seconds", 0.25, "ratio >= 1"),
        ("10,000 releases, four algorithms, Example 2", fast, "one by one in Python, scaled", loop, ">= 100"),
        (f"posterior of two counts, window {window}", pair, "four-fold loop", fourfold, ">= 1,000"),
    ]
    for name in ("1-independent", "2", "3"):
        released = mechanism.release(counts, algorithm=name, size=1, **model)[0]
        law = {"epsilon": 1.0, "algorithm": name, "window": None}
        seconds = timed(lambda r=released, w=law: additive_counts.posterior(r, **w), 3)
        rows.append((f"exact posterior of 50 counts, algorithm {name}", seconds, "one second", 1.0, "about 1 s"))
    keys = ("name", "seconds", "baseline", "baseline_seconds", "target")
    return [dict(zip(keys, row, strict=True)) for row in rows]
