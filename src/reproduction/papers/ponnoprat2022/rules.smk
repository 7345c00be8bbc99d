# The UCI sets and the experiments on them, one job a data set, then gathered by one job; no other set re-runs when one
# is omitted. The sets that scikit-learn carries are small and share a job.

from reproduction.papers.ponnoprat2022 import folders as uci_folders

UCI = PAPERS["ponnoprat2022"]
UCI_SETTINGS = config["ponnoprat2022"]
UCI_FOLDERS = [str(ROOT / folder) for folder in UCI_SETTINGS["data"]["folders"]]
UCI_SETS = {
    "datasets": UCI_SETTINGS["datasets"],
    "bundled": UCI_SETTINGS["bundled"],
    "networked": UCI_SETTINGS["network_datasets"],
}

for group, sets in uci_folders.shared(UCI_SETS).items():
    runs = uci_folders.experiments(sets, UCI_SETS)

    rule:
        name:
            f"ponnoprat2022_sets_{group}"
        input:
            # a file that the user brings later is a new input, so the set is prepared again
            brought=[file for name in sets for file in uci_folders.brought(name, UCI_FOLDERS)],
            kernels=kernels(UCI, uci_folders.MODULES),
        output:
            data=[f"results/ponnoprat2022/data/{name}.{end}" for name in sets for end in ("csv", "json")],
            facts=[f"results/ponnoprat2022/facts/{name}.csv" for name in sets],
            runs=[f"results/ponnoprat2022/{kind}/{name}.csv" for kind, name in runs],
            provenance=provenances(
                f"results/ponnoprat2022/{kind}/{name}.csv"
                for kind, name in [*((kind, name) for kind in ("data", "facts") for name in sets), *runs]
            ),
        log:
            f"results/logs/ponnoprat2022_sets_{group}.log",
        priority: 45  # their summary and its figures take longer than other ends
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            sets=sets,
            runs=[[kind, uci_folders.FUNCTIONS[kind], name] for kind, name in runs],
            settings={kind: UCI_SETTINGS[kind] for kind, _ in runs},
            folders=UCI_FOLDERS,
            download=UCI_SETTINGS["data"]["download"],
            retries=UCI_SETTINGS["data"]["retries"],
            root_seed=config["root_seed"],
            code=digest(UCI, uci_folders.MODULES),
        message:
            f"ponnoprat2022: experiments on {', '.join(sets)}"
        script:
            "sets_script.py"


for job in TABLES["ponnoprat2022"]:
    if job.by == "gather":

        rule:
            name:
                job.rule
            input:
                tables=sorted(
                    {file for a in job.artefacts for file in uci_folders.tables(a.table.inputs[0], UCI_SETS)}
                ),
                kernels=kernels(UCI, job.modules),
            output:
                csv=[f"results/ponnoprat2022/{a.name}.csv" for a in job.artefacts],
                html=[
                    reported(UCI, a, f"results/ponnoprat2022/{a.name}.html", "table") for a in job.artefacts
                ],
                provenance=[f"results/ponnoprat2022/{a.name}{PROVENANCE}" for a in job.artefacts],
            log:
                f"results/logs/{job.rule}.log",
            localrule: True
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(job.mem_mb),
                runtime=runtime(job.minutes),
            params:
                parts=parts.of_tables(
                    UCI, job, UCI_SETTINGS, gathered=lambda inputs: uci_folders.tables(inputs[0], UCI_SETS)
                ),
                loops=[],
                captions=parts.captions(job),
                root_seed=config["root_seed"],
                code=digest(UCI, job.modules),
            message:
                f"ponnoprat2022: {some(job.artefacts)}"
            script:
                str(SCRIPTS / "make.py")
