# Report of a run: results/report/index.html and further pages, from all results that exist.


rule report:
    """Regenerate all pages from existing results; `make report` makes missing results first."""
    input:
        made=there_is(),
        config="results/config.effective.yaml",
        code=code("reproduction.report"),
        pages=[str(path) for path in sorted((ROOT / "src/reproduction/report").glob("*/*.*"))],
        texts=[str(path) for paper in PAPERS.values() for path in sorted(paper.folder.glob("*.md"))],
    output:
        directory("results/report"),
    log:
        "results/logs/report.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(2000),
        runtime=10,
    message:
        "report: results/report/index.html"
    script:
        "../scripts/report.py"
