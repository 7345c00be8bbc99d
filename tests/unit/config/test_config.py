"""Tests of invalid configurations: rejected with every mistake, each with path, value, rule and nearest valid key; of
settings as parameters of rules; and of the work and memory that are estimated before any job.
"""

import re
from pathlib import Path

import pytest
import yaml

from reproduction import kind, paper, smoke
from reproduction.config import checks, config, json_text, overlays, reading, scenario_settings

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
        ("balmat2018: {choosing_epsilon: {probabilities: [0.5, 0.6, 0.5]}}", ["must sum to 1, got 1.6"]),
        (
            "scenarios: {a: {kind: classifier, rehearsal: {csv: a.csv, target: b, repeats: 1}}}",
            ["scenarios.a.rehearsal.repeats", "the value must be >= 2"],  # one score has no standard error
        ),
        (
            "scenarios: {a: {kind: noisy_counts, epsilon: 1, rehearsal: {counts: [1000000, 2]}}}",
            ["must be <= 1000000, got"],
        ),
        (
            "balmat2018: {figure_1: {total: 50, settings: {a: [1, 2, 3]}}}",
            ["figure_1.settings.a", "[1, 2, 3] must sum to", "50"],
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
            r"YAML reads the number 010 as 8 \(line 1\): write the intended number in decimal digits",
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


def nested(levels, form):
    """Return a mapping whose innermost value is on the given level."""
    if form == "json":
        return '{"a": ' * levels + "1" + "}" * levels
    return "".join(f"{'  ' * i}a:\n" for i in range(levels - 1)) + f"{'  ' * (levels - 1)}a: 1\n"


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_twelve_levels_are_read_and_thirteen_are_not(form):
    value = reading.parse(nested(12, form), form=form)
    for _ in range(12):
        value = value["a"]
    assert value == 1
    with pytest.raises(config.ConfigError, match=r"nested more than 12 levels deep.*: use fewer levels"):
        reading.parse(nested(14, form), form=form)


def test_the_largest_file_is_read_and_a_larger_one_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_LARGEST_FILE", 5)
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    assert config.read(path) == {"a": 1}
    path.write_text("a: 12\n")
    words = "a.yaml: the file must have at most 5 bytes, got at least 6 bytes: shorten the file$"
    with pytest.raises(config.ConfigError, match=words):
        config.read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: &x 2\n", "YAML anchors are not supported, but line 2 contains &x: write the value in full at"),
        ("a: 1\nb: *x\n", r"YAML aliases are not supported, but line 2 contains \*x|undefined alias"),
        ("%YAML 1.1\n---\na: 1\n", r"YAML directives \(%\) are not supported, but line 1 contains one: remove this"),
        ("a: 1\n\nb: !!str 2\n", "YAML tags are not supported, but line 3 contains tag:yaml.org,2002:str: write"),
        ("a: 1\nb:\n  <<: {c: 1}\n", r"YAML merge keys \(<<\) are not supported, but line 3 contains one: write the"),
        ('a: 1\n"b\\x41": 2\n', r"keys must not contain escapes \(line 2\), got \"b.x41\": write the characters"),
        ('a:\n- {"b\\x41": 2}\n', r"keys must not contain escapes \(line 2\)"),
        ("a: 1\n? b\n? c\n", r"") ,
        ("?b: 1\n", "templates are not allowed, got the key ?b".replace("?", r"\?")),
        ("a: {__b: 1}\n", "templates are not allowed, got the key __b"),
        ("a:\n  b: 1\n\tc: 2\n", "line 3 is indented with a tab: use spaces"),
        ("a:\n   \tb: [\n", "line 2 is indented with a tab: use spaces"),
        ("a: [1, 2\nb: 3\t\n", "while parsing a flow sequence|expected ',' or"),
    ],
)  # fmt: skip
def test_features_of_yaml_that_are_rejected_with_their_line(text, words):
    if not words:
        assert reading.parse(text, form="yaml") == {"a": 1, "b": None, "c": None}
        return
    with pytest.raises(config.ConfigError, match=words):
        reading.parse(text, form="yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "a": 2}', "duplicate key 'a': remove all but one of the entries with this key"),
        ('{"a": NaN}', "NaN is not a valid JSON number"),
        ('{"a": 1,}', "the text is not valid JSON"),
        ('{"\\u0007": 1}', "keys must not contain control characters, got '.x07'"),
        ('{"a": {"?b": 1}}', "templates are not allowed, got the key .b"),
    ],
)
def test_json_that_is_rejected(text, words):
    with pytest.raises(config.ConfigError, match=words):
        reading.parse(text, form="json")


