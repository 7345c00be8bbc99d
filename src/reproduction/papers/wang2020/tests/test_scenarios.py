"""Scenarios: what they take, what they refuse, and that their answers are those of the stated mechanism."""

import json
import re
from math import exp, inf

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._files import published
from dpmultinomial._honesty import SUMMARY
from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._releases import room as release_room
from dpmultinomial._seeding import stream
from reproduction import paper, tables
from reproduction.config import config, schema
from reproduction.papers.wang2020 import figures, scenario, validation


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    root = tmp_path_factory.mktemp("agency")
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential" / "counts.csv").write_text("category,count\nnorth,120\nsouth,75\neast,0\n")
    asked = {"mechanism": "additive_counts", "data": "confidential/counts.csv", "epsilon": 0.5, "algorithm": "3"}
    return published.open_release(release_room.make("mine", asked, root=root))


def test_a_release_is_read_by_its_record(release):
    found = scenario.table(release=release, rng=stream(1, "unused"))
    assert tuple(found.columns) == scenario.COLUMNS
    assert scenario.COLUMNS[: len(SUMMARY)] == SUMMARY
    assert found["quantity"].tolist()[:4] == ["north", "south", "east", "total"]
    values = release.table.whole("count").tolist()
    assert found["released"].tolist()[:4] == [*values, sum(values)]
    case = scenario.of_release(release)
    assert (case.algorithm, case.ties, case.support) == ("3", "random", inf)
    assert case.epsilon == pytest.approx(0.5)  # of each noisy count: both move, so 1 in all
    assert "epsilon 1 in all" in found["note"].iloc[0]
    assert "scale 2 " in found["note"].iloc[0]
    law = additive_counts.posterior(values, epsilon=0.5, algorithm="3", support=inf)
    assert np.allclose(found["mean"].iloc[:3], law.mean(), rtol=1e-12)
    assert (found["level"] == 0.95).all()


def test_a_release_of_another_mechanism_is_refused(release):
    record = json.loads((release.folder / "record.json").read_text()) | {"mechanism": "discrete_laplace"}
    with pytest.raises(ValueError, match="must be made by additive_counts, got discrete_laplace"):
        scenario.of_release(published.Published(release.folder, record, release.table))


def test_one_released_count_under_algorithm_3_has_a_posterior_known_by_hand():
    # S = 1: the release is max(n, 0) and the component's own noise cancels. With n = r > 0, noise a^|d|,
    # a = exp(-epsilon), uncut, the flat posterior on N >= 0 is a^|N - r| / (1/(1 - a) + (a - a^(r + 1))/(1 - a)).
    r, a = 6, exp(-0.7)
    found = scenario.table(released=[r], epsilon=0.7, prior="flat", rng=stream(1, "unused"))
    values = np.arange(400)
    p = a ** np.abs(values - r)
    p /= p.sum()
    mean = values @ p
    assert found["mean"].iloc[0] == pytest.approx(mean, rel=1e-9)
    assert found["sd"].iloc[0] == pytest.approx(np.sqrt((values - mean) ** 2 @ p), rel=1e-9)
    reached = np.cumsum(p)
    ends = [int(values[np.argmax(reached >= q)]) for q in (0.025, 0.975)]
    assert found[["lower", "upper"]].iloc[0].tolist() == ends
    wider = scenario.table(released=[r], epsilon=0.7, level=0.5, rng=stream(1, "unused"))
    assert wider["upper"].iloc[0] - wider["lower"].iloc[0] < ends[1] - ends[0]


