# Two rules for every scenario of a user: its table with its densities, and its figure.

for paper in PAPERS.values():
    for scenario in scenarios(paper):
        if scenario in grids(paper):
            continue  # grids.smk
        labels = {"artefact": f"scenario {scenario}"}

        rule:
            name:
                f"{paper.slug}_scenario_{scenario}"
            input:
                data=scenario_data(paper, scenario),
                release=lambda wildcards, paper=paper, scenario=scenario: paper_release(paper, scenario),
                code=code(f"{paper.package}.scenario", "reproduction.cases.scenario_tables"),
            output:
                csv=f"results/{paper.slug}/scenario_{scenario}.csv",
                densities=f"results/{paper.slug}/scenario_{scenario}_densities.csv",
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
            group:
                "tables"
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(4000),
                runtime=60,
            params:
                function=f"{paper.slug}.scenario.table",
                settings=json_text.encoded(scenarios(paper)[scenario]),
                names=(paper.slug, "scenario", scenario),
                root_seed=config["root_seed"],
                label=f"Scenario {scenario}",
                caption=f"Your scenario {scenario!r} of {paper.slug}.",
            message:
                f"{paper.slug} scenario {scenario}: table"
            script:
                "../scripts/paper_scenario.py"

        rule:
            name:
                f"{paper.slug}_draw_scenario_{scenario}"
            input:
                table=f"results/{paper.slug}/scenario_{scenario}.csv",
                densities=f"results/{paper.slug}/scenario_{scenario}_densities.csv",
                code=code(f"{paper.package}.figures", "reproduction.cases.scenario_tables"),
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
            group:
                "figures"
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(2000),
                runtime=10,
            params:
                function=f"{paper.slug}.figures.scenario",
                caption=f"Your scenario {scenario!r} of {paper.slug}.",
            message:
                f"{paper.slug} scenario {scenario}: figure"
            script:
                "../scripts/draw_scenario.py"
