"""Tests of invalid configurations: rejected with every mistake, each with path, value, rule and nearest valid key; of
settings as parameters of rules; and of the work and memory that are estimated before any job.
"""

import re
from pathlib import Path

import pytest
import yaml

from reproduction import kind, paper, smoke
from reproduction.config import checks, config, json_text, reading, scenario_settings

ROOT = Path(__file__).parents[3]
PAPERS = paper.discover()
SCHEMA = checks.schema_of(PAPERS)
RULES = {slug: found.mistakes for slug, found in PAPERS.items()}
RULES["scenarios"] = lambda section: scenario_settings.mistakes({"scenarios": section}, kind.discover())


def mistakes(text):
    with pytest.raises(config.ConfigError) as caught:
        config.check(yaml.safe_load(text), SCHEMA, RULES)
    return str(caught.value)


def test_the_shipped_configurations_are_good():
    config.check(config.read(ROOT / "config.yaml"), SCHEMA, RULES)
    config.check(smoke.configuration(), SCHEMA, RULES)


def test_the_shipped_configuration_holds_what_a_user_edits_and_no_more():
    assert len((ROOT / "config.yaml").read_text().splitlines()) <= 100


@pytest.mark.parametrize("written", ["2026-11-26", "2026-13-45", "2026-11-26T08:00:00Z", "'2026-11-26'"])
def test_a_date_is_text_as_written(written):
    assert reading.parse(f"date: {written}\n", form="yaml") == {"date": written.strip("'")}


def test_an_empty_configuration_is_the_shipped_one_without_scenarios():
    shipped = config.read(ROOT / "config.yaml")
    shipped["scenarios"] = {}
    assert config.check({"run": shipped["run"]}, SCHEMA, RULES) == config.check(shipped, SCHEMA, RULES)


def test_an_empty_configuration_runs_every_paper_that_is_there():
    assert config.check({}, SCHEMA, RULES)["run"] == list(PAPERS)
    assert set(config.read(ROOT / "config.yaml")["run"]) <= set(PAPERS)


def test_every_key_has_a_description_and_every_optional_key_a_default():
    def walk(schema, path, required=()):
        for key, part in schema.get("properties", {}).items():
            target = SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[1]] | part if "$ref" in part else part
            assert "description" in target, f"{path}{key}"
            assert "default" in part or key in required, f"{path}{key}"
            walk(target, f"{path}{key}.")
            if isinstance(target.get("additionalProperties"), dict):
                walk(
                    target["additionalProperties"],
                    f"{path}{key}.*.",
                    target["additionalProperties"].get("required", ()),
                )
        if "properties" in schema:
            assert schema.get("additionalProperties") is False, path

    walk(SCHEMA, "")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("root_sed: 1", ["root_sed", "did you mean 'root_seed'"]),
        ("run: [balmat2081]", ["run[0]", "'balmat2081'", "did you mean 'balmat2018'"]),
        ("balmat2018: {figure_1: {epsilon: -1}}", ["balmat2018.figure_1.epsilon", "-1", ">= 1e-06"]),
        ("balmat2018: {figure_1: {epsilon: 1e-3}}", ["1e-3", "YAML reads", "0.001"]),
        ("balmat2018: {figure_1: {draws: many}}", ["balmat2018.figure_1.draws", "'many'", "an integer"]),
        ("balmat2018: {six_categories: {counts: [1.5, 2]}}", ["six_categories.counts[0]", "1.5", "an integer"]),
        ("balmat2018: {table_1: {total: 648}}", ["table_1.total", "648", "<= 647"]),
        ("scenarios: {A b: {kind: noisy_counts, counts: [1, 2], epsilon: 1}}", ["'A b'", "lower-case"]),
        (
            "scenarios: {a: {kind: noisy_counts, rehearsal: {counts: [1, 2]}}}",
            ["scenarios.a", "the noise of the counts"],
        ),
        ("scenarios: {a: {release: mine, epsilon: 1}}", ["scenarios.a.release", "'mine' is neither a release"]),
        ("scenarios: {a: {epsilon: 1}}", ["scenarios.a.kind", "must be one of"]),
        ("scenarios: {a: {kind: noisy_counts, epsilon: 1}}", ["scenarios.a", "counts, file, rehearsal, got none"]),
        (
            "scenarios: {a: {kind: noisy_counts, epsilon: 1, rehearsal: {counts: [1, 2]}, total: 4}}",
            ["a.total", "sum of the counts (3)"],
        ),
        (
            "scenarios: {a: {kind: noisy_counts, epsilon: 1, counts: [1, 2], names: [x]}}",
            ["a.names", "(2 counts), got 1 names"],
        ),
        (
            "scenarios: {a: {kind: noisy_counts, epsilon: 1, counts: [1, 2], total: 3, prior: [1, 1, 1]}}",
            ["a.prior", "(2 counts), got 3 numbers"],
        ),
        (
            "scenarios: {a: {kind: noisy_counts, epsilon: 1, rehearsal: {counts: [1, 2]}, among: ['1', c9]}}",
            ["a.among", "c9"],
        ),
        ("balmat2018: {figure_1: {draws: 2.0}}", ["figure_1.draws", "2.0 is not an integer"]),
        ("balmat2018: {figure_1: {epsilon: .inf}}", ["figure_1.epsilon", "must be finite"]),
        ("balmat2018: {choosing_epsilon: {probabilities: [0.5, 0.6, 0.5]}}", ["must add up to 1, got 1.6"]),
        (
            "scenarios: {a: {kind: noisy_counts, epsilon: 1, rehearsal: {counts: [1000000, 2]}}}",
            ["must be at most 1000000, got"],
        ),
        (
            "balmat2018: {figure_1: {total: 50, settings: {a: [1, 2, 3]}}}",
            ["figure_1.settings.a", "[1, 2, 3] must add up to", "50"],
        ),
    ],
)
def test_each_mistake_is_explained(text, parts):
    message = mistakes(text)
    assert all(part in message for part in parts), message


