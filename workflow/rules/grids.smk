# Three rules for every scenario with a grid: a block of its points, one tidy table of all, and its figure.

for paper in PAPERS.values():
    for scenario in grids(paper):
        labels = {"artefact": f"scenario {scenario}"}

        rule:
            name:
                f"{paper.slug}_grid_{scenario}"
            input:
                data=scenario_data(paper, scenario),
                release=lambda wildcards, paper=paper, scenario=scenario: paper_release(paper, scenario),
                code=code(f"{paper.package}.scenario", "reproduction.cases.grids"),
            output:
                csv=f"results/{paper.slug}/grids/{scenario}_{{shard}}_of_{SHARDS}.csv",
                provenance=f"results/{paper.slug}/grids/{scenario}_{{shard}}_of_{SHARDS}{PROVENANCE}",
            log:
                f"results/logs/{paper.slug}_grid_{scenario}_{{shard}}_of_{SHARDS}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(4000),
                runtime=240,
            params:
                function=f"{paper.slug}.scenario.table",
                settings=json_text.encoded(scenarios(paper)[scenario]),
                names=(paper.slug, "scenario", scenario),
                root_seed=config["root_seed"],
                shards=SHARDS,
            message:
                f"{paper.slug} scenario {scenario}: block {{wildcards.shard}} of {SHARDS} of its grid"
            script:
                "../scripts/grid.py"

        rule:
            name:
                f"{paper.slug}_scenario_{scenario}"
            input:
                parts=[
                    f"results/{paper.slug}/grids/{scenario}_{shard}_of_{SHARDS}.csv"
                    for shard in range(1, SHARDS + 1)
                ],
                data=scenario_data(paper, scenario),
                release=lambda wildcards, paper=paper, scenario=scenario: paper_release(paper, scenario),
                code=code(f"{paper.package}.scenario", "reproduction.cases.grids"),
            output:
                csv=f"results/{paper.slug}/scenario_{scenario}.csv",
                html=report(
                    f"results/{paper.slug}/scenario_{scenario}.html",
                    caption=CAPTION,
                    category="scenarios",
                    subcategory=paper.slug,
                    labels=labels | {"what": "table"},
                ),
                provenance=f"results/{paper.slug}/scenario_{scenario}{PROVENANCE}",
            log:
                f"results/logs/{paper.slug}_scenario_{scenario}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(1000),
                runtime=10,
            params:
                function=f"{paper.slug}.scenario.table",
                settings=json_text.encoded(scenarios(paper)[scenario]),
                root_seed=config["root_seed"],
                label=f"Scenario {scenario}",
                caption=f"Your scenario {scenario!r} of {paper.slug}.",
            message:
                f"{paper.slug} scenario {scenario}: table"
            script:
                "../scripts/gather_grid.py"

        rule:
            name:
                f"{paper.slug}_draw_scenario_{scenario}"
            input:
                table=f"results/{paper.slug}/scenario_{scenario}.csv",
                code=code("reproduction.cases.grid_figure"),
            output:
                png=report(
                    f"figures/{paper.slug}/scenario_{scenario}.png",
                    caption=CAPTION,
                    category="scenarios",
                    subcategory=paper.slug,
                    labels=labels | {"what": "figure"},
                ),
                pdf=f"figures/{paper.slug}/scenario_{scenario}.pdf",
                provenance=f"figures/{paper.slug}/scenario_{scenario}{PROVENANCE}",
            log:
                f"results/logs/{paper.slug}_draw_scenario_{scenario}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(2000),
                runtime=10,
            params:
                grid=json_text.encoded(scenarios(paper)[scenario]["grid"]),
                caption=f"Your scenario {scenario!r} of {paper.slug}.",
            message:
                f"{paper.slug} scenario {scenario}: figure"
            script:
                "../scripts/draw_grid.py"
