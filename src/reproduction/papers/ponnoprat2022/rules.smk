# The UCI sets and the experiments, one job a data set, then gathered; no other set re-runs when one is left out.

from reproduction.papers.ponnoprat2022 import folders as uci_folders

UCI = PAPERS["ponnoprat2022"]
UCI_SETTINGS = config["ponnoprat2022"]
UCI_FOLDERS = [str(ROOT / folder) for folder in UCI_SETTINGS["data"]["folders"]]
UCI_SETS = {
    "datasets": UCI_SETTINGS["datasets"],
    "bundled": UCI_SETTINGS["bundled"],
    "networked": UCI_SETTINGS["network_datasets"],
}


rule ponnoprat2022_prepare:
    """One data set: found or downloaded, verified, integer-coded. One that cannot be had is marked, not an error.

    A file that the user brings later is a new input, so the set is prepared again.
    """
    input:
        brought=lambda wildcards: uci_folders.brought(wildcards.dataset, UCI_FOLDERS),
        code=code(f"{UCI.package}.datasets", f"{UCI.package}.artefacts"),
    output:
        csv="results/ponnoprat2022/data/{dataset}.csv",
        schema="results/ponnoprat2022/data/{dataset}.json",
        facts="results/ponnoprat2022/facts/{dataset}.csv",
    log:
        "results/logs/ponnoprat2022_prepare_{dataset}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        folders=UCI_FOLDERS,
        download=UCI_SETTINGS["data"]["download"],
        retries=UCI_SETTINGS["data"]["retries"],
    message:
        "ponnoprat2022: data set {wildcards.dataset}"
    script:
        "prepare_script.py"


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
            code=code(f"{UCI.package}.{function.partition('.')[0]}", f"{UCI.package}.datasets"),
        output:
            csv=f"results/ponnoprat2022/{kind}/{{dataset}}.csv",
        log:
            f"results/logs/ponnoprat2022_run_{kind}_{{dataset}}.log",
        benchmark:
            f"results/benchmarks/ponnoprat2022_run_{kind}_{{dataset}}.tsv"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=2000,
            runtime=30,
        params:
            function=f"ponnoprat2022.{function}",
            settings=lookup(dpath=f"ponnoprat2022/{kind}", within=config),
            root_seed=config["root_seed"],
        message:
            f"ponnoprat2022: {kind} on {{wildcards.dataset}}"
        script:
            "run_script.py"


for artefact in UCI.artefacts:
    if artefact.table and artefact.table.by == "gather":

        rule:
            name:
                f"ponnoprat2022_gather_{artefact.name}"
            input:
                tables=uci_folders.tables(artefact.table.inputs[0], UCI_SETS),
                files=[],
                code=code(f"{UCI.package}.{artefact.table.module}"),
            output:
                csv=f"results/ponnoprat2022/{artefact.name}.csv",
                html=report(
                    f"results/ponnoprat2022/{artefact.name}.html",
                    caption=CAPTION,
                    category="ponnoprat2022",
                    labels={"artefact": artefact.label, "what": "table"},
                ),
                provenance=f"results/ponnoprat2022/{artefact.name}.provenance.json",
            log:
                f"results/logs/ponnoprat2022_gather_{artefact.name}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=artefact.table.mem_mb,
                runtime=runtime(artefact.table.minutes),
            params:
                function=f"ponnoprat2022.{artefact.table.function}",
                settings=sealing.sealed(UCI_SETTINGS[artefact.table.settings]),
                programs={},
                files={},
                names=("ponnoprat2022", artefact.table.settings),
                root_seed=config["root_seed"],
                by="gather",
                label=artefact.label,
                caption=artefact.table.caption,
            message:
                f"ponnoprat2022 {artefact.label}: table"
            script:
                str(SCRIPTS / "compute.py")
