# Comparison with the printed numbers, for each paper and for all papers; the configuration as used; the summary at the
# end of a run.

for paper in PAPERS.values():

    rule:
        name:
            f"{paper.slug}_compare"
        input:
            published=str(paper.folder / "published.tsv"),
            tables=paper.tables(),
            kernels=kernels(paper, "agreement"),
        output:
            csv=f"results/{paper.slug}/agreement.csv",
            tables=f"results/{paper.slug}/agreement_tables.csv",
            provenance=f"results/{paper.slug}/agreement{PROVENANCE}",
        log:
            f"results/logs/{paper.slug}_compare.log",
        localrule: True
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(2000),
            runtime=10,
        params:
            paper=paper.slug,
            code=dependencies.digest("reproduction.verdicts.agreement", f"{paper.package}.agreement"),
        message:
            f"{paper.slug}: compare printed numbers with ours"
        script:
            "../scripts/compare.py"


rule agreement:
    input:
        tables=[f"results/{slug}/agreement.csv" for slug in config["run"]],
    output:
        tsv=report(
            "results/agreement.tsv",
            caption=str(ROOT / "workflow/report/agreement.rst"),
            category="agreement",
            labels={"artefact": "all printed numbers"},
        ),
        provenance=f"results/agreement{PROVENANCE}",
    log:
        "results/logs/agreement.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=dependencies.digest("reproduction.verdicts.agreement"),
    message:
        "agreement with print, all papers"
    script:
        "../scripts/agreement.py"


rule effective_config:
    output:
        yaml="results/config.effective.yaml",
        provenance=f"results/config.effective{PROVENANCE}",
    log:
        "results/logs/effective_config.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        config=json_text.encoded(config),
    message:
        "the configuration as used"
    script:
        "../scripts/effective_config.py"


rule summary:
    input:
        agreement="results/agreement.tsv",
        made=[paper_files(slug) for slug in config["run"]],
        scenarios=[path for name in SCENARIOS for path in scenario_files(name)],
    output:
        txt="results/summary.txt",
        provenance=f"results/summary{PROVENANCE}",
    log:
        "results/logs/summary.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        papers=config["run"],
        scenarios=list(SCENARIOS),
        code=dependencies.digest("reproduction.verdicts.summary"),
    message:
        "closing summary"
    script:
        "../scripts/summary.py"