def test_rehearsals_repeat_say_so_and_keep_their_noise_apart_from_releases(tmp_path):
    mine = {"rehearsal": {"counts": [3, 40, 500]}, "epsilon": 0.5, "names": ["a", "b", "c"]}
    one, two = (scenario.table(**mine, rng=stream(5, "same")) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert one["note"].iloc[0].startswith(scenario.REHEARSAL)
    assert one["released"].iloc[:3].sum() == one["released"].iloc[3]
    assert "cost: epsilon 1 in all" in one["note"].iloc[0]  # a record moves the total by 1 and one count by 1: 2 x 0.5
    assert one["released"].tolist()[:3] != [3, 40, 500]
    priors = one[one["quantity"].str.startswith("total, if")]["quantity"].tolist()
    assert priors == ["total, if the prior were flat total", "total, if the prior were Dirichlet-multinomial (0.5)"]
    tables.write(one, tmp_path / "one.csv")
    figure = figures.scenario(tables.read(tmp_path / "one.csv"))
    assert "repeated by anyone" in figure.get_suptitle()
    assert "not a release" in figure.get_suptitle()
    assert "95%" in figure.axes[0].get_xlabel()
    path = tmp_path / "theirs.csv"
    path.write_text("component,count\nnorth,12\nsouth,0\neast,40\n")
    theirs = scenario.table(released_file=str(path), epsilon=1.0, rng=stream(1, "unused"))
    assert theirs["quantity"].tolist()[:4] == ["north", "south", "east", "total"]
    assert "rehearsal" not in theirs["note"].iloc[0]
    long = pd.concat([theirs.head(1)] * 70 + [theirs.tail(3)], ignore_index=True)
    assert not figures.scenario(long).get_suptitle()


def test_windows_cut_and_the_table_says_how_much():
    windowed = scenario.table(released=[20, 31], epsilon=0.5, algorithm="2", window=5, rng=stream(1, "unused"))
    assert set(windowed["status"]) == {"approximate"}
    assert "leaves out" in windowed["note"].iloc[0]
    pair = scenario.table(released=[20, 31], epsilon=0.5, algorithm="1-summed", rng=stream(1, "unused"))
    assert pair["quantity"].tolist() == ["c1", "c2", "total"]


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"released": None}, "", "no counts"),
        ({"rehearsal": {"counts": [1]}}, "", "rehearsal and released"),
        ({"counts": [1, 2, 3], "released": None}, ".counts", "released under `releases:`.*rehearsal"),
        ({"counts_file": "a.csv", "released": None}, ".counts_file", "released under `releases:`.*rehearsal"),
        ({"names": ["a"]}, ".names", "1 names for 3"),
        ({"names": ["a", "a", "b"]}, ".names", "twice"),
        ({"algorithm": "1-summed"}, ".algorithm", "two components"),
        ({"algorithm": "3", "ties": "ieee"}, ".ties", "two components"),
        ({"released": [1, 2], "ties": "ieee", "prior": 0.5}, ".prior", "must be flat"),
        ({"window": 9, "prior": "flat total"}, ".window", "flat prior only"),
        ({"released": None, "rehearsal": {"counts": [1]}, "released_total": 5}, ".released_total", "makes its own"),
        ({"released_total": 11}, ".released_total", "11 is not the sum"),
        ({"epsilon": None}, ".epsilon", "is missing"),
        (
            {"released": None, "epsilon": None, "release": "mine", "algorithm": "2"},
            ".algorithm",
            "record of the release",
        ),
        ({"released": None, "release": "mine"}, ".epsilon", "record of the release"),
        ({"released": None, "released_file": "nowhere.csv"}, ".released_file", "no such file"),
        ({"released": [10**8, 1, 1]}, ".released", "10\\^8"),
    ],
)
def test_scenario_mistakes_are_named(change, place, words):
    section = {"scenarios": {"mine": {"released": [1, 2, 3], "epsilon": 1.0} | change}}
    found = list(validation.mistakes(section))
    assert [p for p, _ in found] == [f"scenarios.mine{place}"]
    assert re.search(words, found[0][1])


def test_true_counts_are_refused_by_the_whole_configuration():
    papers = paper.discover()
    wrong = {"wang2020": {"scenarios": {"mine": {"counts": [1, 2], "epsilon": 1.0}}}}
    with pytest.raises(config.ConfigError, match=r"scenarios\.mine\.counts: true counts are released under"):
        config.check(wrong, schema.of(papers), {"wang2020": papers["wang2020"].mistakes})
    for good in ({"release": "mine"}, {"rehearsal": {"counts": [1, 2]}, "epsilon": 1.0, "prior": 0.5}):
        checked = {"wang2020": {"scenarios": {"mine": good}}}
        config.check(checked, schema.of(papers), {"wang2020": papers["wang2020"].mistakes})


@pytest.mark.parametrize(
    "text", ["name,count\na,1\n", "component,count\na,-1\n", "component,count\na,1.5\n", "component,count\na,1,\n"]
)
def test_files_of_counts_say_what_is_wrong(tmp_path, text):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"bad\.csv.*(column|whole number|must be in|fields)"):
        validation.read_file(str(path))
