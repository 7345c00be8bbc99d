"""Tests of the rules of the papers: one file per rule, long loops in pieces, groups that never wait for themselves; and
invalid targets, which are reported with the nearest valid target before Snakemake starts.
"""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpmultinomial._seeding import stream
from reproduction import dependencies, evidence, kind, listing, paper, studies
from reproduction.config import config, overlays
from reproduction.config.reading import ConfigError
from reproduction.jobs import artefacts, environment, internals

PAPERS = paper.discover()
SLUGS = list(PAPERS)


def artefact(name, module="tables", *, by="compute", minutes=0.01, inputs=(), figure=False, loop=0.1):
    table = paper.Table(
        by=by,
        function=f"{module}.{name}",
        settings=module if by == "summarise" else name,
        inputs=tuple(inputs),
        programs=(),
        files={},
        caption="",
        minutes=minutes,
        loop_minutes=loop,
        mem_mb=1000,
    )
    about = {"caption": "", "alt": "", "minutes": 0.05, "mem_mb": 1000}
    drawn = paper.Figure(function=f"figures.{name}", **about) if figure else None
    return paper.Artefact(name, name, table, drawn)


def toy(*made, replications=100):
    properties = {"properties": {"replications": {"default": replications}}}
    settings = {"sections": {"loop": properties}}
    return paper.Paper("toy", paper.FOLDER / "toy", "", (), 2026, "article", "", "", made, settings)


def files_of(found, name, section=None, **asked):
    table = next(a.table for a in found.artefacts if a.name == name)
    return artefacts.inputs(found, table, section or {}, artefacts.loops(found, section, **asked))


@pytest.mark.parametrize("slug", SLUGS)
def test_every_file_has_one_rule_and_every_rule_one_file(slug):
    rows = list(listing.of_paper(PAPERS[slug], {}, "auto"))
    made = [row for row in rows if row.file]
    assert len({row.rule for row in rows}) == len(rows)
    assert len({row.file for row in made}) == len(made)
    assert {row.file for row in made} >= {*PAPERS[slug].tables(), *PAPERS[slug].figures()}


def test_a_rule_is_named_after_paper_artefact_and_kind():
    found = toy(artefact("a", figure=True), artefact("b", "loop", by="summarise"))
    names = {row.rule: (row.function, row.file) for row in listing.of_paper(found, {}, "auto")}
    assert names == {
        "toy_a_table": ("papers.toy.tables.a", "results/toy/a.csv"),
        "toy_a_figure": ("papers.toy.figures.a", "figures/toy/a.png"),
        "toy_b_table": ("papers.toy.loop.b", "results/toy/b.csv"),
        "toy_loop_loop": ("papers.toy.loop.simulate", "results/toy/simulated/loop_{shard}_of_1.csv"),
        "toy_compare": ("papers.toy.agreement.ours", "results/toy/agreement.csv"),
        "toy": ("", ""),
    }


def test_what_a_table_reads():
    found = toy(
        artefact("a", inputs=["b", "published"]),
        artefact("b", "loop", by="summarise", loop=0.3),
        artefact("c", by="gather", inputs=["runs/sets", "more/sets"]),
    )
    assert files_of(found, "a") == {
        "b": "results/toy/b.csv",
        "published": str(found.folder / "published.tsv"),
    }
    pieces = [f"results/toy/simulated/loop_{i}_of_3.csv" for i in (1, 2, 3)]
    assert list(files_of(found, "b", shards=3).values()) == pieces
    gathered = files_of(found, "c", {"sets": ["y", "x"]})
    assert list(gathered.values()) == [
        f"results/toy/{folder}/{name}.csv" for folder in ("runs", "more") for name in "yx"
    ]


@pytest.mark.parametrize(
    ("minutes", "replications", "shards", "pieces"),
    [
        (0.1, 100, 3, 1),  # short
        (0.1, 300, 3, 3),  # long by what is asked for
        (0.2, 1, 5, 5),  # declared long
        (0.2, 1, "auto", 1),
        (0.2, 100, "auto", 1),
        (0.41, 100, "auto", 2),
        (0.1, 1000, "auto", 3),  # 1 minute in pieces of at most 0.4
        (9, 100, "auto", artefacts.MOST_PIECES),
    ],
)
def test_a_long_loop_is_cut_by_its_length(minutes, replications, shards, pieces):
    found = toy(artefact("a", "loop", by="summarise", loop=minutes))
    (loop,) = artefacts.loops(found, {"loop": {"replications": replications}}, shards)
    assert loop.pieces == pieces
    assert loop.files == [f"results/toy/simulated/loop_{i + 1}_of_{pieces}.csv" for i in range(pieces)]


