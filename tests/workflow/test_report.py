"""Tests of the rule of the report: from scratch, and again only after changes; that of a whole run is in test_smoke."""

SURVEY = {"source": "survey", "data": "confidential/county.csv", "mechanism": "discrete_laplace", "epsilon": 0.001}


def test_a_report_of_nothing_needs_no_paper_and_a_release_is_shown_from_its_public_files(folder):
    alone = folder(releases={"county": SURVEY}, budgets={"survey": {"epsilon": 2.0}})
    (alone.path / "confidential").mkdir(mode=0o700)
    (alone.path / "confidential/county.csv").write_text("category,count\nnorth,812404\nsouth,77\n")
    assert alone.planned("report") == {"effective_config": 1, "report": 1}
    alone.snakemake("report")
    page = alone.path / "results/report/release-county.html"
    assert "snakemake --cores 1 release_county" in page.read_text()
    alone.snakemake("release_county")
    assert alone.planned("report") == {"report": 1}  # all public files are inputs
    alone.snakemake("report")
    text = page.read_text()
    assert "discrete Laplace" in text
    assert "812404" not in text  # noise of scale 2,000 is 0 once in 4,000 runs
