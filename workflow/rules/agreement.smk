# What agrees with print: per paper, then all together; the configuration as used; the closing summary.

for paper in PAPERS:

    rule:
        name:
            f"{paper}_compare"
        input:
            published=str(ROOT / f"workflow/published/{paper}.tsv"),
            tables=[r["output"] for r in rows(paper) if r["verb"] != "draw"],
            code=code("agreement", f"papers.{paper}.agreement"),
        output:
            csv=f"results/{paper}/agreement.csv",
        log:
            f"results/logs/{paper}_compare.log",
        conda:
            "../../envs/dpmultinomial.yaml"
        resources:
            mem_mb=2000,
            runtime=10,
        params:
            paper=paper,
        message:
            f"{paper}: printed numbers beside ours"
        script:
            "../scripts/compare.py"


rule agreement:
    input:
        tables=[f"results/{paper}/agreement.csv" for paper in config["run"]],
        code=code("agreement"),
    output:
        tsv="results/agreement.tsv",
        html=report(
            "results/agreement.html",
            caption="../report/agreement.rst",
            category="agreement",
            labels={"artefact": "all printed numbers"},
        ),
    log:
        "results/logs/agreement.log",
    conda:
        "../../envs/dpmultinomial.yaml"
    message:
        "agreement with print, all papers"
    script:
        "../scripts/agreement.py"


rule effective_config:
    output:
        "results/config.effective.yaml",
    log:
        "results/logs/effective_config.log",
    conda:
        "../../envs/dpmultinomial.yaml"
    params:
        config=config,
    message:
        "the configuration as used"
    script:
        "../scripts/effective_config.py"


rule summary:
    input:
        agreement="results/agreement.tsv",
        made=[paper_files(paper) for paper in config["run"]],
        code=code("summary"),
    output:
        "results/summary.txt",
    log:
        "results/logs/summary.log",
    conda:
        "../../envs/dpmultinomial.yaml"
    params:
        papers=config["run"],
    message:
        "closing summary"
    script:
        "../scripts/summary.py"