def test_a_list_has_at_most_a_million_values_on_one_level(monkeypatch):
    monkeypatch.setattr(reading, "_MOST", 3)
    assert reading.parse('{"a": [1, 2, 3]}', form="json") == {"a": [1, 2, 3]}
    with pytest.raises(config.ConfigError, match="nested more than 12 levels"):
        reading.parse('{"a": [1, 2, 3, 4]}', form="json")


@pytest.mark.parametrize(
    ("value", "allowed"),
    [(0, True), (1e15, True), (-1e15, True), (1.01e15, False), (-1.01e15, False), (1e-30, True), (9e-31, False),
     (-9e-31, False), (float("inf"), True)],
)  # fmt: skip
def test_numbers_that_no_setting_can_have(value, allowed):
    """An infinite number breaks the schema, which reports it."""
    rule = "a number must be 0 or between 1e-30 and 1e+15 in absolute value"
    for where, whole in (("x.a", {"a": value}), ("x.a[1].b", {"a": [1, {"b": value}]})):
        assert list(config.beyond("x", whole)) == ([] if allowed else [(where, f"{value!r} is not allowed: {rule}")])


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, 1.0, "1.0 is not an integer"),
        ({"type": "integer"}, True, "True is not an integer"),
        ({"type": "number"}, True, "True is not a number"),
        ({"type": ["integer", "null"]}, "x", "'x' is not an integer or empty"),
        ({"type": "number"}, "1e3", "'1e3' is not a number; YAML reads 1e3 as a string: write 1000.0"),
        ({"type": "integer"}, "1e3", "'1e3' is not an integer; YAML reads 1e3 as a string: write 1000"),
        ({"type": "integer"}, "1.5", "'1.5' is not an integer"),  # without quotation marks, it is not an integer either
        ({"type": "number"}, "inf", "'inf' is not a number"),
        ({"type": "object"}, 3, "3 is not a mapping with entries of the form key: value"),
        ({"type": "number"}, "12", "'12' is not a number; write the number without quotation marks"),
        ({"type": "string"}, 1.5, "1.5 is not text"),
        ({"type": "array"}, "12", "'12' is not a list"),
        ({"type": "number"}, float("inf"), "inf is not a number; the number must be finite"),
        ({"type": "string", "minLength": 1}, "", "'' is not allowed: the text must not be empty"),
        ({"type": "string", "pattern": "^[a-z]+$"}, " ", "' ' is not allowed: the text must not be empty"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "A", "'A' is not a valid name: a name must consist of lower-case "
         "letters, digits and _ and must begin with a letter"),
        ({"pattern": "^auto$"}, "many", "'many' is not allowed: the only text that is allowed is auto"),
        ({"maxLength": 2}, "abc", "'abc': the number of characters is 3, but the maximum is 2"),
        ({"required": ["a", "b"]}, {}, "missing keys: a, b"),
        ({"required": ["a", "b"]}, {"a": 1}, "missing key: b"),
        ({"enum": ["alpha", "beta"]}, "alpa", "'alpa' is not allowed, did you mean 'alpha'? The allowed values are "
         "alpha, beta"),
        ({"minimum": 1}, 0, "0 is not allowed: the value must be >= 1"),
        ({"exclusiveMinimum": 1}, 1, "1 is not allowed: the value must be > 1"),
        ({"maximum": 1}, 2, "2 is not allowed: the value must be <= 1"),
        ({"exclusiveMaximum": 1}, 1, "1 is not allowed: the value must be < 1"),
        ({"minItems": 2}, [1], "[1]: the number of entries is 1, but the minimum is 2"),
        ({"maxItems": 1}, [1, 2], "[1, 2]: the number of entries is 2, but the maximum is 1"),
        ({"uniqueItems": True}, [1, 1], "[1, 1] contains a duplicate"),
        ({"type": "integer"}, "x" * 118, f"'{'x' * 118}' is not an integer"),
        ({"type": "integer"}, "x" * 119, f"'{'x' * 99} .. (121 characters) is not an integer"),
    ],
)  # fmt: skip
def test_rules_of_a_schema_in_words(schema, value, text):
    assert set(config.broken({"x": value}, {"properties": {"x": schema}})) == {("x", text)}


