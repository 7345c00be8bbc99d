"""Tests of the report of a run as files: valid links, correct words, no confidential content, complete statements."""

import math
import re
import shutil
from types import SimpleNamespace

import pandas as pd
import pytest

from reproduction import paper, report
from reproduction.report import files, scenarios, statements, texts
from reproduction.report import pages as report_pages
from reproduction.scenarios import sentences, summary
from reproduction.verdicts import agreement
from tests.browser import made_run
from tests.docs import site_pages

_DECIDED = ("reproduced", "reproduced_by_slip", "differs", "undecided")


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    made_run.make(root)
    report.write(root, root / "results/report")
    return root


@pytest.fixture(scope="module")
def pages(run_folder):
    return run_folder / "results/report"


def text(pages, name):
    return (pages / name).read_text(encoding="utf-8")


@pytest.mark.thorough
def test_there_is_a_page_for_everything_and_every_link_holds(pages):
    named = {path.name for path in pages.glob("*.html")}
    slugs = set(paper.discover())
    assert {"index.html", "agreement.html", "settings.html"} <= named
    assert {f"paper-{slug}.html" for slug in slugs} <= named
    assert {f"scenario-{name}.html" for name in ("mine", "sites", "chain", "absent")} <= named
    assert {"release-county.html", "release-waiting.html"} <= named
    assert list(site_pages.broken(pages)) == []
    assert list(site_pages.remote(pages)) == []


@pytest.mark.thorough
def test_every_statement_is_in_the_agreement_page_once_and_on_its_paper_once(pages):
    rows = re.findall(r'<tr id="(\w+)-(\d+)">', text(pages, "agreement.html"))
    for slug, found in paper.discover().items():
        printed = agreement.read_published(found.folder / "published.tsv")
        assert [int(number) for s, number in rows if s == slug] == list(range(1, len(printed) + 1))
        back = re.findall(rf"agreement\.html#{slug}-(\d+)", text(pages, f"paper-{slug}.html"))
        assert sorted(map(int, back)) == list(range(1, len(printed) + 1))


def test_the_first_page_says_what_to_look_at(pages):
    """Return the synthetic run with verdicts in turn, one artefact missing, and one row per table not converged."""
    first = text(pages, "index.html")
    everything = pd.concat([made_run.statements(p) for p in paper.discover().values()])
    verdict = list(everything["verdict"])
    look = sum(everything["kind"].isin(agreement.JUDGED) & everything["verdict"].isin(["differs", "undecided"]))
    assert f"Differs or undecided: {look}<" in first
    assert f"Not run: {verdict.count('not_run')}<" in first
    made = [a for p in paper.discover().values() for a in p.artefacts if a.table and a.name != "errata"]
    unsure = sum(a.name != made_run.NOT_MADE for a in made) + 1  # and a scenario
    assert f"Not converged: {unsure} tables" in first
    differs = first.partition('id="differs"')[2].partition('id="unconverged"')[0]
    assert differs.count("because ") == look  # each with its reason
    for name, kinds in (("paper", agreement.PAPER), ("wording", agreement.WORDING), ("code", agreement.CODE)):
        matrix = first.partition(f'id="group-{name}"')[2].partition("</table>")[0]
        named = set(everything.loc[everything["kind"].isin(kinds), "verdict"])
        for slug, p in paper.discover().items():
            rows = made_run.statements(p)
            own = list(rows.loc[rows["kind"].isin(kinds), "verdict"])
            row = matrix.partition(f"paper-{slug}.html")[2].partition("</tr>")[0]
            assert re.findall(r'"number"[^>]*>([\d·]+)<', row) == [
                str(own.count(v) or "·") for v in statements.ALL if v in named and own
            ]  # a paper without such a statement has no row


