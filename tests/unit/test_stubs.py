"""Tests that every compiled kernel has a stub with its actual arguments and results."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
