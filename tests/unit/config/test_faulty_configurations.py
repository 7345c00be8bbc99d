"""Check that `dpm check` rejects every faulty configuration that a run rejects: both are run on each of them."""

from pathlib import Path

import pytest

from reproduction import command

NOISE = "noise: {law: laplace, scale: 2}"
COUNTS = f"kind: noisy_counts, counts: {{a: 12, b: 3, c: 5}}, {NOISE}"
TABLE = "kind: swapped_table, table: [[5, 2], [1, 4]], rate: 0.2"
ADDITIVE = "kind: additive_counts, released: [25, 35], epsilon: 0.5"
SHARES = "kind: noisy_shares, shares: {a: 0.5, b: 0.5}, total: 20, r: 2, alpha: 1.5"


def counts(**changes):
    stated = {"counts": "{a: 12, b: 3, c: 5}", "noise": "{law: laplace, scale: 2}"} | changes
    return ", ".join(["kind: noisy_counts", *(f"{key}: {value}" for key, value in stated.items() if value)])


FAULTY = [
    counts(noise=""),
    counts(noise="{law: laplace}"),
    counts(noise="{law: laplace, scale: 0}"),
    counts(noise="{law: laplace, scale: -1}"),
    counts(noise="{law: laplace, sigma: 1}"),
    counts(noise="{law: laplacian, scale: 1}"),
    counts(noise="{law: gaussian, scale: 1}"),
    counts(noise="{law: discrete_gaussian, sigma: 1, variance: 1}"),
    counts(noise="{law: table}"),
    counts(noise="{law: table, file: nope.csv}"),
    counts(noise="{law: random_rounding}"),
    counts(noise="{law: random_rounding, base: 1}"),
    counts(noise="{law: laplace, scale: 2, clipped: 0}"),
    counts(noise="{law: laplace, scale: 2, rounded: -5}"),
    counts(noise="{law: laplace, epsilon: 1, sensitivity: 1, relation: replace a record}"),
    counts(noise="{law: laplace, epsilon: 1, relation: other}"),
    counts(epsilon="1"),
    counts(noise="laplace"),
    counts(counts="{a: 1.5, b: 2}", noise="{law: discrete_laplace, scale: 2}"),
    counts(counts="{a: x, b: 2}"),
    counts(counts="[]"),
    counts(counts="", file="nope.csv"),
    counts(counts="", file="empty.csv"),
    counts(counts="", file="twice.csv"),
    counts(counts="", file="scale.csv", noise="laplace"),
    counts(counts="", file="blank.csv"),
    counts(counts="", file="words.csv"),
    counts(counts="", file="orphan.csv"),
    counts(counts="", file="level.csv"),
    counts(total="-1"),
    counts(total="1.5"),
    counts(total="10000000000"),
    counts(total="{released: 20}"),
    counts(total="20", among="[a]"),
    counts(total="20", among="[a, x]"),
    counts(among="[a, b]"),
    counts(about="rates"),
    counts(about="shares"),
    counts(prior="flatt"),
    counts(prior="0.5"),
    counts(prior="{law: geometric}"),
    counts(prior="{law: geometric, mean: -1}"),
    counts(prior="{law: geometri, mean: 1}"),
    counts(total="20", prior="[1, 1]"),
    counts(total="20", prior="-1"),
    counts(level="1.5"),
    counts(questions="{q: {probability: a > x}}"),
    counts(questions="{q: {probability: a}}"),
    counts(questions="{q: {sum: [a, x]}}"),
    counts(questions="{q: {sums: [a, b]}}"),
    counts(questions="{q: {rank: {of: [a, x]}}}"),
    counts(questions="{q: {rank: {of: all, top: 9}}}"),
    counts(questions="{q: {share: {of: [a], among: [b, c]}}}"),
    counts(groups="{one: [a, b]}"),
    counts(bounds="{lower: 9, upper: 3}"),
    counts(colour="red"),
    TABLE.replace("0.2", "1.5"),
    TABLE.replace("[1, 4]", "[1, -4]"),
    TABLE.replace("[1, 4]", "[1]"),
    ADDITIVE.replace("35", "-35"),
    f"{ADDITIVE}, algorithm: '7'",
    SHARES.replace("a: 0.5", "a: 0.7"),
    "kind: noisy_count, counts: {a: 1}",
    "release: nowhere",
]
FILES = {
    "empty.csv": "name,value\n",
    "twice.csv": "name,value\na,1\na,2\n",
    "scale.csv": "name,value,scale\na,1,1\nb,2,0\n",
    "blank.csv": "name,value,group\na,1,x\nb,2,\n",
    "words.csv": "name,value\na,1\nb,many\n",
    "orphan.csv": "name,value,parent\na,1,\nb,2,z\n",
    "level.csv": "name,value,level\na,1,x\nb,2,y\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    return tmp_path


def refused(*words):
    try:
        command.main(words)
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, str) else ""
    return ""


def test_there_are_sixty_different_faults():
    assert len(set(FAULTY)) == len(FAULTY) >= 60


@pytest.mark.parametrize("scenario", FAULTY)
def test_the_check_rejects_what_a_run_rejects(folder, scenario):
    Path("mine.yaml").write_text(f"scenarios:\n  mine: {{{scenario}}}\n")
    run = refused("answer", "mine", "--configfile", "mine.yaml")
    assert run, "the run accepts it"
    checked = refused("check", "mine.yaml")
    assert "scenarios.mine" in checked, run
    assert not Path("results").exists()


def test_a_sound_configuration_passes_both(folder):
    Path("mine.yaml").write_text(f"scenarios:\n  mine: {{{COUNTS}}}\n")
    assert refused("check", "mine.yaml") == ""
    assert refused("answer", "mine", "--configfile", "mine.yaml") == ""