def test_quick_tables_share_submissions_and_no_group_waits_for_itself():
    found = toy(
        artefact("a"),
        artefact("b", inputs=["a", "published"]),
        artefact("slow", minutes=artefacts.LONG),
        artefact("after", inputs=["b", "slow"]),
        artefact("timing", by="measure"),
        artefact("judged", inputs=["timing"]),
        artefact("gathered", by="gather", inputs=["runs/sets"]),
        artefact("short", "loop", by="summarise"),
        artefact("long", "other", by="summarise", loop=artefacts.LONG),
        artefact("last", by="measure", inputs=["long"]),
        artefact("end", inputs=["last"]),
    )
    summaries = dict.fromkeys(("after", "judged", "long"), "summaries")
    assert artefacts.groups(found) == {"a": "tables", "b": "tables", "short": "tables"} | summaries


@pytest.mark.parametrize("slug", SLUGS)
def test_what_a_group_waits_for_has_not_waited_for_it(slug):
    """Check the definition: no path leaves a group and returns to it."""
    found = PAPERS[slug]
    groups = artefacts.groups(found)
    reads = {
        a.name: [i for i in a.table.inputs if i != "published" and "/" not in i] for a in found.artefacts if a.table
    }

    def ancestors(name):
        return {name}.union(*(ancestors(other) for other in reads[name]))

    for name, group in groups.items():
        outside = {other for other in ancestors(name) if groups.get(other) != group}
        assert not any(groups.get(further) == group for other in outside for further in ancestors(other)), name


def test_minutes_from_nothing_count_each_table_and_loop_once():
    found = toy(
        artefact("a", "loop", by="summarise", minutes=1, loop=10),
        artefact("b", "loop", by="summarise", minutes=2, loop=20),
        artefact("c", inputs=["a", "b"], minutes=4),
        artefact("d", inputs=["c", "a"], minutes=8),
    )
    assert artefacts.minutes_from_nothing(found) == {"a": 21, "b": 22, "c": 27, "d": 35}


@pytest.mark.thorough
def test_every_rule_of_the_workflow_is_listed_and_no_other(tmp_path):
    """Compare `snakemake --list-rules` with `make rules` at toy size: papers, scenarios, studies, other rules."""
    import subprocess
    import sys

    import yaml

    from reproduction import smoke
    from reproduction.config import checks

    settings = smoke.configuration() | {"shards": 2}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings))
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--list-rules"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    listed = {row.rule for row in listing.rows(checks.checked(settings, PAPERS))}
    assert listed == {line.split()[0] for line in said.splitlines() if line.strip()}


def test_the_digest_of_a_job_changes_with_a_file_and_not_with_its_date(tmp_path, monkeypatch):
    folder = tmp_path / "dpmultinomial"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "one.py").write_text("x = 1\n")
    monkeypatch.setattr(dependencies, "SRC", tmp_path)
    monkeypatch.setattr(dependencies, "ADAPTERS", ())
    digests = []
    for text in ("x = 1\n", "x = 1\n", "x = 2\n"):
        (folder / "one.py").write_text(text)
        for cached in (dependencies._file, dependencies._imported, dependencies._reached, dependencies._content):
            cached.cache_clear()
        digests.append(dependencies.digest("dpmultinomial.one"))
    assert digests[0] == digests[1] != digests[2]
    for cached in (dependencies._file, dependencies._imported, dependencies._reached, dependencies._content):
        cached.cache_clear()


def test_figures_that_read_what_is_printed_have_it_as_input():
    """Check that the figures of ponnoprat2022 read printed points, but those of other papers only their tables."""
    for slug, one in PAPERS.items():
        modules = {a.figure.module for a in one.artefacts if a.figure}
        wanted = [str(one.folder / "published.tsv")] if slug == "ponnoprat2022" else []
        for module in modules:
            assert artefacts.printed(one, module) == wanted, (slug, module)


