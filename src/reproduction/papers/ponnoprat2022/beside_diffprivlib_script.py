"""Compute the test errors of Gaussian naive Bayes in diffprivlib. ``bench.py`` runs this script with a Python that has
diffprivlib.

The arguments are a folder of <set>.npz files (X, y, bounds, train, test), the number of repeats, and the budgets. The
script prints JSON: a mapping from each set to one list [test errors, smallest CPU seconds of a fit and score] per
budget.
"""

import json
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from diffprivlib.models import GaussianNB

warnings.simplefilter("ignore")
found = {}
repeats, budgets = int(sys.argv[2]), [float(word) for word in sys.argv[3:]]
for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    data = np.load(path)
    X, y, train, test = (data[name] for name in ("X", "y", "train", "test"))
    found[path.stem] = []
    for epsilon in budgets:
        errors, seconds = [], []
        for seed in range(repeats):
            start = process_time()
            model = GaussianNB(epsilon=epsilon, bounds=tuple(data["bounds"]), random_state=seed)
            model.fit(X[train], y[train])
            errors.append(float(1 - model.score(X[test], y[test])))
            seconds.append(process_time() - start)
        found[path.stem].append([errors, min(seconds)])
print(json.dumps(found))
