"""PyMC model of counts with normal noise and prior 1/(1 + n), as integers or as real numbers.

Run by `published_counts.py` in an interpreter that has PyMC: folder with released.npy, ``whole`` or ``real``, chains,
draws; writes means.npy and prints CPU seconds of the sampling.
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np
import pymc

folder, kind, chains, draws = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
released = np.load(folder / "released.npy").astype(float)
with pymc.Model():
    if kind == "whole":
        n = pymc.DiscreteUniform("n", 0, int(released.max()) + 100, shape=len(released))
    else:
        n = pymc.HalfFlat("n", shape=len(released), initval=np.maximum(released, 1.0))
    pymc.Potential("prior", -pymc.math.log(1 + n).sum())
    pymc.Normal("released", n, 10.0, observed=released)
    start = process_time()
    found = pymc.sample(
        draws,
        tune=draws,
        chains=chains,
        cores=1,
        random_seed=1,
        progressbar=False,
        compute_convergence_checks=False,
    )
np.save(folder / "means.npy", found.posterior["n"].mean(("chain", "draw")).to_numpy())
print(process_time() - start)