def test_places_of_mistakes_and_nearest_keys():
    schema = {
        "additionalProperties": False,
        "properties": {"file": {}, "rows": {"items": {"properties": {"n": {"type": "integer"}}}}},
    }
    broken = config.broken({"rows": [{"n": 1}, {"n": "x"}], "table": 1, "flie": 2}, schema)
    assert sorted(broken) == [
        ("flie", "unknown key, did you mean 'file'? The allowed keys are file, rows"),
        ("rows[1].n", "'x' is not an integer"),
        ("table", "unknown key, did you mean 'file'? The allowed keys are file, rows"),
    ]
    assert config.broken({}, {"required": ["a"]}) == [("(top level)", "missing key: a")]


def test_mistakes_are_counted_once_and_rules_run_on_what_the_schema_allows():
    schema = {"properties": {"a": {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}}}
    rules = {"a": lambda section: [("n", "must be even"), ("n", "must be even")] * (section["n"] % 2)}
    with pytest.raises(config.ConfigError) as one:
        config.check({"a": {}}, schema, rules)
    assert str(one.value) == "1 mistake in the configuration; nothing was run.\n  a.n: must be even"
    assert config.check({"a": {"n": 2}}, schema, rules, lambda filled: []) == {"a": {"n": 2}}
    with pytest.raises(
        config.ConfigError, match=r"^2 mistakes in the configuration; nothing was run.\n  b: x\n  c: y$"
    ):
        config.check({"a": {"n": 2}}, schema, rules, lambda filled: [("c", "y"), ("b", "x")])
    with pytest.raises(config.ConfigError, match=r"^1 mistake .*\n  a.n: 'x' is not an integer$"):  # the rule fails
        config.check({"a": {"n": "x"}}, schema, rules, lambda filled: [("c", "y")])
    with pytest.raises(KeyError):  # an error of the rule itself is not hidden
        config.check({"a": {"n": 2}}, schema, {"a": lambda section: section["m"]})
    with pytest.raises(config.ConfigError, match=r"a.n: 2000000000000000.0 is not allowed"):
        config.check({"a": {"n": 2e15}}, schema)


def test_files_are_merged_key_by_key(tmp_path):
    for name, text in (("a", "x: {p: 1, q: [1, 2]}\ny: 3\n"), ("b", "x: {q: [5]}\nz: null\n"), ("c", "x: 4\n")):
        (tmp_path / f"{name}.yaml").write_text(text)
    a, b, c = (tmp_path / f"{name}.yaml" for name in "abc")
    assert overlays.merged([a, b]) == {"x": {"p": 1, "q": [5]}, "y": 3, "z": None}
    assert overlays.merged([a, b], {"x": {"p": 2}, "y": 0}) == {"x": {"p": 2, "q": [5]}, "y": 0, "z": None}
    with pytest.raises(config.ConfigError, match=r"c\.yaml: x contains 4, but contains keys and values in .*: use"):
        overlays.merged([a, c])
    with pytest.raises(config.ConfigError, match=r"^--config: x\.p contains keys and values, but contains 1 in .*use"):
        overlays.merged([a], {"x": {"p": {"r": 1}}})


def test_single_settings_of_the_command_line():
    assert overlays.pairs(["a=1", "b_2={x: [1, y]}", "c=", "d=x=y"]) == {
        "a": 1, "b_2": {"x": [1, "y"]}, "c": None, "d": "x=y",
    }  # fmt: skip
    for word in ("a", "=1", "a-b=1", "__use=1", "2a=1"):
        with pytest.raises(config.ConfigError, match=f"--config must have the form name=value, got {word!r}"):
            overlays.pairs(["x=1", word])
    with pytest.raises(config.ConfigError, match=r"^--config a: YAML tags are not supported"):
        overlays.pairs(["a=!!str 1"])


