"""Tests of the command dpm: the workflow's bytes, its messages, its speed, its only access to confidential files."""

import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import reproduction
from reproduction import command, kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making

SRC = Path(command.__file__).parents[1]
NOISY = ("--noise", "laplace", "--scale", "2", "--total", "50", "--among", "met", "not_met")
SURVEY = "{kind: noisy_counts, counts: {met: 12.3, not_met: -4.1}, epsilon: 1.0, total: 50}"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text("name,value\nmet,12.3\nnot_met,-4.1\nfailed,44.2\n")
    Path("config.yaml").write_text(f"root_seed: 5\nscenarios:\n  survey: {SURVEY}\n  toy: {{kind: noisy_counts, "
                                   "rehearsal: {counts: [4, 9]}, epsilon: 1.0}\n")  # fmt: skip
    return tmp_path


def said(capsys, *words):
    command.main(words)
    return capsys.readouterr().out


def refused(*words):
    with pytest.raises(SystemExit) as caught:
        command.main(words)
    return str(caught.value)


def test_an_answer_from_a_file_is_a_screen_of_sentences(home, capsys):
    text = said(capsys, "answer", "counts.csv", *NOISY, "--ask", "not_met = 0")
    assert text.startswith("The true share of met among met and not_met is between 66.7 % and 100 %")
    assert "75.44 %" in text
    assert "Full precision: results/scenarios/counts.csv" in text
    assert len(text.splitlines()) <= 60
    assert Path("results/scenarios/counts.json").is_file()
    for value, other in (("exact", False), ("laplace", True)):  # a flat prior has another mean
        Path("one.csv").write_text("name,value\na,41000\n")
        scale = ["--scale", "6553.6"] if other else []
        text = said(capsys, "answer", "one.csv", "--noise", value, *scale)
        assert ("The prior matters for the count" in text) == other
        assert ("; for comparison: results/scenarios/one_comparison.csv; facts: " in text) == other
        assert (len(Path("results/scenarios/one_comparison.csv").read_text().splitlines()) > 1) == other


def test_a_scenario_of_the_configuration_has_the_bytes_of_the_workflow(home, capsys):
    """Check that the workflow calls `making.part` with the root seed of the configuration, as here."""
    for name in ("survey", "toy"):
        said(capsys, "answer", name)
        import yaml

        written = yaml.safe_load(Path("config.yaml").read_text())["scenarios"][name]
        alone = making.files(name, "alone")
        making.part(scenario_settings.single(name, written, kind.discover()), alone, root_seed=5)
        for one, other in zip(alone.all, making.files(name).all, strict=True):
            assert one.read_bytes() == other.read_bytes()


def test_a_page_is_made_where_it_is_wanted(home, capsys):
    assert said(capsys, "page", "survey").endswith("pages/survey.html\n")
    said(capsys, "page", "counts.csv", *NOISY, "-o", "mine.html")
    assert "<!doctype html>" in Path("mine.html").read_text()


