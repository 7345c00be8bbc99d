# Plans: plan_<name> simulates releases to find the smallest epsilon that meets the goal of the plan.

for plan, settings in config["plans"].items():

    rule:
        name:
            f"plan_{plan}"
        input:
            kernels=[str(path) for path in dependencies.extensions("reproduction.scenarios.planning")],
        output:
            csv=f"results/plans/{plan}.csv",
            facts=f"results/plans/{plan}.json",
            provenance=f"results/plans/{plan}{PROVENANCE}",
            png=f"figures/plans/{plan}.png",
            pdf=f"figures/plans/{plan}.pdf",
            drawn=f"figures/plans/{plan}{PROVENANCE}",
        log:
            f"results/logs/plan_{plan}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(1000),
            runtime=60,
        params:
            name=plan,
            settings=json_text.encoded(settings),
            root_seed=config["root_seed"],
            code=dependencies.digest("reproduction.scenarios.planning"),
        message:
            f"plan {plan}: which epsilon"
        script:
            "../scripts/plan.py"
