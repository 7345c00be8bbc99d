# The compiled kernels, one extension per job: an edited .pyx (or a .pxd or .h that it includes) rebuilds its extension.


rule compile_kernel:
    input:
        sources=lambda wildcards: map(str, dependencies.kernel_sources(wildcards.kernel)),
        setup=str(ROOT / "setup.py"),
    output:
        str(EXTENSION),
    log:
        "results/logs/compile_kernel/{kernel}.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(1000),
        runtime=10,
    params:
        setup=ROOT / "setup.py",
    message:
        "compiling {wildcards.kernel}"
    shell:
        "DPMULTINOMIAL_KERNELS={wildcards.kernel} python {params.setup:q} -q build_ext --inplace --force > {log:q} 2>&1"