def test_the_first_sentence_is_the_score(pages):
    """Check counts from the statements, by group of kinds, in the sentence and in the tables below it."""
    rows = pd.concat([made_run.statements(p) for p in paper.discover().values()])
    page = text(pages, "index.html")
    first = page.partition("</h1>")[2].partition("</p>")[0]
    for name, kinds, words, verb in (
        ("paper", ["number", "claim", "curve"], "printed statements checked", "reproduce"),
        ("wording", ["wording"], "verbal statements judged with thresholds chosen by this project", "hold"),
        ("code", ["law", "check"], "tests of the samples and curves of this project", "pass"),
    ):
        counted = rows[rows["kind"].isin(kinds)]["verdict"].value_counts()
        good, slip, bad, open_ = (counted.get(v, 0) for v in _DECIDED)
        parts = [(good, verb), (slip, "only with an error emulated"), (bad, "differ"), (open_, "undecided")]
        found = re.search(rf"(\d+) {words}: ([^.]*)\.", first)
        assert int(found[1]) == good + slip + bad + open_
        numbers = [int(part.split()[0]) for part in found[2].split(", ")]
        assert numbers == [number for number, _ in parts if number]
        total = page.partition(f'id="group-{name}"')[2].partition("<tfoot>")[2].partition("</tfoot>")[0]
        shown = {label: int(n) for label, n in re.findall(r'data-label="\S+ ([\w ]+)">(\d+)<', total)}
        expected = zip(("reproduced", "reproduced by slip", "differs", "undecided"), parts, strict=True)
        assert [shown.get(label, 0) for label, _ in expected] == [number for number, _ in parts]


def test_print_comes_first_and_in_its_order_on_the_page_of_a_paper(pages):
    for slug, p in paper.discover().items():
        page = text(pages, f"paper-{slug}.html")
        printed = list(dict.fromkeys(agreement.read_published(p.folder / "published.tsv")["artefact"]))
        sections = re.findall(r'<section id="(\w+)" aria', page)
        assert sections[: len(printed)] == printed
        listed = page.partition('class="lines')[2].partition("</table>")[0]
        assert re.findall(rf'href="paper-{slug}\.html#(\w+)"', listed) == printed


def test_a_paper_that_was_not_run_is_a_line_and_own_cases_come_first(tmp_path):
    """Check a folder with only a release and scenarios: no links to pages that do not exist."""
    made_run.make(tmp_path, papers=["balmat2018", "pan2023"])
    for slug in ("balmat2018", "pan2023"):
        for path in [*(tmp_path / "results" / slug).iterdir(), *(tmp_path / "figures" / slug).iterdir()]:
            path.unlink()
    first = report.write(tmp_path, tmp_path / "report").read_text(encoding="utf-8")
    main = first.partition("<main")[2]
    assert "<h1>Own cases" in main
    assert main.index("scenario-mine.html") < main.index("Not run:")
    assert main.count("paper-balmat2018.html") == 1
    assert "snakemake --cores 1 balmat2018 pan2023" in main
    assert "No paper has been compared" not in main
    assert list(site_pages.broken(tmp_path / "report")) == []


def test_a_statement_shows_the_verdicts_of_all_variants(pages):
    for page in ("agreement.html", "paper-wang2020.html"):
        assert "corrected method; as in their program: differs" in text(pages, page)


def test_what_a_user_wrote_is_text(pages):
    for path in pages.glob("*.html"):
        assert made_run.END not in path.read_text(encoding="utf-8"), path.name
    escaped = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    for name in ("scenario-mine.html", "release-county.html", "agreement.html", "paper-pan2023.html"):
        assert escaped in text(pages, name), name


def test_nothing_confidential_is_read(run_folder, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_folder, copy)
    shutil.rmtree(copy / "confidential")  # a report without it is the same, so nothing of it was read
    report.write(copy, copy / "results/report")
    for path in sorted((run_folder / "results/report").rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            assert made_run.SECRET.encode() not in content
            assert content == (copy / path.relative_to(run_folder)).read_bytes(), path.name


def test_a_report_of_nothing_says_so(tmp_path):
    first = report.write(tmp_path, tmp_path / "report").read_text(encoding="utf-8")
    assert "In this run, no paper was compared with its printed statements." in first
    assert list(site_pages.broken(tmp_path / "report")) == []


def test_a_report_of_a_part_names_what_is_missing_and_its_command(run_folder, tmp_path):
    made_run.make(tmp_path, papers=["balmat2018"])
    shutil.rmtree(tmp_path / "results/balmat2018")
    shutil.rmtree(tmp_path / "figures")
    report.write(tmp_path, tmp_path / "report")
    page = text(tmp_path / "report", "paper-balmat2018.html")
    for artefact in paper.discover()["balmat2018"].artefacts:
        if artefact.table and artefact.name != "errata":
            assert f"results/balmat2018/{artefact.name}.csv</code> makes it" in page
    assert "snakemake --cores 1 balmat2018" in text(tmp_path / "report", "index.html")


def test_a_release_whose_file_was_changed_is_not_shown(tmp_path):
    made_run.make(tmp_path, papers=["balmat2018"])
    (tmp_path / "releases/county/1/release.csv").write_text("category,count\nforged,1\nsouth,2\n")
    report.write(tmp_path, tmp_path / "report")
    page = text(tmp_path / "report", "release-county.html")
    assert "SHA-256" in page
    assert "forged" not in page
    assert str(tmp_path) not in page


def test_verdicts_have_a_sign_and_a_word_of_their_own():
    assert set(statements.ALL) == set(agreement.VERDICTS)
    assert len({v.sign for v in statements.ALL.values()}) == len(agreement.VERDICTS)
    assert sorted(v.rank for v in statements.ALL.values()) == list(range(len(agreement.VERDICTS)))
    assert [v.name for v, n in statements.counts(["differs", "reproduced", "differs"])] == ["reproduced", "differs"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3.0, "3"), (1 / 3, "0.333333"), (math.nan, ""), (math.inf, "inf"), (2e9, "2e+09"), (-5.0, "-5"), (1e-9, "1e-09")],
)
def test_numbers_are_shown_to_six_digits(value, expected):
    assert texts.number(value) == expected