@pytest.mark.parametrize(
    ("words", "files", "pairs", "rest"),
    [
        ("-c 1 all", "", "", "-c 1 all"),
        ("all --configfile a.yaml b.yaml", "a.yaml b.yaml", "", "all"),
        ("all --configfiles a.yaml --cores 2", "a.yaml", "", "all --cores 2"),
        ("--configf=a.yaml x", "a.yaml", "", "") ,
        ("--config a=1 b=2 -n", "", "a=1 b=2", "-n"),
        ("--config=a=1 b=2", "", "a=1 b=2", ""),
        ("-C a=1 --configfile c.yaml", "c.yaml", "a=1", ""),
        ("-Ca=1 all", "", "a=1", "all"),
        ("--config a=1 -5 -n", "", "a=1 -5", "-n"),
        ("--config a=1 -5. -n", "", "a=1 -5.", "-n"),
        ("--configfile a.yaml -- b.yaml --config", "a.yaml", "", "-- b.yaml --config"),
        ("--dry-run --debug -p", "", "", "--dry-run --debug -p"),
    ],
)  # fmt: skip
def test_configuration_options_are_separated_from_the_others(words, files, pairs, rest):
    if words.endswith(" x"):
        with pytest.raises(config.ConfigError, match=r"x is not a configuration file. If x is a target, write"):
            overlays.taken_apart(words.split())
        return
    found = overlays.taken_apart(words.split())
    assert (found.overlays, found.pairs, found.rest) == (
        tuple(map(Path, files.split())), tuple(pairs.split()), tuple(rest.split()),
    )  # fmt: skip


@pytest.mark.parametrize("option", ["-d", "-dx", "--dir", "--direc=x", "--directory", "--directory=x"])
def test_another_folder_is_not_supported(option):
    with pytest.raises(config.ConfigError, match=f"the option {option} is not supported: change to the project"):
        overlays.taken_apart(["all", option])


def test_the_merged_file_comes_before_the_targets_after_two_dashes():
    asked = overlays.Asked((), (), ("-n", "--", "all"))
    assert asked.with_one(None) == ["-n", "--", "all"]
    assert asked.with_one(Path("m.json")) == ["-n", "--configfile=m.json", "--", "all"]
    assert overlays.Asked((), (), ("all",)).with_one(Path("m.json")) == ["all", "--configfile=m.json"]


PROFILE = [
    ("cores: 1\n", None),
    ("cores: 1\nconfigfile: a.yaml\n", r"must not contain the key configfile: pass --configfile FILE instead"),
    ("'configfiles' : [a.yaml]\n", r"must not contain the key configfile"),
    ("__use_yte__: true\n", "must be plain YAML without templates, .*: remove the key __use_yte__"),
    ("a: [\n", "must be plain YAML without templates"),
]


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["--profile", "mine"], "mine"), (["--profile=mine"], "mine/config.yaml"),
        (["--prof", "mine"], "profiles/mine/config.yaml"), (["--workflow-profile", "mine"], "mine/b.yaml"),
        ([], "home/snakemake/mine/a.yaml"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("text", "message"), PROFILE)
def test_profiles_hide_no_configuration_and_no_template(tmp_path, monkeypatch, words, text, message, place):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "" if words else "mine")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(text)
    if message is None:
        assert overlays.taken_apart([*words, "all"]).rest == (*words, "all")
    else:
        with pytest.raises(config.ConfigError, match=message):
            overlays.taken_apart([*words, "all"])


