"""Benchmark of noisy counts without a total: file to file, questions, fitted and true priors, a general sampler.

``PYTHONPATH=src python tests/bench/published_counts.py`` writes the table of the documentation beside this file.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "statistical")]

from measuring import Row, alone, limited  # noqa: E402

from dpmultinomial._mechanisms.law_settings import law_of  # noqa: E402
from dpmultinomial._posteriors.published import counts, counts_with_total  # noqa: E402
from dpmultinomial._posteriors.published.priors import prior_of  # noqa: E402
from dpmultinomial._seeding import stream  # noqa: E402

SIZES = (14, 1000, 100_000)
SIGMA, MEAN, SHAPE = 10.0, 40.0, 0.5
PYMC = (  # kind, what it is, size -> chains and draws after as many for tuning
    ("whole", "integers (Metropolis)", {14: (4, 1000), 1000: (1, 1000)}),
    ("real", "real numbers (NUTS)", {14: (4, 1000), 1000: (4, 1000)}),
)
CHAINS, WARM_UP, KEPT, STEP = 4, 500, 2500, 25
FILE_TO_FILE = """
import os
from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import batch, making
os.chdir({folder!r})
written = {{"kind": "noisy_counts", "file": {source!r}, "noise": "discrete_gaussian"}}
# timed
scenario = scenario_settings.single("mine", written, kind.discover())
making.part(scenario, making.files("mine"), root_seed=1)
"""
PAGE = FILE_TO_FILE.replace("batch, making", "batch, making, page") + 'page.write(making.files("mine"), "page.html")\n'
IN_PYTHON = """
import pandas as pd
import dpmultinomial as dpm
frame = pd.read_csv({file!r})
noise = dpm.DiscreteGaussian(sigma=frame["variance"].to_numpy() ** 0.5)
release = dpm.Release(frame["value"].tolist(), mechanism=noise)
# timed
dpm.posterior(release).summary()
"""


def benchmarks():
    with tempfile.TemporaryDirectory() as folder:
        for size, limit in ((100_000, 15.0), (1_000_000, 150.0)):
            for tables in (False, True):
                what = f"{size:,} counts{f' in {size // 100:,} tables' if tables else ''}, one fitted prior"
                seconds, mib = _file_to_file(Path(folder), size, tables)
                yield Row(f"{what}, file to file", seconds, "limit", limit)
                if size == 100_000:
                    yield Row(f"{what}, peak memory", mib, "limit", 500.0, unit="MiB")
        yield from _page_and_summary(Path(folder))
    yield from _questions()
    yield limited("100 counts and a noisy total: counts, shares, rates", lambda: tied_counts(100).summary(), 5.0)
    for size in SIZES[:2]:
        ours, theirs = exactly(size), by_random_walk(size)
        yield Row(f"{size:,} counts exactly", ours[0], "random walk of 4 x 2,500 draws", theirs[0], 10.0)
    yield Row("RMSE of fitted priors, worst of 15 laws", worst_ratio(), "RMSE of the true law, at most", 1.02, unit="x")


def tied_counts(size):
    """Return a posterior of counts with a noisy total."""
    noise = law_of({"law": "discrete_gaussian", "sigma": SIGMA})
    released = _released(size)
    return counts_with_total.posterior(released, noise=noise, total={"released": int(released.sum()), "noise": noise})


def _file_to_file(folder, size, tables):
    _write(folder, size, tables)
    return alone(FILE_TO_FILE.format(folder=str(folder), source="counts.csv"))


def _write(folder, size, tables=False):
    """Write a file of released counts, each with its own variance of the noise."""
    rng = stream(1, "bench", "published", size)
    variance = np.exp(rng.uniform(np.log(1), np.log(100), size)).round(3)
    truth = _truth(size, rng)
    released = law_of({"law": "discrete_gaussian", "variance": variance}).sample(truth, rng=rng)
    frame = pd.DataFrame({"name": [f"cell {i}" for i in range(size)], "value": released, "variance": variance})
    if tables:
        frame.insert(0, "table", [f"table {i // 100}" for i in range(size)])
    frame.to_csv(folder / "counts.csv", index=False)


def _page_and_summary(folder):
    """Measure a page with 3,143 counts, from the file on, and a summary of 100,000 counts in Python."""
    _write(folder, 3143)
    seconds, _ = alone(PAGE.format(folder=str(folder), source="counts.csv"))
    yield Row("a page of 3,143 counts, file to file", seconds, "limit", 3.0)
    size = (folder / "page.html").stat().st_size / 1000
    yield Row("a page of 3,143 counts, size", size, "limit", 400.0, unit="kB")
    _write(folder, 100_000)
    seconds, _ = alone(IN_PYTHON.format(file=str(folder / "counts.csv")))
    yield Row("100,000 counts: posterior and summary in Python", seconds, "limit", 3.0)


def _questions():
    """Measure a file with all counties: intervals, a ranking, a probability; ten thousand differences."""
    rng = stream(1, "bench", "counties")
    released = law_of({"law": "discrete_gaussian", "sigma": SIGMA}).sample(_truth(3143, rng), rng=rng)
    names = {f"c{i}": int(y) for i, y in enumerate(released)}
    start = process_time()
    found = counts.posterior(names, noise={"law": "discrete_gaussian", "sigma": SIGMA})
    found.summary()
    found.ask({"largest": {"rank": {"of": "all", "top": 5}}})
    found.probability("c1 > c2")
    yield Row("3,143 counts: intervals, ranking, one probability", process_time() - start, "limit", 10.0)
    asked = {str(i): {"difference": [f"c{i % 3143}", f"c{(7 * i + 1) % 3143}"]} for i in range(10_000)}
    start = process_time()
    found.ask(asked)
    yield Row("10,000 differences", process_time() - start, "limit", 5.0)
    found = tied_counts(3143)
    asked = {str(i): {"difference": [str(i % 3143 + 1), str((7 * i + 1) % 3143 + 1)]} for i in range(10_000)}
    start = process_time()
    found.ask(asked)
    yield Row("10,000 differences of 3,143 counts with a noisy total", process_time() - start, "limit", 10.0)


def worst_ratio():
    """Return the largest ratio of root mean square errors, fitted prior over true prior: five priors, three noises."""
    from test_published_counts import NOISES, TRUTHS, K, truth_of

    ratios = []
    for name in TRUTHS:
        for words in NOISES:
            law, prior, rng = law_of(words), truth_of(name), stream(2, "bench", "fitted", name, str(words))
            p = np.exp(prior.log_weights(K))
            truth = rng.choice(K, size=10_000, p=p / p.sum())
            released = law.sample(truth, rng=rng)
            found = [counts.exact(released, noise=law, prior=x).own.mean for x in ("fitted", prior)]
            errors = [np.sqrt(np.mean((mean - truth) ** 2)) for mean in found]
            ratios.append(errors[0] / errors[1])
    return float(max(ratios))


def _truth(size, rng):
    return rng.negative_binomial(SHAPE, SHAPE / (SHAPE + MEAN), size)


def _released(size):
    rng = stream(1, "bench", "sampler", size)
    return law_of({"law": "discrete_gaussian", "sigma": SIGMA}).sample(_truth(size, rng), rng=rng)


def exactly(size):
    """Return CPU seconds, and the error of the means in posterior sds, which is due to truncated windows."""
    released = _released(size)
    start = process_time()
    found = counts.exact(released, noise={"law": "discrete_gaussian", "sigma": SIGMA}, prior="1/(1+n)").own
    return process_time() - start, float(np.nanmax(found.error)), found


def by_random_walk(size):
    """Return CPU seconds and the root mean square error of the means in posterior sds, for a general sampler.

    This is the usual model in a probabilistic language, here with NumPy over all counts and chains at once: each count
    has prior 1/(1 + n) on integers and normal noise, and moves by at most `STEP` in either direction
    (Metropolis).
    """
    released, rng = _released(size), stream(1, "bench", "walk", size)
    *_, exact = exactly(size)
    start = process_time()
    n = np.maximum(np.broadcast_to(released, (CHAINS, size)), 0).astype(np.int64)

    def log_density(x):
        return np.where(x >= 0, -np.log1p(np.maximum(x, 0)) - ((released - x) / SIGMA) ** 2 / 2, -np.inf)

    now, total = log_density(n), np.zeros(size)
    for i in range(WARM_UP + KEPT):
        step = rng.integers(1, STEP + 1, n.shape) * (2 * rng.integers(0, 2, n.shape) - 1)
        new = log_density(n + step)
        taken = np.log(rng.random(n.shape)) < new - now
        n, now = np.where(taken, n + step, n), np.where(taken, new, now)
        if i >= WARM_UP:
            total += n.mean(axis=0)
    seconds = process_time() - start
    return seconds, float(np.sqrt(np.mean(((total / KEPT - exact.mean) / exact.sd) ** 2)))


def by_pymc(size, kind, chains, draws):
    """Return CPU seconds and the error of the means, as `by_random_walk`, for PyMC in the interpreter PYMC_PYTHON."""
    *_, exact = exactly(size)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "released.npy", _released(size))
        script = [os.environ["PYMC_PYTHON"], HERE / "general_sampler_script.py", folder, kind, chains, draws]
        run = subprocess.run([str(word) for word in script], check=True, capture_output=True, text=True)
        means = np.load(Path(folder) / "means.npy")
    seconds = float(run.stdout.split()[-1])
    return seconds, float(np.sqrt(np.mean(((means - exact.mean) / exact.sd) ** 2)))


def table():
    """Return the table of the documentation; without PYMC_PYTHON, the rows of PyMC are missing."""
    prior_of("flat")  # imports counted beforehand
    rows = []

    def add(method, size, seconds, error):
        rows.append((method, f"{size:,}", f"{seconds:.3g}", error))

    for size in SIZES:
        ours = exactly(size)
        add("exact sums over windows", size, ours[0], f"below {max(ours[1], 1e-15):.0e}")
        seconds, error = by_random_walk(size)
        add("Metropolis in NumPy, 4 chains of 2,500 draws", size, seconds, f"{error:.2g}")
        for kind, label, sizes in PYMC if "PYMC_PYTHON" in os.environ else ():
            if size in sizes:
                chains, draws = sizes[size]
                seconds, error = by_pymc(size, kind, chains, draws)
                run = f"{chains} chain{'s' * (chains > 1)} of {draws:,} draws"
                add(f"PyMC, {label}, {run}", size, seconds, f"{error:.2g}")
    return pd.DataFrame(rows, columns=["method", "counts", "CPU seconds", "error of a mean (in posterior sd)"])


if __name__ == "__main__":
    table().to_csv(HERE / "published_counts.tsv", sep="\t", index=False)
