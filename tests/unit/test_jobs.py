"""Which tables and figures share a process: nothing is omitted, nothing waits for minutes, no circles."""

from pathlib import Path

import pytest

from reproduction import paper
from reproduction.config import json_text
from reproduction.jobs import dependencies, jobs, parts

PAPERS = paper.discover()
SLUGS = list(PAPERS)


def artefact(name, module="tables", *, by="compute", minutes=0.01, job="", inputs=(), figure=False, loop=0.1):
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
        job=job,
    )
    about = {"caption": "", "alt": "", "minutes": 0.05, "mem_mb": 1000, "job": ""}
    drawn = paper.Figure(function=f"figures.{name}", **about) if figure else None
    return paper.Artefact(name, name, table, drawn)


def toy(*artefacts, replications=100):
    properties = {"properties": {"replications": {"default": replications}}}
    settings = {"sections": {"loop": properties}}
    return paper.Paper("toy", paper.FOLDER / "toy", "", (), 2026, "article", "", "", artefacts, settings)


def made(found, **asked):
    return {job.name: [a.name for a in job.artefacts] for job in jobs.tables(found, **asked)}


@pytest.mark.parametrize("slug", SLUGS)
def test_every_table_and_figure_belongs_to_one_job(slug):
    found = PAPERS[slug]
    tables = [a.name for job in jobs.tables(found) for a in job.artefacts]
    assert sorted(tables) == sorted(a.name for a in found.artefacts if a.table)
    figures = [a.name for job in jobs.figures(found) for a in job.artefacts]
    assert sorted(figures) == sorted(a.name for a in found.artefacts if a.figure)
    rules = [job.rule for job in (*jobs.tables(found), *jobs.figures(found))]
    assert len(set(rules)) == len(rules)


def test_a_full_run_starts_few_processes():
    made = sum(len(jobs.tables(p)) + len(jobs.figures(p)) for p in PAPERS.values())
    pieces = sum(loop.pieces for p in PAPERS.values() for loop in jobs.loops(p))
    compared, scenarios, sets, others = len(SLUGS), len(SLUGS), 9, 3
    assert made + pieces + compared + scenarios + sets + others <= 90


@pytest.mark.parametrize("slug", SLUGS)
def test_what_shares_a_job_is_short(slug):
    for job in (*jobs.tables(PAPERS[slug]), *jobs.figures(PAPERS[slug])):
        kinds = {getattr(job, "by", "draw")}
        assert len(job.artefacts) == 1 or job.minutes <= 0.6 or kinds == {"measure"}, (job.rule, job.minutes)


def test_functions_of_one_module_share_a_job_and_long_ones_have_their_own():
    found = toy(artefact("a"), artefact("b"), artefact("c", minutes=jobs.LONG), artefact("d", "others"))
    assert made(found) == {"tables": ["a", "b"], "c": ["c"], "others": ["d"]}
    found = toy(artefact("a"), artefact("d", "others", job="tables"), artefact("t", by="measure"))
    assert made(found) == {"tables": ["a", "d"], "timings": ["t"]}


def test_a_table_comes_after_those_of_its_job_that_it_reads():
    found = toy(artefact("a", inputs=["b", "published"]), artefact("b", inputs=["c"]), artefact("c", "others"))
    first, _ = jobs.tables(found)
    assert [a.name for a in first.artefacts] == ["b", "a"]
    assert first.reads == (str(found.folder / "published.tsv"), "results/toy/c.csv")  # not its own results/toy/b.csv


def test_jobs_that_wait_for_each_other_are_refused():
    found = toy(artefact("a", inputs=["d"]), artefact("b"), artefact("d", "others", inputs=["b"]))
    with pytest.raises(paper.PaperError, match=r"toy/paper\.yaml: these wait for each other: .*others"):
        jobs.tables(found)


def test_timings_share_no_job_with_other_tables():
    with pytest.raises(paper.PaperError, match="job tables: compute and measure cannot share a job; it makes a, t"):
        jobs.tables(toy(artefact("a"), artefact("t", by="measure", job="tables")))