RULES = ["all", "balmat2018", "scenario_survey", "page_survey", "release_county"]
FILES = ["figures/balmat2018/figure_1.png", "results/balmat2018/table_1.csv"]
SECTIONS = {"scenarios": ["survey"], "plans": [], "releases": ["county"]}


def refusal(*asked):
    return artefacts.refused_targets(asked, rules=RULES, files=FILES, made=FILES.__contains__, sections=SECTIONS)


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
    with pytest.raises(
        ConfigError, match=r"scenario_x is not a configuration file. .* write the target before --configfile"
    ):
        overlays.taken_apart(["--configfile", "mine.yaml", "scenario_x"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def a(x):\n    def b(): pass\n", {"a"}),
        ("async def a(): pass\nclass B: pass\nclass C(B):\n    x = 1\n", {"a", "B", "C"}),
        ("a = 1\nb: int = 2\nc == 3\nd=4\n", {"a", "b"}),
        ("from x import a\nfrom .y import b as c, d\n", {"a", "c", "d"}),
        ("from x import (\n    a,  # first, of two\n    b as c,\n)\n", {"a", "c"}),
        ("import a\n", set()),
        ("    a = 1\n", set()),
    ],
)
def test_names_at_the_top_of_a_module(tmp_path, text, names):
    (tmp_path / "a.py").write_text(text)
    assert paper._names(tmp_path / "a.py") == names


def test_texts_cut_at_a_comma_are_found_at_every_depth():
    written = {
        "title": "a",
        "b": None,
        "year": 2026,
        "c": None,
        "artefacts": {"t": {"label": "x", "y": None, "z": None, "table": {"caption": "x", "w": None}}},
    }
    found = [text.partition(":")[0] for text in paper._cut_texts(written)]
    assert found == ["title", "artefacts.t.label", "artefacts.t.label", "artefacts.t.table.caption"]
    assert written == {
        "title": "a",
        "year": 2026,
        "c": None,
        "artefacts": {"t": {"label": "x", "table": {"caption": "x"}}},
    }
    (text,) = paper._cut_texts({"alt": "a", "b c": None})
    assert text == (
        "alt: in braces, YAML ends a string at its first comma and reads 'b c' as a key: write a block instead: "
        "`alt: >-`, with the string indented on the next line"
    )


def test_files_and_packages_of_a_paper():
    found = toy(artefact("a", figure=True), artefact("b"))
    assert found.package == "reproduction.papers.toy"
    assert found.tables() == ["results/toy/a.csv", "results/toy/b.csv"]
    assert found.figures() == ["figures/toy/a.png"]
    assert list(found.mistakes({})) == []
    assert (found.artefacts[0].table.module, found.artefacts[0].figure.module) == ("tables", "figures")
    years = [(this.year, slug) for slug, this in PAPERS.items()]
    assert years == sorted(years)


def made_kind(folder, name="new", text="", *, missing=()):
    """Write the folder of a kind of scenarios, with a line of its settings changed."""
    place = folder / name
    place.mkdir()
    for file in kind.NEEDED:
        if file not in missing:
            (place / file).write_text("")
    good = {
        "about": "about: x",
        "data": "data: y",
        "sources": "sources: [a]",
        "properties": "properties: {a: {type: number, default: 1, description: d}}",
    }
    given = {line.partition(":")[0]: line for line in text.splitlines()}
    (place / "settings.yaml").write_text("\n".join((good | given).values()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("about:", "settings.yaml: about: is missing"),
        ("data: ''", "settings.yaml: data: is missing"),
        ("sources: []", "settings.yaml: sources: is missing"),
        ("other: 1", "settings.yaml: other: unknown key. The allowed keys are about, data, releases, sources, stated, "
         "batch, columns, further, by_table, batch_defaults, smoke, definitions, properties"),
        ("sources: [b]", "settings.yaml: sources: 'b' is not a key under properties"),
        ("stated: [a, c]", "settings.yaml: stated: 'c' is not a key under properties"),
        ("batch: [d]", "settings.yaml: batch: 'd' is not a key under properties"),
        ("by_table: {e: number}", "settings.yaml: by_table: 'e' is not a key under properties"),
        ("batch_defaults: {f: 1}", "settings.yaml: batch_defaults: 'f' is not a key under properties"),
    ],
)  # fmt: skip
def test_mistakes_of_a_kind_of_scenarios(tmp_path, text, said):
    (tmp_path / "shared.yaml").write_text("properties: {}\ndefinitions: {}\n")
    made_kind(tmp_path, text=text)
    with pytest.raises(kind.KindError) as caught:
        kind.discover(tmp_path)
    assert str(caught.value) == f"scenarios/new/{said}"