@pytest.mark.parametrize("option", ["-o", "--folder"])
@pytest.mark.parametrize("place", ["confidential/c.csv", "soft.html", "hard.html", "linked/new.html", "confidential"])
def test_no_page_takes_the_place_of_confidential_data(home, option, place):
    Path("confidential").mkdir(mode=0o700)
    data = Path("confidential/c.csv")
    data.write_text("category,count\na,1\nb,2\n")
    Path("soft.html").symlink_to(data)
    Path("hard.html").hardlink_to(data)
    Path("linked").symlink_to("confidential")
    with pytest.raises(
        SystemExit, match=r"must not be in confidential/, because only the release command may write to this folder"
    ):
        command.main(["page", "counts.csv", *NOISY, option, place])
    assert data.read_text().startswith("category,count")
    assert [path.name for path in Path("confidential").iterdir()] == ["c.csv"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("answer", "surve"), "scenarios are survey, toy, did you mean 'survey'?"),
        (("answer", "counts.csv"), "counts: state the noise of the counts"),
        (("answer", "counts.csv", "--noise", "laplase", "--scale", "2"), "did you mean laplace?"),
        (("answer", "counts.csv", "--noise", "laplace", "--sigma", "2"), "counts.noise"),
        (("answer", "counts.csv", *NOISY, "--ask", "met > nobody"), "unknown name 'nobody'"),
        (
            ("answer", "survey", "--total", "3"),
            "survey is a scenario of the configuration, so its settings cannot be given on the command line: set total",
        ),
        (("answer", "nowhere/1"), "is not a file, a folder or a scenario"),
        (("release", "county"), "'county' is not a release. The available releases are none"),
        (("check", "none.yaml"), "none.yaml"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(home, words, part):
    text = refused(*words)
    assert part in text
    assert text.startswith(f"dpm {words[0]}: ")
    assert "Traceback" not in text
    assert not Path("results").exists()


def test_all_mistakes_of_a_configuration_come_at_once(home, capsys):
    assert said(capsys, "check", "config.yaml") == "config.yaml: no mistakes; 2 scenarios.\n"
    Path("wrong.yaml").write_text("root_sed: 1\nscenarios: {survey: {total: -1, epsilon: 0}}\n")
    text = refused("check", "config.yaml", "wrong.yaml")
    for part in ("3 mistakes", "root_sed: unknown key", "scenarios.survey.total: -1", "scenarios.survey.epsilon: 0"):
        assert part in text
    Path("tab.yaml").write_text("scenarios:\n\tx: 1\n")
    assert "tab" in refused("check", "tab.yaml")


def test_no_verb_but_release_opens_a_confidential_file(home):
    Path("confidential").mkdir(mode=0o700)
    Path("confidential/counts.csv").write_text("name,value\nmet,81237\n")
    for verb in ("answer", "page"):
        text = refused(verb, "confidential/counts.csv", *NOISY)
        assert "confidential" in text
        assert "81237" not in text
    assert not Path("results").exists()


def test_a_release_is_made_by_the_protocol_of_the_workflow_and_answered_by_its_record(home, capsys):
    pytest.importorskip("opendp", reason="releases draw their noise with opendp")
    Path("confidential").mkdir(mode=0o700)
    Path("confidential/county.csv").write_text("category,count\nnorth,814\nsouth,469\n")
    Path("config.yaml").write_text(
        "releases: {county: {source: survey, data: confidential/county.csv, epsilon: 1.0, "
        "mechanism: discrete_laplace}}\n"
        "budgets: {survey: {epsilon: 4.0}}\n"
    )
    text = said(capsys, "release", "county")
    assert text.startswith("releases/county/1\n")
    assert Path("releases/ledger.tsv").is_file()
    first = Path("releases/county/1/release.csv").read_bytes()
    said(capsys, "release", "county")  # made once
    assert Path("releases/county/1/release.csv").read_bytes() == first
    text = said(capsys, "answer", "releases/county/1", "--among", "north", "south")
    assert "Each count has discrete Laplace noise of scale 2" in text
    assert "Privacy cost of the release: epsilon = 1 (neighbouring files: replace a record)." in text
    assert "must be omitted, because the record of the release contains this key" in refused(
        "answer", "releases/county/1", "--total", "3"
    )
    said(capsys, "page", "releases/county/1")
    page = Path("pages/county.html").read_text()
    assert "Of the budget of survey, this release used epsilon 1 of 4 (replace a record)." in page
    assert "With probability at least 95 %, a published count is within 6 of the true count." in page


@pytest.mark.parametrize("verb", [(), ("answer",), ("page",), ("check",), ("release",)])
def test_help_is_plain(verb, capsys):
    with pytest.raises(SystemExit) as caught:
        command.main([*verb, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "usage: dpm" in text
    assert len(text.splitlines()) <= 60


def test_an_answer_loads_nothing_that_it_does_not_need(home):
    """Check that no plotting, workflow, release or large part of SciPy is imported, which would delay an answer."""
    heavy = {"matplotlib", "networkx", "opendp", "pooch", "rich", "sklearn", "snakemake"}
    heavy |= {f"scipy.{part}" for part in ("cluster", "integrate", "interpolate", "io", "ndimage", "signal", "stats")}
    code = (
        f"import sys; from reproduction import command; command.main(['answer', 'counts.csv', *{list(NOISY)!r}]); "
        f"print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
    )
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stderr.splitlines()[-1] == "[]"


PLAN = "{names: {a: 0.5, b: 0.5}, total: 60, want: {interval: a, narrower: 0.2}, releases: 100}"


def test_a_plan_is_that_of_the_library_and_says_so_in_a_sentence(home, capsys):
    from dpmultinomial._inference.planning import plan
    from dpmultinomial._seeding import stream

    Path("config.yaml").write_text(f"root_seed: 5\nplans:\n  mine: {PLAN}\n")
    text = said(capsys, "plan", "mine")
    wanted = plan({"a": 0.5, "b": 0.5}, 60, interval="a", narrower=0.2, releases=100, rng=stream(5, "plans", "mine"))
    assert text.startswith(
        f"With epsilon = {wanted.epsilon:.3g} (replace a record), the 95 % interval of the true share"
    )
    facts = json.loads(Path("results/plans/mine.json").read_bytes())
    assert facts["found"]["epsilon"] == wanted.epsilon
    assert Path("results/plans/mine.csv").read_text().startswith("epsilon,")
    assert "no plan is named 'mina': choose one of the available plans (mine), did you mean 'mine'?" in refused(
        "plan", "mina"
    )


TREE = "data: confidential/c.csv, mechanism: discrete_laplace, epsilon: 2.0, source: survey, levels: [state, county]"


def test_a_plan_of_a_release_has_both_costs_and_reads_no_confidential_file(home, capsys):
    Path("config.yaml").write_text(
        f"releases:\n  tree: {{{TREE}}}\nbudgets: {{survey: {{epsilon: 4.0}}}}\nplans:\n  mine: {{release: tree}}\n"
    )
    text = said(capsys, "plan", "mine")
    assert "counts an upper bound on the epsilon of a replaced record, which is 2 times as large." in text
    assert "covers epsilon = 2, but not epsilon = 4: epsilon would rise from 0 to 8 (replace a record" in text
    line = next(line for line in text.splitlines() if line.split()[:2] == ["2", "county"])
    assert line.split()[2:6] == ["50", "%", "1", "3"]  # 1/(2 x 0.5); P(|D| > 2) = 0.073, P(|D| > 3) = 0.027
    assert "2 (add or remove a record)" in line
    assert "4 (replace a record)" in line
    assert line.endswith("yes")
    assert "releases are tree, flat, did you mean 'tree'?" in refused_plan("{release: trees}")
    assert "shape: may be given only for a tree" in refused_plan("{release: flat, shape: c.csv}")
    assert "requires" not in refused_plan("{release: tree, values: [-1]}")
    assert "mine.values" in refused_plan("{release: tree, values: [-1]}")


def refused_plan(words):
    flat = "{data: confidential/c.csv, mechanism: discrete_gaussian, rho: 1}"
    Path("config.yaml").write_text(f"releases:\n  tree: {{{TREE}}}\n  flat: {flat}\nplans:\n  mine: {words}\n")
    return refused("plan", "mine")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (
            "names: {a: 0.5, b: 0.6}, total: 60, want: {interval: a, narrower: 0.2}",
            "mine.names: must sum to 1, got 1.1",
        ),
        (
            "names: {a: 0.5, b: 0.5}, total: 60, want: {interval: a}",
            "mine.want: a plan must contain either question, or interval and narrower",
        ),
        (
            "names: {a: 0.5, b: 0.5}, total: 60, want: {interval: c, narrower: 0.1}",
            "mine.want.interval: must be one of",
        ),
        ("names: {a: 0.5, b: 0.5}, total: 60, want: {question: a > c}", "mine.want.question: unknown name 'c'"),
        ("names: {a: 0.5, b: 0.5}, total: 0, want: {question: a > b}", "mine.total: 0 is not allowed"),
        ("names: {a: 0.5, b: 0.5}, want: {question: a > b}", "mine: missing key: total"),
    ],
)
def test_mistakes_of_a_plan(home, change, part):
    Path("config.yaml").write_text(f"plans:\n  mine: {{{change}}}\n")
    assert part in refused("plan", "mine")
    assert part in refused("check", "config.yaml")


def test_an_installation_of_the_library_alone_says_where_the_command_is(tmp_path):
    """Check with only the library installed: a sentence, the alternative in Python, exit code 1, no traceback."""
    root = Path(__file__).parents[2]
    (tmp_path / "dpmultinomial").symlink_to(root / "src/dpmultinomial", target_is_directory=True)
    run = subprocess.run(
        [sys.executable, "-S", "-c", "from dpmultinomial._command import main; main()"],  # without what is installed
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert run.stderr.startswith("dpm: only the library is installed. The command requires the project")
    assert "Traceback" not in run.stderr
    example = [line.strip() for line in run.stderr.splitlines()[-2:]]
    assert example[0] == "import dpmultinomial as dpm"
    shown = subprocess.run([sys.executable, "-c", "\n".join(example)], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr


def test_a_copy_that_was_not_compiled_says_so(monkeypatch):
    def broken(_):
        raise ImportError("cannot import name '_csv_fields' from 'dpmultinomial._files'", name="dpmultinomial._files")

    monkeypatch.setattr(command, "_answer", broken)
    with pytest.raises(SystemExit, match="kernels are not compiled") as ended:
        command.main(["answer", "counts.csv"])
    assert "make env" in str(ended.value)


def test_the_installed_command_is_the_projects_where_it_is(monkeypatch):
    import tomllib

    from dpmultinomial import _command

    told = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert told["project"]["scripts"] == {"dpm": "dpmultinomial._command:main"}
    monkeypatch.setattr(sys, "argv", ["dpm", "check", "nowhere.yaml"])
    with pytest.raises(SystemExit, match=r"nowhere\.yaml"):
        _command.main()


def test_a_tab_in_yaml_is_told_by_its_line(tmp_path):
    (tmp_path / "mine.yaml").write_text("run: []\nscenarios:\n\tsurvey: {kind: noisy_counts}\n")
    with pytest.raises(SystemExit, match=r": line 3 is indented with a tab: use spaces$"):
        command.main(["check", str(tmp_path / "mine.yaml")])


@pytest.mark.parametrize(
    ("mean", "width", "said"), [(0.6797, 4.0, "0.7"), (0.6797, 0.0, "0.6797"), (40.61, 11.0, "40.6")]
)
def test_a_mean_of_counts_has_the_digits_that_its_interval_makes_worth(mean, width, said):
    from reproduction.scenarios import summary

    assert summary._number(mean, "count", width, "mean") == said
    assert summary._number(44.21, "count", width, "released") == "44.21"


def test_a_release_that_was_not_made_is_told_with_the_command_that_makes_it(home):
    Path("more.yaml").write_text(
        "releases: {county: {source: s, data: confidential/c.csv, mechanism: discrete_laplace, epsilon: 1.0}}\n"
        "scenarios: {there: {release: county}}\n"
    )
    for asked in ("there", "releases/county/1", "releases/county"):
        for verb in ("answer", "page"):
            words = "release 'county' has not been made; to make it, run: dpm release county --configfile"
            assert refused(verb, asked, "--configfile", "more.yaml") == f"dpm {verb}: {words} more.yaml"
    near = refused("release", "conty", "--configfile", "more.yaml")
    assert near.endswith("releases are county, did you mean 'county'?")
    assert not Path("results").exists()


def test_answers_to_questions_come_first_where_the_table_is_long(home, capsys):
    """Check the answers on the screen and on the page; in the file they come last."""
    rows = "".join(f"c{i:02d},{i},9\n" for i in range(40))
    Path("many.csv").write_text(f"name,value,variance\n{rows}")
    Path("more.yaml").write_text(
        "scenarios:\n  many:\n    kind: noisy_counts\n    file: many.csv\n"
        "    noise: discrete_gaussian\n    questions:\n"
        "      larger: {probability: c30 > c29}\n      largest: {rank: {of: all, top: 2}}\n"
    )
    lines = said(capsys, "answer", "many", "--configfile", "more.yaml").splitlines()
    assert [line.split("  ")[0] for line in lines[3:9]] == [
        "larger", "largest: c39", "largest: P(c39 in top 2)", "largest: c38", "largest: P(c38 in top 2)", "c00"
    ]  # fmt: skip
    assert ".. 21 more rows are in results/scenarios/many.csv" in lines
    assert Path("results/scenarios/many.csv").read_text().splitlines()[1].startswith("c00,count,")
    said(capsys, "page", "many", "--configfile", "more.yaml")
    page = Path("pages/many.html").read_text()
    assert page.index("<bdi>largest: c39") < page.index("<bdi>c00")
    assert "larger: the probability that c30 &gt; c29 is" in page


def test_a_table_beyond_the_csv_is_told_with_the_file_that_has_all(home, capsys, monkeypatch):
    pass

    monkeypatch.setattr(making, "MOST", 30)
    Path("many.csv").write_text("name,value\n" + "".join(f"c{i:02d},{i}\n" for i in range(40)))
    lines = said(capsys, "answer", "many.csv", "--noise", "discrete_gaussian", "--sigma", "3").splitlines()
    assert [line for line in lines if line.startswith("..")] == [
        ".. 16 more rows are in results/scenarios/many.parquet"
    ]
    assert lines[-1].startswith("Full precision: results/scenarios/many.parquet; ")


def test_points_of_a_grid_and_wide_letters_stand_in_columns(home, capsys):
    Path("more.yaml").write_text(
        "scenarios: {grid: {kind: noisy_counts, counts: {東京: 5, Île: 7}, total: 12, "
        "noise: {law: laplace, scale: [1.0, 2.0]}}}\n"
    )
    lines = said(capsys, "answer", "grid", "--configfile", "more.yaml").splitlines()
    head, rows = lines[2], [line for line in lines[3:] if line[:1] in "12" and ("true" in line or "underlying" in line)]
    assert head.split()[:2] == ["scale", "quantity"]
    assert {row.split()[0] for row in rows} == {"1", "2"}
    wide = [row.replace("東京", "xxxx") for row in rows]  # two columns of a screen each
    assert {
        row.index(word) for row in wide for word in ("true count", "true share", "underlying rate") if word in row
    } == {head.index("type")}


@pytest.mark.thorough
def test_who_has_read_enough_is_told_nothing(home):
    import subprocess

    program = "import sys; from reproduction.command import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", program, "answer", "counts.csv", *NOISY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_batch_on_the_screen_says_why_tables_were_refused(home, capsys):
    rows = "".join(f"t{i},a,{i},9\nt{i},b,2,{9 - (i == 3)}\n" for i in range(20))
    Path("batch.csv").write_text(f"table,name,value,total\n{rows}")
    lines = said(capsys, "answer", "batch.csv", "--noise", "laplace", "--scale", "2").splitlines()
    assert lines[0] == "Tables analysed: 19 of 20; rejected: 1."
    # a count of 15 to 19 of a total of 9: about 2 P(count = 9) P(noise >= count - 9) times three values
    assert lines[1].startswith("CONFLICT: in 5 tables, released values are improbable")
    assert lines[2] == "Rejected, 1 table: total must be the same in all rows of a table."
    assert lines[4].split()[:2] == ["table", "quantity"]
    assert ".. 53 more rows are in results/scenarios/batch.csv" in lines  # 19 * 4 + 1 - 24


def options(*words):
    return command._stated(command.parser().parse_args(["answer", "source", *words]))


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        ("", {}),
        ("--noise laplace", {"noise": "laplace"}),
        ("--noise laplace --scale 2", {"noise": {"law": "laplace", "scale": 2.0}}),
        ("--noise laplace --rho 1 --sensitivity 2", {"noise": {"law": "laplace", "rho": 1.0, "sensitivity": 2.0}}),
        ("--epsilon 1 --sensitivity 2", {"epsilon": 1.0, "sensitivity": 2.0}),
        ("--sd 0", {"sd": 0.0}),
        ("--rho 1 --sigma 2 --variance 3", {"rho": 1.0, "sigma": 2.0, "variance": 3.0}),
        ("--total 0", {"total": 0}),
        ("--prior 1", {"prior": 1.0}),
        ("--prior 0.5", {"prior": 0.5}),
        ("--prior .5", {"prior": 0.5}),
        ("--prior flat", {"prior": "flat"}),
        ("--prior 1.2.3", {"prior": "1.2.3"}),
        ("--prior 1/(1+n)", {"prior": "1/(1+n)"}),
        ("--columns name=a value=b=c", {"columns": {"name": "a", "value": "b=c"}}),
        ("--columns name=a name=b", {"columns": {"name": ["a", "b"]}}),
        ("--withheld *=10", {"withheld": {"symbol": "*", "below": 10}}),
        ("--withheld ==5", {"withheld": {"symbol": "=", "below": 5}}),
        ("--absent zero all.csv", {"absent": {"cells": "all.csv", "are": "zero"}}),
        ("--absent withheld=10 combinations", {"absent": {"cells": "combinations", "are": "withheld", "below": 10}}),
        ("--cell a=x a=y b=z", {"cell": {"a": ["x", "y"], "b": ["z"]}}),
        ("--among a b --about both --level 0.9", {"among": ["a", "b"], "about": "both", "level": 0.9}),
        ("--missing : --per 1000 --family shares", {"missing": [":"], "per": 1000.0, "family": "shares"}),
        ("--exposure e --covariates x y", {"exposure": "e", "covariates": ["x", "y"]}),
        ("--state VT --product dhc", {"state": "VT", "product": "dhc"}),
        ("--table unit --query q", {"table": "unit", "query": "q"}),
        ("--levels A B --confidence 0.5", {"levels": ["A", "B"], "confidence": 0.5}),
        ("--ask a>b --ask c=0", {"questions": {"a>b": {"probability": "a>b"}, "c=0": {"probability": "c=0"}}}),
    ],
)  # fmt: skip
def test_options_are_the_keys_of_a_scenario(words, stated):
    assert options(*words.split()) == stated


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--columns name", "--columns must have the form name=column (for example name=county), got 'name'"),
        ("--columns =a", "--columns must have the form name=column (for example name=county), got '=a'"),
        ("--columns name=", "--columns must have the form name=column (for example name=county), got 'name='"),
        ("--cell a", "--cell must have the form axis=level (for example hispanic=hispanic), got 'a'"),
        ("--cell =a", "--cell must have the form axis=level (for example hispanic=hispanic), got '=a'"),
        ("--cell a=", "--cell must have the form axis=level (for example hispanic=hispanic), got 'a='"),
        ("--withheld 10", "--withheld must have the form symbol=limit (for example '*=10'), got '10'"),
        ("--withheld =10", "--withheld must have the form symbol=limit (for example '*=10'), got '=10'"),
        ("--withheld *=x", "--withheld must have the form symbol=limit (for example '*=10'), got '*=x'"),
        ("--absent withheld=x a.csv", "--absent must be zero, withheld, withheld=limit or unknown, got 'withheld=x'"),
        ("--absent withheld= a.csv", "--absent must be zero, withheld, withheld=limit or unknown, got 'withheld='"),
    ],
)
def test_options_in_another_form_are_refused(words, said):
    with pytest.raises(ValueError, match="must") as caught:
        options(*words.split())
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("Counts-2020 b.csv", "counts_2020_b"),
        ("2020.csv", "s_2020"),
        ("_a.csv", "s__a"),
        ("a.b.csv", "a_b"),
        ("releases/county/1", "county"),
    ],
)
def test_the_name_of_a_scenario_is_made_of_its_source(home, monkeypatch, source, name):
    path = Path(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("name,value\na,1\nb,2\n") if path.suffix else path.mkdir()
    monkeypatch.setattr(scenario_settings, "mistakes", lambda *_, **__: iter(()))
    asked = command.parser().parse_args(["answer", source, "--total", "3"])
    kept = {}
    monkeypatch.setattr(scenario_settings, "named", lambda whole, kinds: kept.update(whole) or {"x": 1})
    assert command._scenario(asked, {}) == 1
    source_of = {"kind": "noisy_counts", "file": source} if path.suffix else {"release": source}
    assert kept == {"scenarios": {name: {**source_of, "total": 3}}}


@pytest.mark.parametrize(
    ("folder", "words"), [("nmf", ("--state", "VT")), ("x_PROD", ()), ("top", ()), ("top/x_PROD", ())]
)
def test_folders_of_noisy_measurement_files_are_known_by_their_names(home, monkeypatch, folder, words):
    Path(folder).mkdir(parents=True)
    Path("top/a_PROD").mkdir(parents=True, exist_ok=True)
    kept = {}
    monkeypatch.setattr(scenario_settings, "mistakes", lambda *_, **__: iter(()))
    monkeypatch.setattr(scenario_settings, "named", lambda whole, kinds: kept.update(whole) or {"x": 1})
    command._scenario(command.parser().parse_args(["answer", folder, *words]), {})
    name = Path(folder).name.lower()
    assert kept["scenarios"][name]["kind"] == "noisy_measurements"
    assert kept["scenarios"][name]["folder"] == folder


@pytest.mark.parametrize(("size", "thorough"), [(100, True), (101, False)])
def test_counts_of_a_large_file_are_checked_by_the_analysis(home, monkeypatch, size, thorough):
    monkeypatch.setattr(command, "_LARGE", 100)
    Path("large.csv").write_text("x" * size)
    kept = {}
    monkeypatch.setattr(scenario_settings, "mistakes", lambda *_, **words: kept.update(words) or iter(()))
    monkeypatch.setattr(scenario_settings, "named", lambda whole, kinds: {"x": 1})
    command._scenario(command.parser().parse_args(["answer", "large.csv"]), {})
    assert kept == {"thorough": thorough}


def test_a_source_that_is_nothing_is_told_with_what_there_is(home):
    text = refused("answer", "surve")
    assert text.startswith("dpm answer: 'surve' is not a file, a folder or a scenario. The available scenarios are ")
    assert "survey, toy" in text
    text = refused("answer", "survey", "--total", "3", "--level", "0.9")
    assert text == (
        "dpm answer: survey is a scenario of the configuration, so its settings cannot be given on the command line: "
        "set total, level in the configuration"
    )
    Path("config.yaml").unlink()
    assert refused("answer", "x") == (
        "dpm answer: 'x' is not a file, a folder or a scenario. The available scenarios are none"
    )


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("", ""),
        (f"scenarios: {{a: {SURVEY}}}", "; 1 scenario"),
        (f"scenarios: {{a: {SURVEY}, b: {SURVEY}}}", "; 2 scenarios"),
        ("plans: {p: {names: {a: 0.5, b: 0.5}, total: 9, want: {question: a > b}}}", "; 1 plan"),
    ],
)
def test_a_check_counts_what_it_has_checked(home, capsys, text, total):
    Path("mine.yaml").write_text(text or "root_seed: 3\n")
    assert said(capsys, "check", "mine.yaml") == f"mine.yaml: no mistakes{total}.\n"
    Path("other.yaml").write_text("root_seed: 4\n")
    assert said(capsys, "check", "mine.yaml", "other.yaml") == f"mine.yaml, other.yaml: no mistakes{total}.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scenarios: [1]", "scenarios must be a mapping of keys to values, got '[1]'"),
        ("plans: {p: 3}", "plans.p must be a mapping of keys to values, got '3'"),
        (f"budgets: {'x' * 90}", f"budgets must be a mapping of keys to values, got '{'x' * 80}'"),
    ],
)
def test_sections_of_another_form_are_refused(home, text, said):
    Path("config.yaml").write_text(text)
    with pytest.raises(ValueError, match="must be a mapping") as caught:
        command._settings([])
    assert str(caught.value) == said


