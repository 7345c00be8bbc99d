"""Tests of convolutions of messages: every number by sums in extended precision, equal for all register sizes."""

import ctypes
import shlex
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

HEADERS = Path(__file__).parents[4] / "src/dpmultinomial/_posteriors/trees"
CALLS = """
#include "convolution.h"

int64_t room(int64_t na, int64_t nb) { return trees_room(na, nb); }

void convolve(const double *a, int64_t na, const double *b, int64_t nb, int64_t first, int64_t last, double *spare,
              double *out) { trees_convolve(a, na, b, nb, first, last, spare, out); }

void correlate(const double *a, int64_t na, int64_t low_a, const double *b, int64_t nb, int64_t low_b, int64_t low,
               int64_t size, double *spare, double *out) {
    trees_correlate(a, na, low_a, b, nb, low_b, low, size, spare, out);
}

int sums(int numbers, const double *a, int64_t n, const double *b, double *out) {
#if defined(__GNUC__) && defined(__x86_64__)
    if (numbers == 8 && __builtin_cpu_supports("avx512f")) return trees_tile_eight(a, n, b, out), 1;
    if (numbers == 4 && __builtin_cpu_supports("fma")) return trees_tile_four(a, n, b, out), 1;
#endif
    if (numbers == 1) return trees_tile_plain(a, n, b, out), 1;
    return 0;
}
"""


class Compiled:
    """Functions of `convolution.h`, compiled with the options of the extensions and called with arrays."""

    def __init__(self, library):
        self.c = ctypes.CDLL(library)
        self.c.room.restype = ctypes.c_int64

    def _spare(self, a, b):
        size = self.c.room(ctypes.c_int64(len(a)), ctypes.c_int64(len(b)))
        return np.full(size + 8, np.nan)

    def _call(self, function, *arguments):
        """Return the addresses of arrays, and numbers as int64."""
        kept = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in arguments]
        function(*(ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_int64(x) for x in kept))

    def convolve(self, a, b, first, last):
        out, spare = np.full(last - first + 1, np.nan), self._spare(a, b)
        self._call(self.c.convolve, a, len(a), b, len(b), first, last, spare, out)
        assert np.isnan(spare[-8:]).all(), "more was written than was asked for"
        return out

    def correlate(self, a, low_a, b, low_b, low, size):
        out, spare = np.full(size, np.nan), self._spare(a, b)
        self._call(self.c.correlate, a, len(a), low_a, b, len(b), low_b, low, size, spare, out)
        assert np.isnan(spare[-8:]).all(), "more was written than was asked for"
        return out

    def sums(self, numbers, a, b):
        out, last = np.zeros(64), ctypes.c_void_p(b.ctypes.data + 8 * (len(a) - 1))
        first = ctypes.c_void_p(a.ctypes.data), ctypes.c_int64(len(a))
        known = self.c.sums(ctypes.c_int(numbers), *first, last, ctypes.c_void_p(out.ctypes.data))
        return out if known else None


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    source, target = folder / "calls.c", folder / "calls.so"
    source.write_text(CALLS)
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    options = ["-O2", "-ffp-contract=off", "-fPIC", "-shared", f"-I{HEADERS}"]
    subprocess.run([*compiler, *options, source, "-o", target, "-lm"], check=True, cwd=folder)
    return Compiled(target)


def positive(rng, n):
    """Return numbers of many sizes with all digits of float64."""
    return np.exp(rng.uniform(-200, 0, n)) if rng.random() < 0.5 else rng.uniform(0.1, 1, n)


def close(found, exact, terms):
    """Compute sums of products of positive numbers: half a unit in the last place per rounding, one per term."""
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