def test_all_mistakes_of_all_kinds_come_at_once(tmp_path):
    (tmp_path / "shared.yaml").write_text("properties: {}\ndefinitions: {}\n")
    made_kind(tmp_path, "one", missing=("rules.py",))
    made_kind(tmp_path, "two", "releases: [m]")
    made_kind(tmp_path, "two_more", "releases: [m, n]")
    with pytest.raises(kind.KindError) as caught:
        kind.discover(tmp_path)
    assert str(caught.value).splitlines() == [
        "scenarios/one/rules.py: is missing",
        "scenarios/two_more/settings.yaml: releases: m is already listed by the kind two",
    ]


def test_a_kind_is_read_from_its_folder(tmp_path):
    """Check that columns, further and definitions need not be properties, nor level and questions."""
    (tmp_path / "shared.yaml").write_text(
        "properties: {level: {type: number, description: d}}\ndefinitions: {p: {type: string, pattern: x}}\n"
    )
    text = "columns: {x: text}\nfurther: {y: number, z: text}\nbatch: [a, level, questions]\nby_table: {a: number}"
    made_kind(
        tmp_path, text=f"{text}\nsmoke: {{s: {{a: 2}}}}\nproperties: {{a: {{$ref: '#/$defs/p', description: d}}}}"
    )
    made_kind(tmp_path, "old", "releases: [m]")
    found = kind.discover(tmp_path)
    new, old = found["new"], found["old"]
    assert list(found) == ["new", "old"]
    assert (new.name, new.about, new.data, new.sources, new.stated) == ("new", "x", "y", ("a",), ())
    assert new.batch == ("a", "level", "questions")
    assert list(new.schema["properties"]) == ["kind", "a", "level"]
    assert list(old.schema["properties"]) == ["kind", "release", "a", "level"]
    assert new.schema["properties"]["kind"]["enum"] == ["new"]
    assert new.schema["additionalProperties"] is False
    assert new.part("a") == {"type": "string", "pattern": "x", "$ref": "#/$defs/p", "description": "d"}
    assert new.part("level") == {"type": "number", "description": "d"}
    assert new.part("nothing") == {}
    assert new.column_kinds(["z", "a", "other"]) == {"z": "text", "a": "number"}
    assert new.column_kinds(["y", "x"]) == {"x": "text", "y": "number"}
    assert (new.smoke, old.smoke) == ({"s": {"a": 2}}, {})
    assert new.package == "reproduction.scenarios.new"
    assert new.modules == [
        *(f"reproduction.scenarios.{name}" for name in ("making", "figure", "batch", "new.rules", "new.answer"))
    ]


def test_files_that_a_case_reads_are_named_once():
    noisy = kind.discover()["noisy_counts"]
    assert noisy.files([{}]) == []
    assert noisy.rule("mistakes").__name__ == "mistakes"


ERRATA = {
    2: ("the sum", lambda rng, size: f"{rng.integers(1000)} of {size}"),
    3: ("the rest", lambda rng, size: "none"),
}


def test_the_evidence_of_an_erratum_is_made_with_its_stream_and_size():
    expected = f"{np.random.default_rng(5).integers(1000)} of 7"
    assert evidence.show(ERRATA, 2, rng=np.random.default_rng(5), size=7) == expected
    with pytest.raises(ValueError, match=r"^erratum must be one of 2, 3, got 1$"):
        evidence.show(ERRATA, 1, rng=np.random.default_rng(5), size=7)
    with pytest.raises(ValueError, match=r"^this paper lists no errata, got 1$"):
        evidence.show({}, 1, rng=np.random.default_rng(5), size=7)
    made = evidence.table("toy", ERRATA, rng=np.random.default_rng(5), size=7)
    assert list(made) == ["number", "erratum", "evidence", "command"]
    assert made.iloc[0].tolist() == [2, "the sum", expected, "python -m reproduction.evidence toy 2"]
    assert made["evidence"].tolist() == [expected, "none"]