def test_sections_without_a_value_are_empty(home):
    Path("config.yaml").write_text("scenarios:\nplans:\nroot_seed: 3\n")
    assert command._settings([])["root_seed"] == 3
    Path("more.yaml").write_text("root_seed: 4\n")
    assert command._settings(["more.yaml"])["root_seed"] == 4
    Path("config.yaml").unlink()
    assert command._settings([]) == {}


@pytest.mark.parametrize(
    ("error", "said", "status"),
    [
        (MemoryError(), "not enough memory (no further details): use fewer counts, rows or levels", 1),
        (MemoryError("9 GB"), "not enough memory (9 GB): use fewer counts, rows or levels", 1),
        (RecursionError(), "the input is nested too deeply: use fewer levels", 1),
        (OverflowError("x"), "a number is outside the range of floating-point numbers (x): use smaller numbers", 1),
        (RuntimeError("r\x1b"), "r\\x1b", 1),
        (KeyError("an unknown name"), "an unknown name", 1),
        (KeyError(), "", 1),
        (ImportError("no", name="dpmultinomial._x"), "the kernels are not compiled (no): run make env", 1),
        (ImportError("no", name="scipy"), "a package is missing (no): run make env", 1),
        (KeyboardInterrupt(), "the command was interrupted; the files that were complete are kept", 130),
    ],
)
def test_errors_are_told_in_a_sentence(home, monkeypatch, capsys, error, said, status):
    def fails(asked):
        raise error

    monkeypatch.setattr(command, "_check", fails)
    with pytest.raises(SystemExit) as caught:
        command.main(["check", "config.yaml"])
    if status == 1:
        assert caught.value.code == f"dpm check: {said}"
    else:
        assert caught.value.code == status
        assert capsys.readouterr().err == f"dpm check: {said}\n"


