"""make attacks: every attack many times over, against releases and against doubles weakened on purpose.

Prints a table of what was tried and what did harm, and writes it to docs/attacks.md, which the documentation shows.
Harm to a release, or a double that withstands its attack, is an error.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from dpmultinomial._files import csv_table
from dpmultinomial._mechanisms.swapping import swap_draws
from dpmultinomial._releases import _protocol, room
from dpmultinomial._seeding import stream
from tests.attacks import doors
from tests.attacks import test_release_attacks as attacks
from tests.attacks import test_release_protocol as protocol

PAGE = Path(__file__).parents[2] / "docs/attacks.md"
HEAD = """# Attacks on releases

Made by `make attacks`, which then runs the longer tests of them too. First how often an attack recovered the
confidential values from a release, and from a double that was weakened on purpose (seeded noise, floating-point noise,
a public seed for the swap); then how many ways around a release did their harm, against the project and against a
double that asks less, mostly what version 0.2 asked. What each is about is in the [threat model](threat-model.md).

| attack | tried | did its harm | tried on a weakened double | did its harm |
| --- | --- | --- | --- | --- |
"""


def replayed(root, tries):
    """The truth among the replays of 200 public seeds."""
    strong = weak = 0
    for i in range(tries):
        name = f"replay{i}"
        found = attacks.released(attacks.counts(root, name))
        strong += any(np.array_equal(c, attacks.TRUE) for c in attacks.replay(found, name, 2.0))
        double = attacks.seeded(i, name, attacks.TRUE, 2.0)
        weak += any(np.array_equal(c, attacks.TRUE) for c in attacks.replay(double, name, 2.0))
    return strong, tries, weak, tries


def two_epsilons(root, tries):
    """2a - b of two releases of the same counts at epsilon and 2 epsilon."""
    strong = weak = 0
    for i in range(tries):
        a = attacks.released(attacks.counts(root, f"first{i}", epsilon=1.0))
        b = attacks.released(attacks.counts(root, f"second{i}", epsilon=2.0))
        strong += np.array_equal(np.rint(attacks.extrapolate(a, 2.0, b, 1.0)), attacks.TRUE)
        unit = stream(i, "unit").laplace(size=len(attacks.TRUE))
        x, y = attacks.TRUE + 2.0 * unit, attacks.TRUE + unit
        weak += np.array_equal(np.rint(attacks.extrapolate(x, 2.0, y, 1.0)), attacks.TRUE)
    return strong, tries, weak, tries


def one_record_more(root, tries):
    """The difference of two generations against the record that was added between them."""
    more = attacks.TRUE.copy()
    more[4] += 1
    strong = weak = 0
    for i in range(tries):
        first = attacks.released(attacks.counts(root, f"record{i}"))
        second = attacks.released(attacks.counts(root, f"record{i}", values=more, generation=2))
        strong += np.array_equal(second - first, more - attacks.TRUE)
        gap = attacks.seeded(i, "x", more, 2.0) - attacks.seeded(i, "x", attacks.TRUE, 2.0)
        weak += np.array_equal(gap, more - attacks.TRUE)
    return strong, tries, weak, tries


def inverted_swap(root, tries):
    """The original column among the inversions of 200 public seeds."""
    path = root / "confidential" / "p.csv"
    path.write_text("id,g,income\n" + "".join(f"{i},{i % 2},{1000 + i}\n" for i in range(120)))
    true, strata = [str(1000 + i) for i in range(120)], np.arange(120) % 2
    permuted = [swap_draws.sources(strata, rate=0.5, rng=stream(seed, "p")) for seed in range(attacks.SEEDS)]

    def recovered(values):
        return any([values[i] for i in np.argsort(sources).tolist()] == true for sources in permuted)

    settings = {"mechanism": "swap", "data": "confidential/p.csv", "swap": "income", "match": "g", "rate": 0.5}
    settings["source"] = "people"
    strong = weak = 0
    for i in range(tries):
        folder = room.make(f"swap{i}", settings, root=root)
        strong += recovered(csv_table.read(folder / "release.csv").texts("income"))
        weak += recovered([true[k] for k in permuted[i].tolist()])
    return strong, tries, weak, tries


def excluded_neighbour(root, tries):
    """A released number that the neighbouring count could not have led to, at epsilon = 0.2."""
    rng, weak = stream(3, "support"), 0
    for _ in range(tries):
        value = attacks.floating(5, 10.0, rng)
        weak += not attacks.reachable(value, 6, 10.0)
    strong = 0
    for i in range(tries // len(attacks.TRUE)):
        found = attacks.released(attacks.counts(root, f"support{i}", epsilon=0.2))
        strong += int(np.sum(found != np.rint(found)))  # every whole number is reached from every count
    return strong, tries, weak, tries


def killed_at_every_step(root, tries):
    """kill -9 before each step of a release: a file without its line, or one that is drawn twice."""

    def harm():
        done, names = 0, protocol.steps_of(lambda: protocol.make(fresh(root)))
        for number in range(len(names)):
            project = fresh(root)
            assert protocol.killed(lambda project=project: protocol.make(project), number)
            try:
                protocol.recover(project, protocol.judge(project)[0])
            except (AssertionError, KeyError, ValueError):
                done += 1
        return done, len(names)

    strong = harm()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_protocol, "release", protocol.publishes_first)
        return *strong, *harm()


def fresh(root):
    """A project of the protocol's tests, with an account that remembers nothing yet."""
    place = root / str(len(list(root.iterdir())))
    os.environ["XDG_STATE_HOME"] = str(place / "account")
    (place / "confidential").mkdir(parents=True, mode=0o700)
    (place / "confidential/people.csv").write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(12)))
    return place


def mounted(door):
    """Every attack on one of the doors beside a mechanism."""

    def campaign(root, tries):
        strong = sum(doors.succeeded(door, a, root / f"s{i}", double=False) for i, a in enumerate(door.attacks))
        weak = sum(doors.succeeded(door, a, root / f"w{i}", double=True) for i, a in enumerate(door.against_double))
        return strong, len(door.attacks), weak, len(door.against_double)

    return campaign


CAMPAIGNS = (
    ("replay of the noise from a public seed", replayed, 20),
    ("two releases that differ in epsilon", two_epsilons, 20),
    ("two releases that differ in one record", one_record_more, 300),
    ("inversion of a swap", inverted_swap, 20),
    ("a neighbouring count ruled out by floating point", excluded_neighbour, 300),
    *((door.name, mounted(door), 1) for door in doors.DOORS),
    ("kill -9 before every step of a release", killed_at_every_step, 1),
)


def main():
    lines, wrong = [], []
    for name, campaign, tries in CAMPAIGNS:
        with TemporaryDirectory() as folder:
            root = Path(folder)
            os.environ["XDG_STATE_HOME"] = str(root / "account")  # never what the real one remembers
            (root / "confidential").mkdir(mode=0o700)
            strong, tried, weak, doubles = campaign(root, tries)
        lines.append(f"| {name} | {tried} | {strong} | {doubles} | {weak} |")
        print(lines[-1], flush=True)
        wrong += [f"{name}: did its harm"] * bool(strong)
        wrong += [f"{name}: the weakened double withstood, so the attack shows nothing"] * (not weak)
    PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