def test_a_short_loop_is_run_by_the_first_job_that_needs_it():
    found = toy(artefact("a", "loop", by="summarise"), artefact("b", "loop", by="summarise", job="later"))
    first, second = jobs.tables(found, shards=3)
    file = "results/toy/simulated/loop_1_of_1.csv"
    assert [loop.file for loop in first.loops] == ["results/toy/simulated/loop_{shard}_of_1.csv"]
    assert (first.reads, second.loops, second.reads) == ((), (), (file,))


@pytest.mark.parametrize(
    ("minutes", "replications", "shards", "pieces"),
    [
        (0.1, 100, 3, 0),  # short
        (0.1, 300, 3, 3),  # long by what is asked for
        (0.2, 1, 5, 5),  # declared long
        (0.2, 1, "auto", 1),
        (0.2, 100, "auto", 1),
        (0.41, 100, "auto", 2),
        (0.1, 1000, "auto", 3),  # 1 minute in pieces of at most 0.4
        (9, 100, "auto", jobs.MOST_PIECES),
    ],
)
def test_a_long_loop_is_cut_by_its_length(minutes, replications, shards, pieces):
    found = toy(artefact("a", "loop", by="summarise", loop=minutes))
    (loop,) = jobs.loops(found, {"loop": {"replications": replications}}, shards)
    assert loop.pieces == pieces
    assert loop.files == [f"results/toy/simulated/loop_{i + 1}_of_{max(1, pieces)}.csv" for i in range(max(1, pieces))]


def test_figures_had_in_seconds_are_drawn_together():
    slow = artefact("slow", minutes=jobs.QUICK + 0.1, figure=True)
    after = artefact("after", "others", inputs=["slow"], figure=True)
    found = toy(artefact("a", figure=True), artefact("b", "more", figure=True), slow, after)
    drawn = {job.name: [a.name for a in job.artefacts] for job in jobs.figures(found)}
    assert drawn == {"quick": ["a", "b"], "slow": ["slow"], "others": ["after"]}


def test_a_part_says_what_makes_its_table():
    found = toy(artefact("a", inputs=["published"]), artefact("b", "loop", by="summarise"))
    section = {"a": {"{x}": "<b>"}, "loop": {"replications": 100}}
    loops = jobs.loops(found, section)
    first, second = jobs.tables(found, section)
    (text,) = parts.of_tables(found, first, section, loops)
    part = json_text.decoded(text)
    assert part["function"] == "toy.tables.a"
    assert part["settings"] == section["a"]
    assert part["names"] == ["toy", "a"]
    assert part["reads"] == {"published": str(found.folder / "published.tsv")}
    (text,) = parts.of_tables(found, second, section, loops)
    assert list(json_text.decoded(text)["reads"].values()) == ["results/toy/simulated/loop_1_of_1.csv"]


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


def test_memory_is_asked_for_again_with_more():
    root = Path(__file__).parents[2]
    rules = [*(root / "workflow/rules").glob("*.smk"), *root.glob("src/reproduction/papers/*/rules.smk")]
    lines = [line.strip() for path in rules if path.stem != "releases" for line in path.read_text().splitlines()]
    asked = [line for line in lines if line.startswith("mem_mb=")]
    assert len(asked) > 8
    assert all(line.startswith("mem_mb=memory(") for line in asked)
    assert "    return lambda wildcards, attempt: mb * attempt" in (root / "workflow/rules/jobs.smk").read_text()


def test_figures_that_read_what_is_printed_have_it_as_input():
    """ponnoprat2022 draws points read off print; what another paper's figures read is their tables alone."""
    for slug, one in PAPERS.items():
        wanted = [str(one.folder / "published.tsv")] if slug == "ponnoprat2022" else []
        for job in jobs.figures(one):
            assert jobs.printed(one, job.modules) == wanted, (slug, job.name)