def test_an_error_that_is_not_about_the_input_asks_to_be_reported(home, monkeypatch):
    def fails(asked):
        raise TypeError("odd")

    monkeypatch.setattr(command, "_check", fails)
    text = refused("check", "config.yaml")
    assert text.startswith("dpm check: internal error, please report it: TypeError in test_command.py, line ")
    assert ": odd (with the environment variable DPMULTINOMIAL_DEBUG=1" in text
    monkeypatch.setenv("DPMULTINOMIAL_DEBUG", "1")
    with pytest.raises(TypeError, match="odd"):
        command.main(["check", "config.yaml"])


_APART = {"tests", "__main__", "bench"}
MODULES = [m.name for m in pkgutil.walk_packages(reproduction.__path__, "reproduction.")]
MODULES = [name for name in MODULES if not _APART & set(name.split(".")) and not name.endswith(("_script", "_tests"))]


@pytest.mark.parametrize("package", sorted({name.split(".")[1] for name in MODULES}))
def test_values_cannot_be_changed(package):
    """Check that every dataclass is frozen, so that checked values remain valid."""
    for name in MODULES:
        if name.split(".")[1] == package:
            module = importlib.import_module(name)
            own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == name]
            assert all(kind.__dataclass_params__.frozen for kind in own if "__dataclass_params__" in vars(kind))
