# The UCI data sets and the experiments on them. One job prepares each data set, and one job runs each experiment on
# each data set. The tables of the paper collect the results (by: gather in paper.yaml).

from reproduction.papers.ponnoprat2022 import catalogue as uci_catalogue

UCI = PAPERS["ponnoprat2022"]
UCI_SETTINGS = config["ponnoprat2022"]
UCI_FOLDERS = [str(ROOT / folder) for folder in UCI_SETTINGS["data"]["folders"]]


rule ponnoprat2022_data:
    input:
        # if the user provides a file later, it is a new input, so the data set is prepared again
        brought=lambda wildcards: uci_catalogue.brought(wildcards.dataset, UCI_FOLDERS),
        kernels=kernels(UCI, "datasets"),
    output:
        csv="results/ponnoprat2022/data/{dataset}.csv",
        json="results/ponnoprat2022/data/{dataset}.json",
        provenance=f"results/ponnoprat2022/data/{{dataset}}{PROVENANCE}",
    log:
        "results/logs/ponnoprat2022_data_{dataset}.log",
    priority: 45  # the summary of the runs and its figures take longer than the last jobs of other papers
    group:
        "sets"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        function="ponnoprat2022.datasets.load",
        folders=UCI_SETTINGS["data"]["folders"],
        download=UCI_SETTINGS["data"]["download"],
        retries=UCI_SETTINGS["data"]["retries"],
        code=digest(UCI, "datasets"),
    message:
        "ponnoprat2022_data: {wildcards.dataset}"
    script:
        "sets_script.py"


for experiment, function in UCI.rules.items():
    if experiment != "data":

        rule:
            name:
                f"ponnoprat2022_{experiment}"
            input:
                csv="results/ponnoprat2022/data/{dataset}.csv",
                json="results/ponnoprat2022/data/{dataset}.json",
                kernels=kernels(UCI, function.partition(".")[0]),
            output:
                csv=f"results/ponnoprat2022/{experiment}/{{dataset}}.csv",
                provenance=f"results/ponnoprat2022/{experiment}/{{dataset}}{PROVENANCE}",
            log:
                f"results/logs/ponnoprat2022_{experiment}_{{dataset}}.log",
            priority: 40
            group:
                "sets"
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(2000),
                runtime=30,
            params:
                function=f"ponnoprat2022.{function}",
                settings=json_text.encoded(UCI_SETTINGS.get(experiment, {})),
                root_seed=config["root_seed"],
                code=digest(UCI, function.partition(".")[0]),
            message:
                f"ponnoprat2022_{experiment}: {{wildcards.dataset}}"
            script:
                "sets_script.py"
