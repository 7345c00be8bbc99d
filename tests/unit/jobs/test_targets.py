"""Tests of invalid targets: reported with the nearest valid target before Snakemake starts."""

import sys

import pytest

from reproduction.config import overlays
from reproduction.config.reading import ConfigError
from reproduction.jobs import internals, targets

RULES = ["all", "balmat2018", "scenario_survey", "page_survey", "release_county"]
FILES = ["figures/balmat2018/figure_1.png", "results/balmat2018/table_1.csv"]
SECTIONS = {"scenarios": ["survey"], "plans": [], "releases": ["county"]}


def refusal(*asked):
    return targets.refusal(asked, rules=RULES, files=FILES, made=FILES.__contains__, sections=SECTIONS)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("balmat2081", "'balmat2081' is not a target, did you mean 'balmat2018'?"),
        ("alle", "'alle' is not a target"),
        ("figures/balmat2018/figur_1.png", "is not a target, did you mean 'figures/balmat2018/figure_1.png'?"),
        (
            "scenario_servey",
            "is not a target; scenarios are survey; add others with --configfile, did you mean 'scenario_survey'?",
        ),
        ("plan_zzz", "'plan_zzz' is not a target; plans are none; add others with --configfile"),
        ("release_conty", "releases are county; add others with --configfile, did you mean 'release_county'?"),
    ],
)
def test_a_misspelt_target_is_told_with_the_nearest(asked, said):
    first, last = refusal("balmat2018", asked).splitlines()
    assert first.endswith(said)
    assert last == "Nothing was run."


def test_rules_files_that_are_made_and_files_that_are_there_are_targets(tmp_path):
    there = tmp_path / "there.csv"
    there.touch()
    assert refusal(*RULES, *FILES, str(there)) == refusal() == ""


def test_targets_are_those_of_snakemakes_own_command_line(monkeypatch):
    words = ["--cores", "1", "balmat2018", "a/b.csv", "--configfile", "mine.yaml", "other.yaml", "--forcerun", "x"]
    for program, found in (("/bin/snakemake", True), ("/x/snakemake/__main__.py", True), ("/bin/pytest", False)):
        monkeypatch.setattr(sys, "argv", [program, *words])
        assert internals.asked_targets() == (["balmat2018", "a/b.csv"] if found else [])
    for words in ([], ["--cores", "1"], ["--cores", "1", "--target-jobs", "x:"]):
        monkeypatch.setattr(sys, "argv", ["snakemake", *words])
        assert internals.asked_targets() == []


def test_a_target_after_configfile_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("{}")
    assert overlays.taken_apart(["--configfile", "plain", "mine.yaml"]).overlays
    with pytest.raises(ConfigError, match=r"scenario_x: is not a configuration file; .* write it before --configfile"):
        overlays.taken_apart(["--configfile", "mine.yaml", "scenario_x"])