def printed(monkeypatch, capsys, *words):
    monkeypatch.setattr(evidence.sys, "argv", ["evidence", *words])
    evidence.main()
    return capsys.readouterr().out


def test_the_command_of_the_errata(monkeypatch, capsys):
    monkeypatch.setattr(evidence, "of", lambda package: {"reproduction.papers.pan2023": ERRATA}.get(package, {}))
    drawn = stream(1, "pan2023", "errata", 2).integers(1000)
    text = f"2. the sum\n   {drawn} of 1000\n"
    assert printed(monkeypatch, capsys, "pan2023", "2") == text
    assert printed(monkeypatch, capsys, "pan2023") == f"{text}3. the rest\n   none\n"
    assert printed(monkeypatch, capsys, "wang2020") == "wang2020 has no known errata.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "pass a paper and numbers of its errata, e.g. balmat2018 1; papers are balmat2018, pan2023, "),
        (
            ("nobody", "1"),
            "pass a paper and numbers of its errata, e.g. balmat2018 1; papers are balmat2018, pan2023, ",
        ),
        (("pan2023", "1"), "pan2023: erratum must be one of 2, 3, got 1"),
        (("pan2023", "-2"), "pan2023: erratum must be one of 2, 3, got -2"),
        (("pan2023", "two"), "pan2023: erratum must be one of 2, 3, got two"),
        (("wang2020", "1"), "wang2020: this paper lists no errata, got 1"),
    ],
)
def test_an_unknown_erratum_is_refused_on_the_command_line(monkeypatch, capsys, words, said):
    monkeypatch.setattr(evidence, "of", lambda package: {"reproduction.papers.pan2023": ERRATA}.get(package, {}))
    with pytest.raises(SystemExit) as caught:
        printed(monkeypatch, capsys, *words)
    assert str(caught.value).startswith(said)


def test_errata_are_found_where_a_paper_has_them():
    for found in PAPERS.values():
        errata = evidence.of(found.package)
        assert bool(errata) == (found.folder / "errata.py").is_file()
        assert list(errata) == sorted(errata)


WHOLE = {
    **{slug: {} for slug in SLUGS},
    **{"shards": "auto", "scenarios": {}, "plans": {}, "releases": {}},
}


def test_every_rule_of_scenarios_plans_and_releases_has_its_row():
    toy = {"kind": "noisy_counts", "counts": {"a": 1.5, "b": 2.5}, "epsilon": 1.0}
    whole = WHOLE | {"scenarios": {"one": toy}, "plans": {"p": {}}, "releases": {"r": {}}}
    rows = {row.rule: tuple(row)[1:] for row in listing.rows(whole)}
    assert rows["scenario_one"] == ("scenarios.noisy_counts.answer", "results/scenarios/one.csv", "scenario one")
    assert rows["page_one"] == ("scenarios.page.write", "pages/one.html", "page of scenario one")
    assert rows["plan_p"] == ("scenarios.planning.made", "results/plans/p.csv", "plan p")
    assert rows["release_r"] == ("dpmultinomial._releases.room.make", "releases/r/", "release r")
    assert rows["all"][:2] == ("", "")
    assert "scenario_one_parts" not in rows
    for study in studies.discover().values():
        module = study.module.removeprefix("reproduction.")
        table = (f"{module}.table", f"results/studies/{study.name}.csv", study.title)
        assert rows[f"study_{study.name}"] == table
        assert (f"study_{study.name}_part" in rows) == bool(study.parts)


def test_the_list_of_rules_stands_in_columns(monkeypatch):
    found = [listing.Row("a", "f.g", "x.csv", "A"), listing.Row("longer", "", "", "")]
    monkeypatch.setattr(listing, "rows", lambda config: iter(found))
    assert listing.text({}) == "rule    function  file   artefact\na       f.g       x.csv  A\nlonger"