def test_the_configuration_in_use(tmp_path):
    """The merged file alone counts if nothing changed it; otherwise it is an overlay of config.yaml."""
    with pytest.raises(config.ConfigError, match=r"config\.yaml was not found in .*: change to the folder that"):
        overlays.in_use([], {}, tmp_path)
    other = tmp_path / "other.yaml"
    other.write_text("b: 2\n")
    assert overlays.in_use([other], {"c": 3}, tmp_path) == {"b": 2, "c": 3}
    (tmp_path / "config.yaml").write_text("a: 1\nb: 1\n")
    assert overlays.in_use([], {}, tmp_path) == {"a": 1, "b": 1}
    assert overlays.in_use([other], {}, tmp_path) == {"a": 1, "b": 2}
    merged = overlays.write({"b": 5}, tmp_path)
    assert len(merged.stem) == 32
    assert merged.read_text() == '{\n "b": 5\n}'
    assert overlays.in_use([merged], {"c": 3}, tmp_path) == {"b": 5, "c": 3}
    assert overlays.in_use([merged, other], {}, tmp_path) == {"a": 1, "b": 2}
    merged.write_text('{"b": 6}')
    assert overlays.in_use([merged], {}, tmp_path) == {"a": 1, "b": 6}
    elsewhere = tmp_path / "sub"
    elsewhere.mkdir()
    assert overlays.in_use([overlays.write({"b": 7}, elsewhere)], {}, tmp_path) == {"a": 1, "b": 7}


@pytest.mark.parametrize(
    ("value", "power", "size"),
    [
        *((3, 2, 9), (3, 0, 1), (True, 5, 1), ("text", 5, 1), (4, 0.5, 2), ([], 1, 0), ([2, 3], 2, 13)),
        *(({"a": 2, "b": [1, 1]}, 1, 4), ({}, 1, 0), (0, 1, 0), (0, -1, float("inf")), (10**400, 1, float("inf"))),
    ],
)
def test_the_size_of_a_setting(value, power, size):
    assert checks._size(value, power) == size


@pytest.mark.parametrize(("a", "b", "product"), [(2.0, 3.0, 6.0), (1e200, 1e200, 1e300), (float("inf"), 1.0, 1e300)])
def test_estimates_stay_finite(a, b, product):
    assert checks._times(a, b) == product


@pytest.mark.parametrize(
    ("seconds", "megabytes", "said"),
    [
        (3600 * 2, 1500, []),
        (
            3600 * 2.004,
            1500,
            ["would take about 2 hours in one job, with x, but the limit is 2: reduce this setting, or increase "
             "limits.hours if the machine is large enough, or more shards"],
        ),
        (
            3600,
            1501,
            ["would take about 1.5 GB of memory in one job, with x, but the limit is 1.5: reduce this setting, or "
             "increase limits.memory_gb if the machine is large enough"],
        ),
        (1e9, 1e9, ["hours", "GB of memory"]),
    ],
)  # fmt: skip
def test_costs_above_the_limits_are_told(seconds, megabytes, said):
    limits = {"hours": 2, "memory_gb": 1.5}
    found = list(checks._judged("a.b", seconds, megabytes, limits, ", with x", ", or more shards"))
    assert [place for place, _ in found] == ["a.b"] * len(said)
    assert all(part in text for (_, text), part in zip(found, said, strict=True))


def costly(**rules):
    part = {"seconds": 3600.0, "megabytes": 1000.0, "properties": rules}
    return lambda settings, shards, hours: list(
        checks._section("a.b", settings, part, {}, {"shards": shards, "limits": {"hours": hours, "memory_gb": 99}})
    )


def test_a_section_names_the_setting_that_grows_most():
    found = costly(
        n={"default": 10, "time": 1}, m={"default": 10, "time": 2}, k={"default": 1, "time": 1}, free={"default": 3}
    )
    settings = {"n": 20, "m": 20, "k": 1, "free": 9}
    assert found(settings, "auto", 8.0) == []
    ((place, text),) = found(settings, "auto", 7.9)
    assert place == "a.b.m"
    assert text.startswith("would take about 8 hours in one job, with n: 20, m: 20, but the limit is 7.9: ")
    assert "shards" not in text
    assert found(settings, 4, 7.9)[0][0] == "a.b.m"  # only a loop is split
    ((place, text),) = found({"n": 10, "m": 10, "k": 1, "free": 9}, "auto", 0.5)
    assert (place, ", with" in text) == ("a.b", False)


def test_a_loop_is_split_into_shards():
    found = costly(replications={"default": 10, "time": 1})
    ((place, text),) = found({"replications": 40}, "auto", 2.0)
    assert place == "a.b.replications"
    assert text.endswith(", or split the loop into more shards")
    assert found({"replications": 40}, 2, 2.0) == []
    assert found({"replications": 41}, 2, 2.0) != []


