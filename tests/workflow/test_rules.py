"""Tests of the rules: what is run again after a change, invalid configurations, and manifests that match the rules."""

import os
import re
from pathlib import Path

import pytest
import yaml

from reproduction import paper
from reproduction import smoke as smoke_sizes
from reproduction.jobs import artefacts

from .running import Folder

ROOT = Path(__file__).parents[2]
TARGETS = (
    "results/balmat2018/table_1.csv",
    "results/balmat2018/figure_2_digits.csv",
    "results/balmat2018/realised_share.csv",
)
COUNTS = "src/dpmultinomial/_posteriors/counts"


@pytest.fixture(scope="module")
def edited(copied_source, tmp_path_factory):
    """Return a run of a few targets, from a source tree that the test may edit."""
    sizes = smoke_sizes.configuration()["balmat2018"] | {"errata": {"runs": 2}}
    folder = Folder(tmp_path_factory.mktemp("edited"), source=copied_source, balmat2018=sizes)
    folder.snakemake(*TARGETS)
    assert folder.planned(*TARGETS) == {}
    return folder


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    os.utime(path)


@pytest.mark.thorough
def test_an_edited_module_reruns_what_uses_it_and_nothing_else(edited):
    path = edited.source / "src/dpmultinomial/_posteriors/counts/dirichlet_mixture.py"
    text = path.read_text()
    os.utime(path)
    assert edited.planned(*TARGETS) == {}  # a touched module does not cause a rerun
    change(path, "_NEGLIGIBLE = 1e-17", "_NEGLIGIBLE = 1e-18")
    users = {"balmat2018_realised_share_table", "balmat2018_figure_2_digits_table", "balmat2018_figure_2_loop"}
    assert set(edited.planned(*TARGETS)) == users  # and not Table 1, which imports no posterior
    path.write_text(text)
    assert edited.planned(*TARGETS) == {}  # taken back before anything ran


@pytest.mark.thorough
def test_an_edited_kernel_is_compiled_and_reruns_what_uses_it(edited):
    change(
        edited.source / "src/reproduction/papers/balmat2018/algorithms/composition_tables.pyx",
        "return MOST_DIGITS if error <= 0.0",
        "return 15.0 if error <= 0.0",
    )
    planned = edited.planned(*TARGETS)
    users = {"balmat2018_figure_2_digits_table": 1, "balmat2018_figure_2_loop": 1}
    assert planned == {"compile_kernel": 1, **users}
    output = edited.snakemake(*TARGETS)
    assert "compiling reproduction/papers/balmat2018/algorithms/composition_tables" in output
    assert edited.planned(*TARGETS) == {}


