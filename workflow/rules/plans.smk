# Plans: plan_<name> simulates releases to find the smallest epsilon that meets the goal of the plan, or tabulates the
# widths and costs of a configured release. Paths of confidential files are not passed to the job.

from hashlib import sha256

PLANNING = "reproduction.scenarios.planning"


def planned_release(settings):
    """Return the public settings of the release that a plan names, and the budget of its source."""
    name = settings.get("release")
    if name is None:
        return {}
    release = {key: value for key, value in config["releases"][name].items() if key != "data"}
    return {"releases": {name: release}, "budgets": config["budgets"]}


def ledger_digest(settings):
    """Return a digest of the public ledger, which determines the remaining budget."""
    ledger = Path("releases", "ledger.tsv")
    return sha256(ledger.read_bytes()).hexdigest() if "release" in settings and ledger.is_file() else ""


for plan, settings in config["plans"].items():

    rule:
        name:
            f"plan_{plan}"
        input:
            kernels=[str(path) for path in dependencies.extensions(PLANNING)],
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
            release=json_text.encoded(planned_release(settings)),
            ledger=ledger_digest(settings),
            root_seed=config["root_seed"],
            code=dependencies.digest(PLANNING),
        message:
            f"plan {plan}"
        script:
            "../scripts/plan.py"