ONE = {"kind": "noisy_counts", "counts": {"a": 1.5, "b": 2.5}, "epsilon": 1.0}


def scenario_mistakes(written, **others):
    settings = {"scenarios": {"s": written}} | others
    return list(scenario_settings.mistakes(settings, KINDS, thorough=False))


@pytest.mark.parametrize(
    ("name", "good"),
    [("a_densities", False), ("a_parts", False), ("plan_a", False), ("parts", True), ("a_plan", True), ("plans", True)],
)
def test_reserved_names_of_scenarios(name, good):
    found = list(scenario_settings.mistakes({"scenarios": {name: ONE}}, KINDS, thorough=False))
    text = "a name that ends in _densities or _parts or begins with plan_ is reserved: choose another name"
    assert found == ([] if good else [(name, text)])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"epsilon": [0.5 + k / 1000 for k in range(200)]}, []),
        ({"epsilon": [0.5 + k / 1000 for k in range(201)]}, [("s", "must have at most 200 points, got 201")]),
        ({"epsilon": [0.5 + k / 1000 for k in range(20)], "total": list(range(100, 111))},
         [("s", "must have at most 200 points, got 220")]),
        ({"epsilon": [1.0, 1.0]}, [("s.epsilon", "a list that defines a grid must have at least one value and no "
                                                  "duplicates")]),
        ({"epsilon": []}, [("s.epsilon", "a list that defines a grid must have at least one value and no duplicates")]),
        ({"kind": "noisy_count"}, [("s.kind", None)]),
        ({"kind": 3}, [("s.kind", None)]),
        ({"columns": {"name": "x"}}, [("s.columns", "is allowed only with file")]),
        ({"rehearsal": {"counts": [1, 2]}}, [("s", None)]),
    ],
)  # fmt: skip
def test_mistakes_of_scenarios(change, expected):
    found = scenario_mistakes(ONE | change)
    assert [place for place, _ in found] == [place for place, _ in expected]
    assert all(text in (said, None) for (_, said), (_, text) in zip(found, expected, strict=True))


def test_points_of_a_grid_vary_the_last_key_fastest():
    written = ONE | {"epsilon": [1.0, 2.0], "total": [4, 5, 6]}
    found = scenario_settings.single("s", written, KINDS)
    assert found.form == "grid"
    assert found.points == [{"epsilon": e, "total": total} for e in (1.0, 2.0) for total in (4, 5, 6)]
    at = found.at(found.points[4])
    assert (at["epsilon"], at["total"], at["counts"]) == (2.0, 5, ONE["counts"])
    assert found.settings["epsilon"] == [1.0, 2.0]
    assert scenario_settings.words(found.points[4]) == "epsilon=2.0, total=5"
    assert [scenario_settings.shards(found, n) for n in (1, 5, 6, 7)] == [1, 5, 6, 6]
    single = scenario_settings.single("s", ONE, KINDS)
    assert (single.form, single.points, scenario_settings.shards(single, 5)) == ("case", [{}], 1)
    assert scenario_settings.restored(scenario_settings.as_text(found)) == found


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        ([("a",), ("b",)], ["a", "b"]),
        ([("noise", "scale"), ("prior", "scale"), ("total",)], ["noise_scale", "prior_scale", "total"]),
        ([("noise", "scale")], ["scale"]),
        ([("noise", "sd"), ("total", "released"), ("lower",)], ["noise_sd", "total_released", "setting_lower"]),
        ([], []),
    ],
)
def test_columns_of_a_grid_have_the_last_part_of_a_path_where_it_is_unique(paths, labels):
    assert scenario_settings._labels(paths) == labels


def test_files_of_a_scenario():
    settings = {"file": "a.csv", "noise": "b.csv", "absent": {"cells": "c.csv"}, "among": ["d.csv"], "x": {"csv": "e"}}
    assert list(scenario_settings._files(settings)) == ["a.csv", "b.csv", "c.csv", "e"]
    settings = {"noise": "laplace", "absent": {"cells": "combinations"}, "counts": {"a.csv": 3}}
    assert list(scenario_settings._files(settings)) == []
