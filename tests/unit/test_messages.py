"""Messages that a user can follow: the fault, the value and what to write instead."""

import math
from pathlib import Path

import numpy as np
import pytest

import dpmultinomial as dpm
from dpmultinomial._results.questions import DRAWS, UNSEEN
from reproduction import command

FILES = {
    "ac.csv": "name,value\na,12\nc,3\n",
    "fraction.csv": "name,value\na,12\nb,3.5\n",
    "twice.csv": "name,value\na,12\nb,1\na,3\n",
    "scale.csv": "name,value,scale\na,12,1\nb,3,0\n",
    "group.csv": "name,value,group\na,12,x\nb,3,\n",
}
LAPLACE = ("--noise", "laplace", "--scale", "2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ac.csv", *LAPLACE, "--ask", "a/c"), "unexpected '/' before 'c': comparisons take sums and differences"),
        (("ac.csv", *LAPLACE, "--ask", "a/c > 2"), "a ratio is the question {ratio: [a, b]}"),
        (("ac.csv",), "(dpm answer: --noise laplace --scale 2)"),
        (("ac.csv", "--noise", "tulap", "--scale", "2"), "did you mean discrete_laplace, after rounding"),
        (("fraction.csv", "--noise", "discrete_laplace", "--scale", "2"), "discrete_laplace noise: 3.5 (row 2)"),
        (("twice.csv", *LAPLACE), "duplicate name 'a', rows 1 and 3: rename one"),
        (("scale.csv", "--noise", "laplace"), "column scale: must be > 0, got 0 (row 2)"),
        (("group.csv", *LAPLACE), "column group: is empty (row 2); name a group for each count"),
    ],
)
def test_messages_of_answers(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    with pytest.raises(SystemExit) as caught:
        command.main(("answer", *words))
    assert said in str(caught.value)


def test_the_key_of_a_table_of_probabilities_is_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = "{law: table, table: p.csv}"
    Path("mine.yaml").write_text(f"scenarios:\n  a: {{kind: noisy_counts, counts: {{a: 1, b: 2}}, noise: {noise}}}\n")
    with pytest.raises(SystemExit) as caught:
        command.main(("check", "mine.yaml"))
    assert "noise.table: unknown key, did you mean 'file'?" in str(caught.value)


def test_calibrated_mechanisms_name_the_sensitivity():
    with pytest.raises(TypeError, match=r"sensitivity is missing: .* pass sensitivity=2 if one record is replaced"):
        dpm.Laplace.calibrated(1.0)
    for words in ({}, {"sensitivity": 1.0, "l2_squared": 1.0}):
        with pytest.raises(TypeError, match=r"pass either sensitivity, .* or l2_squared, its square: l2_squared=2"):
            dpm.DiscreteGaussian.calibrated(0.5, **words)
    both = (
        dpm.Gaussian.calibrated(0.5, sensitivity=math.sqrt(2)),
        dpm.Gaussian.calibrated(0.5, l2_squared=2.0),
    )
    assert [law.sigma for law in both] == pytest.approx([math.sqrt(2)] * 2)  # sigma^2 = 2/(2 rho)


def test_priors_and_groups_that_are_not_there():
    release = dpm.Release([1.0, 2.0, 3.0], mechanism=dpm.Laplace(scale=2.0))
    with pytest.raises(ValueError, match=r"no groups; write \{'law': 'negative_binomial', \.\.\}"):
        dpm.posterior(release, prior={"negative_binomial": {"mean": 3.0}})
    blank = dpm.Release([1.0, 2.0, 3.0], mechanism=dpm.Laplace(scale=2.0), groups=["a", " ", "b"])
    with pytest.raises(ValueError, match="groups: the group of count 2 is empty"):
        dpm.posterior(blank)


def test_a_generator_is_made_by_a_public_function():
    found = dpm.posterior(dpm.Release([1.0, 2.0], mechanism=dpm.Laplace(scale=2.0)))
    with pytest.raises(TypeError, match=r"e\.g\. dpmultinomial\.stream\(seed, 'name'\), got 3"):
        found.counts.sample(2, rng=3)


def test_a_table_out_of_reach_names_public_functions():
    table = np.array([[50, 20, 10], [0, 30, 20], [10, 10, 40]])
    with pytest.raises(ValueError, match=r"rng: this table needs chains") as caught:
        dpm.posterior(dpm.Release(table, mechanism=dpm.Swap(rate=0.2)))
    assert "pass rng= to dpmultinomial.posterior" in str(caught.value)
    assert "._" not in str(caught.value)


def test_the_statistics_of_a_mechanism_of_sums_are_sums():
    """Of 0.5, 1 and 2 in [0, 3], measured from 1.5: -1 - 0.5 + 0.5 and 1 + 0.25 + 0.25; one record above."""
    x = [0.5, 1.0, 2.0, 4.0]
    mechanism = dpm.CensoredStatistics(lower=0.0, upper=3.0, scale=1e-9, sums=True)
    assert mechanism.of(x) == pytest.approx([-1.0, 1.5, 0.0, 1.0])
    assert mechanism.sample(x, rng=dpm.stream(1, "sums")) == pytest.approx(mechanism.of(x), abs=1e-6)
    assert dpm.CensoredStatistics(lower=0.0, upper=3.0).of(x) == pytest.approx([3.5 / 3, 3.5**2 / -3 + 5.25, 0, 1])


def test_ranks_on_which_all_draws_agree_state_a_bound():
    """No draw shows another rank: its probability is at most p with p such that (1 - p)^DRAWS = 0.05."""
    release = dpm.Release([205.0, 5.0, 100.0, 100.0], mechanism=dpm.Laplace(scale=1.0), parents=[None, 0, 0, 0])
    found = dpm.posterior(release)
    rows = found.ask({"r": {"rank": {"of": ["2", "3", "4"], "top": 3}}}, rng=dpm.stream(1, "ranks"))
    rows = rows.set_index("quantity")
    assert DRAWS * math.log1p(-UNSEEN) == pytest.approx(math.log(0.05))
    assert rows.loc["r: 2", "mean"] == 3.0
    assert rows.loc["r: 2", "error"] == pytest.approx(2 * UNSEEN)
    p = rows.loc["r: P(2 in top 3)"]
    assert (p["mean"], p["error"]) == (1.0, pytest.approx(UNSEEN))
    other = rows.loc["r: 3"]
    assert other["error"] == pytest.approx(other["sd"] / DRAWS**0.5)
