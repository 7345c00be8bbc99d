# Studies that belong to no paper: study_<name> makes one; no other target asks for them.

for study in studies.discover().values():

    rule:
        name:
            f"study_{study.name}"
        input:
            code=code(study.module),
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
            runtime=runtime(study.minutes),
        params:
            study=study.name,
            settings=json_text.encoded(study.settings),
            root_seed=config["root_seed"],
        message:
            f"study {study.name}: {study.title}"
        script:
            "../scripts/study.py"
