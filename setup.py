"""Build the compiled kernels. Every .pyx file below src is an extension module, which is placed next to the modules
that use it.

C code is in .h files next to the .pyx file that includes it. The function cythonize finds these files and adds them to
the dependencies.

The shared utility code of Cython (mostly for memoryviews) is compiled once, as dpmultinomial._cyutility, which all
kernels import.

DPMULTINOMIAL_NATIVE=1  adds -march=native: faster on this machine, not portable, last digits may differ; not for MSVC.
DPMULTINOMIAL_DEBUG=1   checks every index (slow); the unit tests are run once with such a build.
DPMULTINOMIAL_KERNELS   builds only these (paths below src without suffix, separated by blanks); for a workflow rule.
"""

import os
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
os.chdir(HERE)
SOURCES = Path("src")
SHARED = "dpmultinomial/_cyutility"
CORES = os.cpu_count() or 1
native = os.environ.get("DPMULTINOMIAL_NATIVE") == "1"
debug = os.environ.get("DPMULTINOMIAL_DEBUG") == "1"
found = [SHARED, *sorted(p.relative_to(SOURCES).with_suffix("").as_posix() for p in SOURCES.rglob("*.pyx"))]
wanted = os.environ.get("DPMULTINOMIAL_KERNELS", "").split() or found

extensions = [
    Extension(
        name.replace("/", "."),
        [str(SOURCES / f"{name}{'.c' if name == SHARED else '.pyx'}")],
        include_dirs=[np.get_include()],
        library_dirs=[str(Path(np.get_include(), "..", "..", "random", "lib").resolve())],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
    )
    for name in wanted
]
directives = {
    "language_level": 3,
    "boundscheck": debug,
    "initializedcheck": debug,
    "wraparound": False,
    "cdivision": True,
    "embedsignature": True,
}


class Build(build_ext):
    """Builder that uses all cores. The compiler must not contract products and sums to fused multiply-add, so that
    results are identical on all machines.
    """

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or CORES  # `pip install` does not pass this option

    def build_extensions(self):
        if "bdist_wheel" in self.distribution.commands:  # a wheel contains only the library
            self.extensions = [e for e in self.extensions if e.name.startswith("dpmultinomial.")]
        # the default, /fp:precise, does not contract products and sums
        microsoft = self.compiler.compiler_type == "msvc"
        gnu = ["-O3", "-g0", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"]
        gnu += ["-march=native"] if native else []
        flags = ["/O2"] if microsoft else gnu
        for extension in self.extensions:
            extension.extra_compile_args = flags
            extension.libraries = ["npyrandom"] if microsoft else ["npyrandom", "m"]
        super().build_extensions()


setup(
    cmdclass={"build_ext": Build},
    ext_modules=cythonize(
        extensions,
        build_dir="build",
        nthreads=CORES,
        compiler_directives=directives,
        force=debug,
        shared_utility_qualified_name=SHARED.replace("/", "."),
    ),
)
