# pan2023 beyond the manifest's rules: the swapped file of every scenario that names microdata.

SWAPPED = PAPERS["pan2023"]

for scenario in scenarios(SWAPPED):
    if not scenario_data(SWAPPED, scenario):
        continue

    rule:
        name:
            f"pan2023_swap_{scenario}"
        input:
            data=scenario_data(SWAPPED, scenario),
            code=code(f"{SWAPPED.package}.scenario"),
        output:
            csv=f"results/pan2023/swapped_{scenario}.csv",
        log:
            f"results/logs/pan2023_swap_{scenario}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            settings=lookup(dpath=f"pan2023/scenarios/{scenario}", within=config),
            names=("pan2023", "scenario", scenario),  # the stream of the scenario's report, hence the same swap
            root_seed=config["root_seed"],
        message:
            f"pan2023 scenario {scenario}: swapped microdata"
        script:
            "swap_script.py"