def test_a_malformed_scenario_does_not_hide_the_mistakes_of_others():
    kind = "kind: noisy_counts, counts: [1, 2]"
    message = mistakes(f"scenarios: {{a: {{{kind}, epsilon: -1, foo: 1}}, b: null, c: {{epsilon: 1}}, d: {{{kind}}}}}")
    for part in (
        "5 mistakes",
        "a.epsilon: -1",
        "a.foo: unknown",
        "scenarios.b: ",
        "c.kind: must",
        "d: state the noise of the counts",
    ):
        assert part in message, message


def test_all_mistakes_come_at_once():
    message = mistakes("{root_sed: 1, balmat2018: {figure_1: {epsilon: 0, drws: 3}}, scenarios: {a: {epsilon: 1}}}")
    assert message.startswith("4 mistakes")
    assert len(message.splitlines()) == 5


def test_a_key_written_twice_is_refused(tmp_path):
    path = tmp_path / "twice.yaml"
    path.write_text("run: [balmat2018]\nroot_seed: 1\nroot_seed: 2\n")
    with pytest.raises(config.ConfigError, match=r"duplicate key 'root_seed' \(lines 2 and 3\)"):
        config.read(path)


def test_a_key_that_yaml_does_not_read_as_text_is_refused(tmp_path):
    path = tmp_path / "yes.yaml"
    path.write_text("a: 1\nscenarios:\n    yes: {counts: [1, 2], epsilon: 1.0}\n")
    with pytest.raises(config.ConfigError, match=r"YAML reads the key yes as True \(line 3\)"):
        config.read(path)


def test_a_file_that_is_no_mapping_is_refused(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text("- 1\n")
    with pytest.raises(config.ConfigError, match="keys and values"):
        config.read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "root_seed: 010\n",
            r"YAML reads the number 010 as 8 \(line 1\): write 8, or put the text in quotation marks",
        ),
        ("root_seed: 1:30\n", r"YAML reads the number 1:30 as 90"),
        ("root_seed: 1_000\n", r"YAML reads the number 1_000 as 1000"),
        ("root_seed: 0x1F\n", r"YAML reads the number 0x1F as 31"),
        ("a: {b: [1, 1:30.5]}\n", r"YAML reads the number 1:30.5 as 90.5"),
        (
            "__use_yte__: true\nroot_seed: ?1 + 1\n",
            r"templates are not allowed, got the key __use_yte__: templates can run code",
        ),
    ],
)
def test_what_yaml_reads_otherwise_than_it_looks_is_refused(tmp_path, text, message):
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    with pytest.raises(config.ConfigError, match=message):
        config.read(path)


def test_plain_numbers_are_read_as_they_are(tmp_path):
    path = tmp_path / "plain.yaml"
    path.write_text("a: [0, -3, +5, 1.5, .5, 2., 1.0e-3, -1.5e+10, .inf]\n")
    assert config.read(path)["a"] == [0, -3, 5, 1.5, 0.5, 2.0, 0.001, -1.5e10, float("inf")]


@pytest.mark.parametrize("raw", [b"caf\xe9: 1\n", "a: 1\n".encode("utf-16"), bytes(range(256))])
def test_a_file_that_is_no_utf8_text_is_refused(tmp_path, raw):
    path = tmp_path / "raw.yaml"
    path.write_bytes(raw)
    with pytest.raises(config.ConfigError, match=r"raw\.yaml"):
        config.read(path)


def test_missing_files_folders_and_deep_nesting_are_refused(tmp_path):
    deep = tmp_path / "deep.yaml"
    deep.write_text("a: " + "[" * 5000 + "]" * 5000)
    endless = tmp_path / "endless.yaml"
    endless.write_text("a: &a [*a, *a]\n")
    for path in (tmp_path / "none.yaml", tmp_path, deep, endless):
        with pytest.raises(config.ConfigError):
            config.read(path)


