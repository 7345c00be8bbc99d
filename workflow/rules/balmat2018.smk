# balmat2018 beyond the manifest's rules: the baseline in base R, measured where Rscript is found.


rule balmat2018_time_r:
    """R's own dmultinom loop, an R table algorithm and Table 2's products; without R one row that says so."""
    input:
        script=str(ROOT / "workflow/scripts/balmat2018_baseline.R"),
        code=code("papers.balmat2018.r_baseline"),
    output:
        csv="results/balmat2018/r_timings.csv",
        html=report(
            "results/balmat2018/r_timings.html",
            caption="../report/artefact.rst",
            category="balmat2018",
            labels={"artefact": "R timings", "what": "table"},
        ),
        provenance="results/balmat2018/r_timings.provenance.json",
    log:
        "results/logs/balmat2018_time_r.log",
    conda:
        "../../envs/dpmultinomial.yaml"
    threads: QUIET
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        rscript=RSCRIPT,
        settings=lookup(dpath="balmat2018/r_timings", within=config),
        root_seed=config["root_seed"],
        caption="Seconds measured by base R, where Rscript is found.",
    message:
        "balmat2018: baseline in R"
    script:
        "../scripts/balmat2018_time_r.py"
