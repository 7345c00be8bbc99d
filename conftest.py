"""Fixtures that all tests share: folders in which the real workflow runs. One thread of linear algebra, as in jobs."""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # before NumPy is loaded

pytest_plugins = ("tests.workflow.running",)
