"""Tests of the wheel, which contains only the library, and of the stubs of its compiled kernels."""

import doctest
import importlib.util
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("numpy", "scipy", "pandas", "dateutil", "six", "pytz", "tzdata")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    unset = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DPMULTINOMIAL_KERNELS")}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, env=unset)
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_library_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"dpmultinomial"}
    kernels = {path.stem for path in (ROOT / "src/dpmultinomial").rglob("*.pyx")}
    built = {name.split("/")[-1].split(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    assert built == kernels | {"_cyutility"}
    assert "dpmultinomial/py.typed" in names
    assert kernels <= {Path(name).stem for name in names if name.endswith(".pyi")}


@pytest.mark.slow
def test_readme_runs_where_only_the_wheel_and_its_needs_are(wheel, tmp_path):
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = Path(
        subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[0])"], text=True).strip()
    )
    zipfile.ZipFile(wheel).extractall(site)
    for name in NEEDED:
        link_package(name, site)
    examples = doctest.DocTestParser().get_examples((ROOT / "README.md").read_text(encoding="utf-8"))
    assert examples
    program = tmp_path / "readme.py"
    program.write_text(
        "import doctest, sys, dpmultinomial\n"
        "assert sys.prefix in dpmultinomial.__file__ and not set(sys.modules) & {'numpy', 'scipy', 'pandas'}\n"
        f"found = doctest.testfile({str(ROOT / 'README.md')!r}, module_relative=False)\n"
        f"assert found == (0, {len(examples)}), found\n"
        "from dpmultinomial import *\n"
        "assert 'Laplace' in dir() and 'attach' not in dir()\n"
    )
    unset = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    run = subprocess.run([python, program], cwd=tmp_path, env=unset, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def link_package(name, site):
    """Link the installed files of a package into another environment; nothing is downloaded."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return  # a dependency that this version does not have
    origin = Path(spec.origin)
    root = origin.parent if origin.name == "__init__.py" else origin
    for path in (root, *root.parent.glob(f"{name}.libs")):
        (site / path.name).symlink_to(path)


SRC = Path(__file__).parents[2] / "src"
KERNELS = sorted(SRC.rglob("*.pyx"))


def test_every_kernel_has_a_stub():
    assert not [path.name for path in KERNELS if not path.with_suffix(".pyi").is_file()]


@pytest.mark.slow
def test_stubs_agree_with_the_compiled_kernels(tmp_path):
    allowed = tmp_path / "allowed.txt"
    allowed.write_text(r".*\.__test__" "\n")  # Cython's own
    modules = [".".join(path.relative_to(SRC).with_suffix("").parts) for path in KERNELS]
    options = ["--concise", "--allowlist", str(allowed), "--ignore-unused-allowlist"]
    options += ["--mypy-config-file", str(SRC.parent / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy.stubtest", *modules, *options]
    run = subprocess.run(command, cwd=SRC.parent, env=environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def environment():
    return {**os.environ, "MYPYPATH": str(SRC), "PYTHONPATH": str(SRC)}