def test_printed_numbers_keep_their_decimals():
    assert texts.printed(0.1, 2) == "0.10"
    assert texts.printed(1500.0, -2) == "1500"


def test_long_tables_are_cut_and_say_how_long_they_are():
    short, long = (texts.shown(pd.DataFrame({"x": range(n), "empty": math.nan})) for n in (30, 31))
    assert (len(short.rows), short.cut, short.columns) == (30, False, ["x"])
    assert (len(long.rows), long.cut, long.total) == (10, True, 31)


def test_large_tables_are_compressed_and_huge_ones_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PLAIN_BYTES", 10)
    monkeypatch.setattr(files, "MOST_BYTES", 60)
    (tmp_path / "results").mkdir()
    for name, content in (("small", "x\n"), ("large", "x\n" * 500), ("huge", "".join(map(chr, range(33, 126))))):
        (tmp_path / f"results/{name}.csv").write_text(content)
    made_run.vouch(tmp_path)
    folder = files.Folder(tmp_path, tmp_path / "report")
    found = [folder.table(f"results/{name}.csv") for name in ("small", "large", "huge", "none")]
    assert found == ["data/small.csv", "data/large.csv.gz", "", ""]


def test_a_scenario_is_told_in_words(pages):
    page = text(pages, "scenario-mine.html")
    assert " and b is between 66.7 % and 100 % with probability at least 95 %" in page
    assert "true count" in page
    assert "underlying rate" in page
    assert page.index("Laplace noise of scale 2") > page.index(">Assumptions<")
    assert page.index("exact up to floating-point rounding") > page.index("Accuracy and checks")
    assert page.index("The results describe groups of records") > page.index("Limitations")
    assert made_run.END not in page


def test_a_chain_that_failed_is_not_told_as_an_answer(pages):
    page = text(pages, "scenario-chain.html")
    assert "The Markov chains did not converge: do not use any of these numbers." in page
    assert "At least one Markov chain did not pass its checks." in page
    assert "is between" not in page


def test_a_batch_says_which_tables_failed_and_why(pages):
    page = text(pages, "scenario-sites.html")
    assert "Tables analysed: 40 of 41; rejected: 1." in page
    assert "Rejected, 1 table: total must be the same in all rows of a table." in page


def test_a_record_is_told_with_what_a_reader_asks_first():
    record = {"zeta": 1, "cost": {"relation": "replace", "epsilon": 1.0}, "mechanism": "m", "neighbours": "replace one"}
    found = scenarios.record_in_words(record)
    assert found == [("mechanism", "m"), ("cost", "epsilon 1 (replace)"), ("neighbours", "replace one"), ("zeta", "1")]


def test_the_costs_in_a_record_are_upper_bounds():
    """Rounded upwards to six digits, 2.0123939 is 2.0124, 1.9999933 is 2 and 13.54615 is 13.5462."""
    record = {
        "cost": {"relation": "replace a record", "epsilon": 0.5, "order": 4.0},
        "epsilon_at_delta": {"epsilon": 2.0123939, "delta": 1e-6, "method": "loss distributions"},
        "scale": {"low": 2.0000038},
    }
    assert dict(scenarios.record_in_words(record)) == {
        "cost": "Rényi epsilon at most 0.5, order 4 (replace a record)",
        "epsilon of this release alone, at a delta": "epsilon 2.0124, delta 1e-06, method loss distributions",
        "scale of the noise": "low 2",
    }
    record = {"cost": {"rho": 0.2}, "epsilon_at_delta": {"epsilon": 1.9999933}}
    record |= {"against_ceiling": {"epsilon": 13.54615}}
    assert [value for _, value in scenarios.record_in_words(record)] == ["rho 0.2", "epsilon 2", "epsilon 13.5462"]


