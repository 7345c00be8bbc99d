# Scenarios: the same rules for a single case, a grid of cases and a batch of tables. scenario_<name> makes the table,
# the facts and the figure; if a scenario is split into parts, the same rule combines them.

for scenario in SCENARIOS.values():
    pieces = scenario_shards(scenario)
    if pieces > 1:

        rule:
            name:
                f"scenario_{scenario.name}_parts"
            input:
                data=scenario_data(scenario),
                release=lambda wildcards, scenario=scenario: scenario_release(scenario),
                kernels=scenario_kernels(scenario),
            output:
                csv=scenario_part(scenario, "csv"),
                densities=scenario_part(scenario, "csv", "_densities"),
                comparison=scenario_part(scenario, "csv", "_comparison"),
                facts=scenario_part(scenario, "json"),
                provenance=scenario_part(scenario, PROVENANCE[1:]),
            log:
                f"results/logs/scenario_{scenario.name}_{{shard}}_of_{pieces}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(2000),
                runtime=240,
            params:
                scenario=scenario_text(scenario),
                root_seed=config["root_seed"],
                of=pieces,
                code=scenario_code(scenario),
            message:
                f"scenario {scenario.name}: part {{wildcards.shard}} of {pieces}"
            script:
                "../scripts/scenario.py"

    rule:
        name:
            f"scenario_{scenario.name}"
        input:
            parts=[
                scenario_part(scenario, "csv").format(shard=shard)
                for shard in range(1, pieces + 1 if pieces > 1 else 1)
            ],
            data=scenario_data(scenario),
            release=lambda wildcards, scenario=scenario: scenario_release(scenario),
            kernels=scenario_kernels(scenario),
        output:
            csv=f"results/scenarios/{scenario.name}.csv",
            densities=f"results/scenarios/{scenario.name}_densities.csv",
            comparison=f"results/scenarios/{scenario.name}_comparison.csv",
            facts=f"results/scenarios/{scenario.name}.json",
            provenance=f"results/scenarios/{scenario.name}{PROVENANCE}",
            png=report(
                f"figures/scenarios/{scenario.name}.png",
                caption=CAPTION,
                category="scenarios",
                labels={"artefact": scenario.name, "what": "figure"},
            ),
            pdf=f"figures/scenarios/{scenario.name}.pdf",
            drawn=f"figures/scenarios/{scenario.name}{PROVENANCE}",
        log:
            f"results/logs/scenario_{scenario.name}.log",
        group:
            "tables"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            scenario=scenario_text(scenario),
            root_seed=config["root_seed"],
            code=scenario_code(scenario),
            caption=f"Scenario {scenario.name}.",
        message:
            f"scenario {scenario.name}: table, facts, figure"
        script:
            "../scripts/scenario.py"

    rule:
        name:
            f"page_{scenario.name}"
        input:
            csv=f"results/scenarios/{scenario.name}.csv",
            facts=f"results/scenarios/{scenario.name}.json",
        output:
            html=f"pages/{scenario.name}.html",
        log:
            f"results/logs/page_{scenario.name}.log",
        localrule: True
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(1000),
            runtime=10,
        params:
            name=scenario.name,
            budgets=config["budgets"],
            code=dependencies.digest("reproduction.scenarios.page", f"{scenario.kind.package}.rules"),
        message:
            f"page {scenario.name}: pages/{scenario.name}.html"
        script:
            "../scripts/page.py"
