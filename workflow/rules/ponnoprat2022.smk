# ponnoprat2022 beyond the manifest's rules: the UCI sets and the experiments, one job a data set, then gathered.


rule ponnoprat2022_prepare:
    """One data set: found or downloaded, verified, integer-coded. One that cannot be had is marked, not an error."""
    input:
        code=code("papers.ponnoprat2022.datasets", "papers.ponnoprat2022.artefacts"),
    output:
        csv="results/ponnoprat2022/data/{dataset}.csv",
        schema="results/ponnoprat2022/data/{dataset}.json",
        facts="results/ponnoprat2022/facts/{dataset}.csv",
    log:
        "results/logs/ponnoprat2022_prepare_{dataset}.log",
    conda:
        "../../envs/dpmultinomial.yaml"
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        folders=[str(ROOT / folder) for folder in config["ponnoprat2022"]["data"]["folders"]],
        download=config["ponnoprat2022"]["data"]["download"],
        retries=config["ponnoprat2022"]["data"]["retries"],
        block=lambda wildcards: UCI_ORDER.index(wildcards.dataset),
    message:
        "ponnoprat2022: data set {wildcards.dataset}"
    script:
        "../scripts/ponnoprat2022_prepare.py"


for kind, function in (
    ("naive_bayes", "naive_bayes.runs"),
    ("naive_bayes_dp", "naive_bayes.approximate"),
    ("networks", "networks.runs"),
    ("networks_dp", "networks.approximate"),
):

    rule:
        name:
            f"ponnoprat2022_run_{kind}"
        input:
            csv="results/ponnoprat2022/data/{dataset}.csv",
            schema="results/ponnoprat2022/data/{dataset}.json",
            code=code(f"papers.ponnoprat2022.{function.partition('.')[0]}", "papers.ponnoprat2022.datasets"),
        output:
            csv=f"results/ponnoprat2022/{kind}/{{dataset}}.csv",
        log:
            f"results/logs/ponnoprat2022_run_{kind}_{{dataset}}.log",
        benchmark:
            f"results/benchmarks/ponnoprat2022_run_{kind}_{{dataset}}.tsv"
        conda:
            "../../envs/dpmultinomial.yaml"
        resources:
            mem_mb=2000,
            runtime=30,
        params:
            function=f"papers.ponnoprat2022.{function}",
            settings=lookup(dpath=f"ponnoprat2022/{kind}", within=config),
            root_seed=config["root_seed"],
            block=rules.ponnoprat2022_prepare.params.block,
        message:
            f"ponnoprat2022: {kind} on {{wildcards.dataset}}"
        script:
            "../scripts/ponnoprat2022_run.py"


for row in rows("ponnoprat2022"):
    if row["verb"] == "gather":
        stem = Path(row["output"]).stem

        rule:
            name:
                row["rule"]
            input:
                tables=uci_tables(row),
                code=code("papers.ponnoprat2022.artefacts"),
            output:
                csv=row["output"],
                html=report(
                    f"results/ponnoprat2022/{stem}.html",
                    caption="../report/artefact.rst",
                    category="ponnoprat2022",
                    labels={"artefact": row["label"], "what": "table"},
                ),
                provenance=f"results/ponnoprat2022/{stem}.provenance.json",
            log:
                f"results/logs/{row['rule']}.log",
            conda:
                "../../envs/dpmultinomial.yaml"
            resources:
                mem_mb=int(row["mem_mb"]),
                runtime=runtime(row),
            params:
                function=f"papers.ponnoprat2022.{row['function']}",
                settings=lookup(dpath=f"ponnoprat2022/{row['settings']}", within=config),
                names=("ponnoprat2022", row["settings"]),
                root_seed=config["root_seed"],
                verb="summarise",
                label=row["label"],
                caption=row["caption"],
            message:
                f"ponnoprat2022 {row['label']}: table"
            script:
                "../scripts/compute.py"
