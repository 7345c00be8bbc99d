"""The compiled kernels: every .pyx in src/dpmultinomial/kernels is one extension of the same shape.

DPMULTINOMIAL_NATIVE=1  adds -march=native (faster here, last digits may differ, not portable; not for MSVC).
DPMULTINOMIAL_DEBUG=1   checks every index (slow); the unit tests are run once against such a build.
DPMULTINOMIAL_KERNELS   builds only these kernels (names separated by blanks); a workflow rule uses it.
"""

import os
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
os.chdir(HERE)
SOURCES = Path("src/dpmultinomial/kernels")
native = os.environ.get("DPMULTINOMIAL_NATIVE") == "1"
debug = os.environ.get("DPMULTINOMIAL_DEBUG") == "1"
wanted = os.environ.get("DPMULTINOMIAL_KERNELS", "").split() or sorted(p.stem for p in SOURCES.glob("*.pyx"))

extensions = [
    Extension(
        f"dpmultinomial.kernels.{name}",
        [str(SOURCES / f"{name}.pyx")],
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
    """Flags by compiler: products and sums are never contracted, so that results have equal bits everywhere."""

    def build_extensions(self):
        microsoft = self.compiler.compiler_type == "msvc"  # /fp:precise, its default, contracts nothing by itself
        flags = ["/O2"] if microsoft else ["-O3", "-g0", "-ffp-contract=off", *(["-march=native"] if native else [])]
        for extension in self.extensions:
            extension.extra_compile_args = flags
            extension.libraries = ["npyrandom"] if microsoft else ["npyrandom", "m"]
        super().build_extensions()


setup(
    cmdclass={"build_ext": Build},
    ext_modules=cythonize(extensions, build_dir="build", compiler_directives=directives, force=debug),
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
