# One rule for every row of workflow/artefacts.tsv, named <paper>_<verb>_<artefact>, and one for every scenario.
#   compute    settings (and other tables) -> table            measure    the same for timings: runs alone
#   simulate   one shard of a long loop                        summarise  all shards -> table
#   draw       table -> figure

for row in MANIFEST:
    paper, verb = row["paper"], row["verb"]
    stem = Path(row["output"]).stem
    part = row["function"].rpartition(".")[0]
    labels = {"artefact": row["label"], "what": "figure" if verb == "draw" else "table"}

    if verb in ("compute", "measure", "summarise"):

        rule:
            name:
                row["rule"]
            input:
                tables=table_inputs(row),
                code=code(f"papers.{paper}.{part}"),
            output:
                csv=row["output"],
                html=report(
                    f"results/{paper}/{stem}.html",
                    caption="../report/artefact.rst",
                    category=paper,
                    labels=labels,
                ),
                provenance=f"results/{paper}/{stem}.provenance.json",
            log:
                f"results/logs/{row['rule']}.log",
            benchmark:
                f"results/benchmarks/{row['rule']}.tsv"
            conda:
                "../../envs/dpmultinomial.yaml"
            threads: QUIET if verb == "measure" else 1
            resources:
                mem_mb=int(row["mem_mb"]),
                runtime=runtime(row),
            params:
                function=f"papers.{paper}.{row['function']}",
                settings=lookup(dpath=f"{paper}/{row['settings']}", within=config),
                names=(paper, row["settings"]),
                root_seed=config["root_seed"],
                verb=verb,
                label=row["label"],
                caption=row["caption"],
            message:
                f"{paper} {row['label']}: table"
            script:
                "../scripts/compute.py"

    if verb == "draw":

        rule:
            name:
                row["rule"]
            input:
                table=f"results/{paper}/{stem}.csv",
                code=code(f"figures.{paper}", "figures.style"),
            output:
                png=report(
                    row["output"],
                    caption="../report/artefact.rst",
                    category=paper,
                    labels=labels,
                ),
                pdf=f"figures/{paper}/{stem}.pdf",
            log:
                f"results/logs/{row['rule']}.log",
            conda:
                "../../envs/dpmultinomial.yaml"
            resources:
                mem_mb=int(row["mem_mb"]),
                runtime=runtime(row),
            params:
                function=f"figures.{paper}.{row['function']}",
                caption=row["caption"],
            message:
                f"{paper} {row['label']}: figure"
            script:
                "../scripts/draw.py"


for paper, part, settings in SIMULATIONS:

    rule:
        name:
            f"{paper}_simulate_{part}"
        input:
            code=code(f"papers.{paper}.{part}"),
        output:
            csv=f"results/{paper}/simulated/{part}_{{shard}}_of_{SHARDS}.csv",
        log:
            f"results/logs/{paper}_simulate_{part}_{{shard}}_of_{SHARDS}.log",
        benchmark:
            f"results/benchmarks/{paper}_simulate_{part}_{{shard}}_of_{SHARDS}.tsv"
        conda:
            "../../envs/dpmultinomial.yaml"
        resources:
            mem_mb=2000,
            runtime=60,
        params:
            function=f"papers.{paper}.{part}.simulate",
            settings=lookup(dpath=f"{paper}/{settings}", within=config),
            names=(paper, settings),
            root_seed=config["root_seed"],
            shards=SHARDS,
        message:
            f"{paper} {settings}: shard {{wildcards.shard}} of {SHARDS}"
        script:
            "../scripts/simulate.py"


for paper in PAPERS:
    for scenario in config[paper]["scenarios"]:
        labels = {"artefact": f"scenario {scenario}"}

        rule:
            name:
                f"{paper}_scenario_{scenario}"
            input:
                tables=[],
                data=scenario_data(paper, scenario),
                code=code(f"papers.{paper}.scenario"),
            output:
                csv=f"results/{paper}/scenario_{scenario}.csv",
                html=report(
                    f"results/{paper}/scenario_{scenario}.html",
                    caption="../report/artefact.rst",
                    category="scenarios",
                    subcategory=paper,
                    labels=labels | {"what": "table"},
                ),
                provenance=f"results/{paper}/scenario_{scenario}.provenance.json",
            log:
                f"results/logs/{paper}_scenario_{scenario}.log",
            conda:
                "../../envs/dpmultinomial.yaml"
            resources:
                mem_mb=4000,
                runtime=60,
            params:
                function=f"papers.{paper}.scenario.table",
                settings=lookup(dpath=f"{paper}/scenarios/{scenario}", within=config),
                names=(paper, "scenario", scenario),
                root_seed=config["root_seed"],
                verb="compute",
                label=f"Scenario {scenario}",
                caption=f"Your scenario {scenario!r} of {paper}.",
            message:
                f"{paper} scenario {scenario}: table"
            script:
                "../scripts/compute.py"

        rule:
            name:
                f"{paper}_draw_scenario_{scenario}"
            input:
                table=f"results/{paper}/scenario_{scenario}.csv",
                code=code(f"figures.{paper}", "figures.style"),
            output:
                png=report(
                    f"figures/{paper}/scenario_{scenario}.png",
                    caption="../report/artefact.rst",
                    category="scenarios",
                    subcategory=paper,
                    labels=labels | {"what": "figure"},
                ),
                pdf=f"figures/{paper}/scenario_{scenario}.pdf",
            log:
                f"results/logs/{paper}_draw_scenario_{scenario}.log",
            conda:
                "../../envs/dpmultinomial.yaml"
            resources:
                mem_mb=2000,
                runtime=10,
            params:
                function=f"figures.{paper}.scenario",
                caption=f"Your scenario {scenario!r} of {paper}.",
            message:
                f"{paper} scenario {scenario}: figure"
            script:
                "../scripts/draw.py"