@pytest.mark.thorough
def test_an_edited_pxd_compiles_the_kernels_that_include_it(edited):
    path = edited.source / COUNTS / "beta_mixtures.pxd"
    text, stat = path.read_text(), path.stat()
    change(path, "range(400)", "range(399)")
    planned = edited.planned(*TARGETS, f"{edited.source}/{COUNTS}/_noisy_tables{_suffix()}")
    assert planned["compile_kernel"] == 2
    assert "balmat2018_realised_share_table" in planned
    assert "balmat2018_table_1_table" not in planned
    path.write_text(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert edited.planned(*TARGETS) == {}  # taken back before anything ran


def test_a_changed_setting_reruns_what_reads_it_and_nothing_else(edited):
    settings = yaml.safe_load((edited.path / "config.yaml").read_text())
    settings["balmat2018"]["table_1"]["total"] = 13
    settings["balmat2018"]["calibration"]["block"] = 19  # no target uses this setting
    (edited.path / "config.yaml").write_text(yaml.safe_dump(settings))
    assert edited.planned(*TARGETS) == {"balmat2018_table_1_table": 1}


def _suffix():
    from sysconfig import get_config_var

    return get_config_var("EXT_SUFFIX")


def test_a_wrong_configuration_stops_before_any_job(folder):
    wrong = folder()
    overlay = wrong.path / "wrong.yaml"
    overlay.write_text(
        "root_sed: 1\nscenarios:\n  mine: {kind: noisy_counts, rehearsal: {counts: [1.5, 2]}, epsilon: -1.0}\n"
    )
    output = wrong.snakemake("--configfile", str(overlay), good=False)
    assert "3 mistakes in the configuration; nothing was run." in output
    mistakes = (
        "root_sed: unknown key, did you mean 'root_seed'",
        "mine.rehearsal.counts[0]: 1.5",
        "mine.epsilon: -1.0",
    )
    for part in mistakes:
        assert part in output
    assert "Traceback" not in output
    assert not (wrong.path / "results").exists()


@pytest.mark.thorough
def test_a_key_written_twice_stops_the_run(folder):
    wrong = folder()
    overlay = wrong.path / "twice.yaml"
    overlay.write_text("root_seed: 1\nroot_seed: 2\n")
    assert "duplicate key 'root_seed'" in wrong.snakemake("--configfile", str(overlay), good=False)


def test_every_declared_artefact_is_a_target(folder):
    planned = folder().planned("--forceall")
    for found in paper.discover().values():
        rules = {artefacts.table_rule(found, a) for a in found.artefacts if a.table}
        rules |= {artefacts.figure_rule(found, a) for a in found.artefacts if a.figure}
        assert rules <= set(planned)


def test_one_artefact_is_one_job_and_what_it_needs(folder):
    """Check that a figure needs only the jobs of its inputs: data, its table, and its drawing."""
    planned = folder().planned("figures/balmat2018/figure_1.png")
    assert planned == {"balmat2018_figure_1_table": 1, "balmat2018_figure_1_figure": 1}
    planned = folder("other").planned("figures/ponnoprat2022/figure_4.png")
    sets = {"ponnoprat2022_data": 1, "ponnoprat2022_naive_bayes": 1}
    assert planned == {**sets, "ponnoprat2022_figure_4_table": 1, "ponnoprat2022_figure_4_figure": 1}


def test_the_slurm_profile_is_plain_configuration():
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/config.yaml").read_text())
    assert profile["executor"] == "slurm"
    assert profile["slurm-status-command"] in ("squeue", "sacct")
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    rules += "".join(path.read_text() for path in (ROOT / "src/reproduction/papers").glob("*/rules.smk"))
    groups = set(re.findall(r'group:\s+"(\w+)"', rules))
    groups |= {group for found in paper.discover().values() for group in artefacts.groups(found).values()}
    together = dict(entry.split("=") for entry in profile["group-components"])
    assert groups == set(together)  # a group that the profile does not know would be one submission per job
    assert all(int(number) > 1 for number in together.values())


@pytest.mark.thorough
def test_an_edited_file_of_a_user_runs_its_scenario_again(folder):
    mine = folder()
    counts, overlay = mine.path / "mine.csv", mine.path / "mine.yaml"
    counts.write_text("name,value\na,3\nb,4\n")
    overlay.write_text('scenarios: {mine: {kind: additive_counts, file: mine.csv, epsilon: 1.0, algorithm: "2"}}\n')
    arguments = ("scenario_mine", "--configfile", str(overlay))
    mine.snakemake(*arguments)
    assert mine.planned(*arguments) == {}
    counts.write_text("name,value\na,3\nb,5\n")
    assert mine.planned(*arguments) == {"scenario_mine": 1}


@pytest.mark.thorough
def test_the_scheduler_sleeps_while_jobs_run(folder):
    """Check that the scheduler runs only if a job starts or ends. Snakemake's limit of jobs per second would cause
    another pass per job a second later: at least six among twenty short jobs. `internals` removes the limit."""
    short = {"coverage": {"totals": [100], "replications": 20}}
    output = folder(run=["pan2023"], shards=20, pan2023=short).snakemake(
        "results/pan2023/coverage.csv", "--verbose", cores=1
    )
    ended = output.count("Finished jobid")
    assert ended == 21
    assert output.count("Resources before job selection") <= ended + 1


@pytest.mark.thorough
def test_a_misspelt_target_is_told_before_anything_runs(folder):
    run = folder(
        scenarios={"survey": {"kind": "noisy_shares", "rehearsal": {"counts": [3, 4]}, "epsilon": 1.0, "order": 5.0}}
    )
    said = run.snakemake("scenario_servey", "figures/balmat2018/figur_1.png", good=False)
    assert (
        "is not a target; scenarios are survey; add others with --configfile, did you mean 'scenario_survey'?" in said
    )
    assert "'figures/balmat2018/figur_1.png' is not a target, did you mean 'figures/balmat2018/figure_1.png'?" in said
    assert "MissingRule" not in said
    assert set(run.planned("./results/balmat2018/table_1.csv")) == set(run.planned(TARGETS[0])) != set()
    assert "page_survey" in run.planned("pages/survey.html")


@pytest.mark.thorough
def test_a_release_that_is_missing_is_told_with_the_command_that_makes_it(folder):
    run = folder()
    (run.path / "confidential").mkdir(mode=0o700)
    (run.path / "confidential/c.csv").write_text("category,count\na,1\nb,2\n")
    (run.path / "mine.yaml").write_text(
        "releases: {county: {source: s, data: confidential/c.csv, mechanism: discrete_laplace, epsilon: 1.0}}\n"
        "scenarios: {there: {release: county}}\n"
    )
    said = run.snakemake("scenario_there", "--configfile", str(run.path / "mine.yaml"), good=False)
    assert "release 'county' has not been made; this command makes it, once: " in said
    assert "snakemake --cores 1 release_county --configfile mine.yaml\n" in said