WORDS = "</script><script>alert(1)</script> & <!-- ü \\u003c"


@pytest.mark.parametrize("settings", [{"a": [1, 0.1, True, None, "x"]}, {WORDS: {"b": [WORDS, -1e-300]}}, {}])
def test_settings_come_back_and_hold_no_sign_of_markup(settings):
    text = json_text.encoded(settings)
    assert json_text.decoded(text) == settings
    assert not set("<>&") & set(text)


def test_no_word_is_taken_for_a_wildcard():
    settings = {"{shard}": ["{dataset}.csv", {"a": "{b}"}]}
    text = json_text.encoded(settings)
    assert json_text.decoded(text) == settings
    assert not re.search(r"\{\s*\w", text)


KINDS = kind.discover()


def check(**settings):
    return config.check(settings, SCHEMA, None, lambda filled: checks.excess(filled, SCHEMA, PAPERS, KINDS))


def test_every_setting_that_costs_work_or_has_no_end_says_how_it_grows():
    """Check that every integer, and every list without a maximum length, is bounded or states its growth."""
    for slug in PAPERS:
        for name, section in SCHEMA["properties"][slug]["properties"].items():
            for key, part in section.get("properties", {}).items():
                rule = SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[1]] | part if "$ref" in part else part
                if rule.get("type") == "integer":
                    assert "maximum" in rule or rule.get("time"), f"{slug}.{name}.{key}"
                assert "default" in rule or "time" not in rule, f"{slug}.{name}.{key}"


@pytest.mark.parametrize(
    ("value", "default", "time", "work", "memory"),
    [
        (20, 10, 1, 2, 2),  # twice as many repetitions
        (20, 10, 3, 8, 2),  # a cube; memory is linear unless it says otherwise
        (5, 10, 1, 1, 1),  # less is never a discount
        ([1, 2, 3], [1, 2], 0, 1.5, 1.5),  # a list without `time` counts its entries
        ([3, 4], [5], 2, 1, 7 / 5),  # 9 + 16 beside 25
        ([3, 4, 5], [5], 2, 2, 12 / 5),
        (7, 0, 1, 8, 8),  # beside nothing
    ],
)
def test_growth(value, default, time, work, memory):
    part = {"properties": {"key": {"type": "integer", "default": default, "time": time}}}
    assert dict(checks.growth({"key": value}, part, {})) == {"key": (work, memory)}


def test_shards_divide_the_work_of_a_long_loop():
    million = {"calibration": {"replications": 1_200_000}}  # 1500 times 15 s: 6.25 hours
    with pytest.raises(config.ConfigError, match=r"wang2020\.calibration\.replications: would take about 6\.25 hours"):
        check(wang2020=million, limits={"hours": 5})
    check(wang2020=million, limits={"hours": 5}, shards=2)
    check(wang2020=million)


def test_memory_is_judged_by_itself():
    """Check that sums of fifteen counts grow with the total (15e6 cells of 70 bytes), but sixteen use windows."""
    wide = {"mine": {"kind": "noisy_counts", "counts": [1.5] * 15, "total": 1_000_000, "epsilon": 1.0}}
    with pytest.raises(config.ConfigError, match=r"scenarios\.mine: would take about 1\.25 GB of memory"):
        check(scenarios=wide, limits={"memory_gb": 1})
    check(scenarios=wide)
    check(scenarios={"mine": wide["mine"] | {"counts": [1.5] * 16}}, limits={"memory_gb": 1})


def test_the_points_of_a_grid_add_up_and_shards_divide_them():
    """Check that a swapped table takes at most half a minute, a hundred of them 50 minutes."""
    grid = {"mine": {"kind": "swapped_table", "table": [[1, 2], [3, 4]], "rate": [0.1 + i / 1000 for i in range(100)]}}
    with pytest.raises(config.ConfigError, match=r"scenarios\.mine: would take about 0\.833 hours in one job"):
        check(scenarios=grid, limits={"hours": 0.5})
    check(scenarios=grid, limits={"hours": 0.5, "memory_gb": 4}, shards=2)


def test_a_grid_is_judged_at_its_dearest_point():
    mine = {"kind": "additive_counts", "released": [3, 4], "algorithm": "2", "epsilon": [1.0, 1.0e-06]}
    with pytest.raises(config.ConfigError, match=r"scenarios\.mine: would take about .* GB of memory"):
        check(scenarios={"mine": mine})
    check(scenarios={"mine": mine | {"epsilon": [1.0, 0.1]}})


def test_what_is_refused_says_how_to_go_on():
    with pytest.raises(config.ConfigError, match=r"the limit is 24: reduce this setting, or increase limits\.hours"):
        check(raim2021={"geweke": {"sweeps": 10**12}})