def test_a_refused_target_names_twenty_entries_of_its_section():
    def said(target, **sections):
        return artefacts.refused_targets(
            [target], rules=["all", "summary"], files=["results/a.csv"], made=lambda file: False, sections=sections
        )

    names = [f"n{k}" for k in range(21)]
    found = said("scenario_x", scenarios=names)
    assert found.startswith(f"'scenario_x' is not a target; scenarios are {', '.join(names[:20])}; add others with")
    assert "n20" not in found
    assert found.endswith("\nNothing was run.")
    assert "; scenarios are none; add others with --configfile" in said("page_x", scenarios=[])
    assert "; plans are p; add others" in said("plan_x", plans=["p"])
    assert "; releases are none; add others" in said("release_x")
    for target, near in (("summry", "summary"), ("results/b.csv", "results/a.csv")):
        assert said(target) == f"{target!r} is not a target{config.nearest(target, [near])}\nNothing was run."
        assert f"did you mean {near!r}?" in said(target)
    assert said("zzz") == "'zzz' is not a target\nNothing was run."
    assert said("all") == ""


@pytest.mark.parametrize(
    ("minutes", "replications", "shards", "pieces"),
    [
        (0.2, 100, "auto", 1),
        (0.4, 100, "auto", 1),
        (0.41, 100, "auto", 2),
        (1.6, 100, "auto", 4),
        (9.0, 100, "auto", 4),
        (0.2, 100, 7, 7),
        (0.19, 100, 7, 1),
        (0.19, 106, 7, 7),
        (0.2, 1, 7, 7),
        (0.2, 1, "auto", 1),
    ],
)
def test_parts_of_a_loop_by_hand(minutes, replications, shards, pieces):
    found = toy(artefact("a", "loop", by="summarise", loop=minutes), artefact("b", "loop", by="summarise", loop=0.01))
    (loop,) = artefacts.loops(found, {"loop": {"replications": replications}}, shards)
    assert (loop.pieces, loop.minutes) == (pieces, pytest.approx(minutes * replications / 100))
    assert loop.files == [f"results/toy/simulated/loop_{k}_of_{pieces}.csv" for k in range(1, pieces + 1)]
    assert (loop.rule, loop.function) == ("toy_loop_loop", "toy.loop.simulate")


def test_a_loop_without_replications_has_its_stated_length():
    found = toy(artefact("a", "other", by="summarise", loop=0.5))
    assert [loop.minutes for loop in artefacts.loops(found, {"other": {"replications": 9}})] == [0.5]


@pytest.mark.parametrize(
    ("quiet", "shown"),
    [((), True), (None, True), (("RULES",), True), (("PROGRESS",), False), (("RULES", "ALL"), False)],
)
def test_progress_is_shown_unless_it_is_switched_off(quiet, shown):
    kinds = None if quiet is None else [SimpleNamespace(name=name) for name in quiet]
    workflow = SimpleNamespace(output_settings=SimpleNamespace(quiet=kinds))
    assert internals.shows_progress(workflow) is shown


@pytest.mark.parametrize(
    ("main", "elsewhere", "deployed", "here"),
    [(True, False, set(), True), (False, False, set(), False), (True, True, set(), False), (True, False, {"x"}, False)],
)
def test_jobs_run_here_without_a_cluster_and_a_container(main, elsewhere, deployed, here):
    workflow = SimpleNamespace(
        is_main_process=main,
        non_local_exec_or_dryrun=elsewhere,
        deployment_settings=SimpleNamespace(deployment_method=deployed),
    )
    assert internals.runs_here(workflow) is here


def test_variables_that_jobs_inherit(monkeypatch):
    for name in (*environment.ONE_THREAD, "PYTHONSAFEPATH", "DPMULTINOMIAL_PROGRESS"):
        monkeypatch.setenv(name, "3")
    environment.one_thread()
    environment.no_progress()
    environment.safe_path()
    assert {
        **{f"{kind}_NUM_THREADS": "1" for kind in ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR")},
        "VECLIB_MAXIMUM_THREADS": "1",
    } == environment.ONE_THREAD
    assert {name: os.environ[name] for name in environment.ONE_THREAD} == environment.ONE_THREAD
    assert (os.environ["PYTHONSAFEPATH"], os.environ["DPMULTINOMIAL_PROGRESS"]) == ("1", "0")
    source = str(Path(environment.__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["a", source, "", "b"]))
    environment.own_tree_first()
    assert os.environ["PYTHONPATH"] == os.pathsep.join([str(Path(environment.__file__).parents[2]), "a", source, "b"])
