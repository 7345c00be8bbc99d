"""Convolutions of trees' messages: every number against sums in extended precision, every set of registers alike."""

import importlib.util
import shlex
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from Cython.Build import cythonize
from setuptools import Extension

HEADERS = Path(__file__).parents[4] / "src/dpmultinomial/_posteriors/trees"
CALLS = """
# cython: language_level=3
from libc.stdint cimport int64_t
import numpy as np

cdef extern from "convolution.h":
    int64_t c_room "trees_room"(int64_t na, int64_t nb)
    void c_convolve "trees_convolve"(const double *a, int64_t na, const double *b, int64_t nb, int64_t first,
                                     int64_t last, double *spare, double *out)
    void c_correlate "trees_correlate"(const double *a, int64_t na, int64_t low_a, const double *b, int64_t nb,
                                       int64_t low_b, int64_t low, int64_t size, double *spare, double *out)

cdef extern from *:
    '''
    typedef void (*tile)(const double *, int64_t, const double *, double *);
    static tile of_registers(int numbers) {
    #if defined(__GNUC__) && defined(__x86_64__)
        if (numbers == 8) return __builtin_cpu_supports("avx512f") ? trees_tile_eight : 0;
        if (numbers == 4) return __builtin_cpu_supports("fma") ? trees_tile_four : 0;
    #endif
        return numbers == 1 ? trees_tile_plain : 0;
    }
    '''
    ctypedef void (*tile)(const double *a, int64_t n, const double *b, double *out)
    tile of_registers(int numbers)

def convolve(const double[::1] a, const double[::1] b, int64_t first, int64_t last):
    cdef double[::1] out = np.full(last - first + 1, np.nan)
    cdef double[::1] spare = np.full(c_room(len(a), len(b)) + 8, np.nan)
    c_convolve(&a[0], len(a), &b[0], len(b), first, last, &spare[0], &out[0])
    assert np.isnan(spare[len(spare) - 8:]).all(), "more was written than was asked for"
    return np.asarray(out)

def correlate(const double[::1] a, int64_t low_a, const double[::1] b, int64_t low_b, int64_t low, int64_t size):
    cdef double[::1] out = np.full(size, np.nan)
    cdef double[::1] spare = np.full(c_room(len(a), len(b)) + 8, np.nan)
    c_correlate(&a[0], len(a), low_a, &b[0], len(b), low_b, low, size, &spare[0], &out[0])
    assert np.isnan(spare[len(spare) - 8:]).all(), "more was written than was asked for"
    return np.asarray(out)

def sums(int numbers, const double[::1] a, const double[::1] b):
    cdef double[::1] out = np.zeros(64)
    cdef tile function = of_registers(numbers)
    if function == NULL:
        return None
    function(&a[0], len(a), &b[len(a) - 1], &out[0])
    return np.asarray(out)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    source, target = folder / "calls.pyx", folder / f"calls{sysconfig.get_config_var('EXT_SUFFIX')}"
    source.write_text(CALLS)
    cythonize([Extension("calls", [str(source)])], quiet=True)
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    options = ["-O2", "-ffp-contract=off", "-fPIC", "-shared", f"-I{sysconfig.get_path('include')}", f"-I{HEADERS}"]
    subprocess.run([*compiler, *options, source.with_suffix(".c"), "-o", target, "-lm"], check=True, cwd=folder)
    spec = importlib.util.spec_from_file_location("calls", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def positive(rng, n):
    """Numbers of many sizes, none of them rounded to fewer digits than float64 has."""
    return np.exp(rng.uniform(-200, 0, n)) if rng.random() < 0.5 else rng.uniform(0.1, 1, n)


def close(found, exact, terms):
    """Sums of products of positive numbers: half a last place a rounding, one for each term."""
    return np.all(np.abs(found - exact) <= (terms + 1) * 2.0**-53 * exact)


@pytest.mark.parametrize("seed", range(60))
def test_convolutions_keep_every_digit(compiled, seed):
    rng = np.random.default_rng([2610, seed])
    na, nb = (int(10 ** rng.uniform(0, 2.7)) if seed % 2 else int(rng.integers(64, 500)) for _ in range(2))
    a, b = positive(rng, na), positive(rng, nb)
    first = int(rng.integers(-70, na + nb if seed % 4 else 10))
    last = int(rng.integers(first, na + nb + 70))
    whole = np.convolve(a.astype(np.longdouble), b.astype(np.longdouble))
    exact = np.concatenate([np.zeros(70), whole, np.zeros(141)])[first + 70 : last + 71]
    assert close(compiled.convolve(a, b, first, last), exact, min(na, nb))


@pytest.mark.parametrize("seed", range(60))
def test_correlations_keep_every_digit(compiled, seed):
    rng = np.random.default_rng([2611, seed])
    na, nb, size = (int(10 ** rng.uniform(0, 2.7)) for _ in range(3))
    low_a, low_b = (int(x) for x in rng.integers(-50, 50, 2))
    low = low_a - low_b + int(rng.integers(-nb - 60, na + 60))
    a, b = positive(rng, na), positive(rng, nb)
    exact = np.zeros(size, dtype=np.longdouble)
    for k in range(size):
        r = np.arange(nb)
        place = low + k + low_b + r - low_a
        here = (place >= 0) & (place < na)
        exact[k] = (a[place[here]].astype(np.longdouble) * b[r[here]]).sum()
    assert close(compiled.correlate(a, low_a, b, low_b, low, size), exact, min(na, nb))


@pytest.mark.parametrize("n", [1, 7, 63, 64, 65, 127, 128, 200, 640])
def test_no_digit_depends_on_the_registers(compiled, n):
    rng = np.random.default_rng([2612, n])
    a, b = positive(rng, n), positive(rng, n + 63)
    plain = compiled.sums(1, a, b)
    exact = np.convolve(a.astype(np.longdouble), b.astype(np.longdouble))[n - 1 : n + 63]
    assert close(plain, exact, n)
    for numbers in (4, 8):
        found = compiled.sums(numbers, a, b)
        assert found is None or found.tobytes() == plain.tobytes()