@pytest.mark.parametrize(("least", "sure"), [("", ""), ("4.0 ± 1.2", ""), ("", "2 to 6"), ("4.0 ± 1.2", "2 to 6")])
def test_a_report_shows_the_estimates_that_its_sentences_name(least, sure):
    """The table has columns for least-squares estimates and confidence intervals if there are any."""
    cells = {"key": "", "quantity": "a", "noun": "true count", "released": "4", "mean": "4.1", "interval": "1 to 8"}
    line = summary.Line(**cells, state="exact", usable=True, least_squares=least, confidence=sure)
    empty = dict.fromkeys(("sentences", "assumptions", "accuracy", "limitations", "comparison"), ())
    found = summary.Summary(
        name="x", kind="noisy_counts", form="case", headline="", lines=[line], more=0, level="95 %", release="",
        facts={"kind": "noisy_counts"}, **empty,
    )  # fmt: skip
    site = {"papers": [], "scenarios": [], "releases": [], "version": "1", "here": ""}
    template = report_pages._environment().get_template("scenario.html")
    page = template.render(**site, page=scenarios.ScenarioPage("x", summary=found))
    head = re.findall('<th scope="col"[^>]*>([^<]*)</th>', page)
    added = [name for name, value in (("least squares", least), ("confidence interval", sure)) if value]
    assert head == ["quantity", "type", "released", "mean", "interval", *added, "accuracy"]
    assert all(f">{value}</td>" in page for value in (least, sure) if value)


def test_formulas_are_typeset_and_files_link_to_their_place():
    found = texts.Prose("p", ["table_1"])
    assert "<math" in found.line("$x^2$")
    assert found.line("`results/p/table_1.csv`") == '<a href="#table_1"><code>results/p/table_1.csv</code></a>'
    assert found.line("`results/q/table_1.csv`") == "<code>results/q/table_1.csv</code>"
    assert found.line("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;"


@pytest.mark.parametrize("slug", list(paper.discover()))
def test_every_formula_of_a_paper_is_typeset(pages, slug):
    page = text(pages, f"paper-{slug}.html")
    methods = paper.discover()[slug].folder / "methods.md"
    written = re.findall(r"\$+[^$]+\$+", methods.read_text(encoding="utf-8") if methods.is_file() else "")
    assert page.count("<math") >= len(written)
    assert "$" not in re.sub(r"<[^>]*>", "", page.partition('id="methods"')[2])


@pytest.mark.parametrize(
    ("kind_", "origin", "words"),
    [
        ("classifier", "rehearsal", "Intervals are 90 % t intervals for the mean over the simulated releases."),
        ("classifier", "release", "Intervals are central 90 % credible intervals."),
        ("noisy_counts", "rehearsal", "Intervals are central 90 % credible intervals."),
    ],
)
def test_a_page_and_a_report_state_the_kind_of_the_intervals(kind_, origin, words):
    """The scores of a rehearsal of a classifier have no posterior distribution."""
    empty = dict.fromkeys(
        ("headline", "sentences", "lines", "assumptions", "accuracy", "limitations", "comparison", "release"), ()
    )
    found = [
        summary.Summary(
            name="x", kind=kind_, form="case", more=more, level="90 %", **empty,
            facts={"kind": kind_, "points": [{"origin": origin}]},
        )
        for more in (1, 1200)
    ]  # fmt: skip
    assert [one.about_intervals for one in found] == [words] * 2
    assert [one.rest for one in found] == ["1 more row is", "1,200 more rows are"]


def test_a_question_whose_name_begins_with_another_name_is_answered_by_its_own_row():
    asked = {"a": {"sum": ["x", "y"]}, "a: b": {"difference": ["x", "y"]}, "a: b: c": {"rank": {"of": "all"}}}
    found = [sentences.question_noun(name, asked) for name in ("a", "a: b", "a: b: c: x", "a: b: c: P(x in top 2)")]
    assert found == ["sum", "difference", "rank", "probability"]
    row = SimpleNamespace(
        quantity="a: b", type="question", status="exact", level=0.9, mean=1.0, sd=2.0, lower=-1.0, upper=4.0
    )
    facts = {"kind": "noisy_counts", "settings": {"questions": asked}}
    start = "a: b: the count of x minus the count of y is between -1 and 4 with probability at least 90 %."
    assert sentences.sentence(row, facts, {}) == start
    assert sentences.asked_in("b", asked) == ""
