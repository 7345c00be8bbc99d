# Studies that do not belong to a paper: study_<name> runs a study. No other target includes the studies.

for study in studies.discover().values():
    if study.parts:

        rule:
            name:
                f"study_{study.name}_part"
            input:
                code=code(study.module),
                listed=study.listed,
            output:
                parquet=f"results/studies/{study.name}/{{part}}.parquet",
                provenance=f"results/studies/{study.name}/{{part}}{PROVENANCE}",
            log:
                f"results/logs/study_{study.name}_{{part}}.log",
            wildcard_constraints:
                part="|".join(study.parts),
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(2000),
                runtime=runtime(study.minutes / 5),
            params:
                study=study.name,
                settings=json_text.encoded(study.settings),
                root_seed=config["root_seed"],
            message:
                f"study {study.name}: {{wildcards.part}}"
            script:
                "../scripts/study.py"

    rule:
        name:
            f"study_{study.name}"
        input:
            code=code(study.module),
            parts=[f"results/studies/{study.name}/{part}.parquet" for part in study.parts],
        output:
            csv=f"results/studies/{study.name}.csv",
            png=f"figures/studies/{study.name}.png",
            pdf=f"figures/studies/{study.name}.pdf",
            provenance=f"results/studies/{study.name}{PROVENANCE}",
        log:
            f"results/logs/study_{study.name}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(2000),
            runtime=runtime(1 if study.parts else study.minutes),
        params:
            study=study.name,
            settings=json_text.encoded(study.settings),
            root_seed=config["root_seed"],
        message:
            f"study {study.name}: {study.title}"
        script:
            "../scripts/study.py"
