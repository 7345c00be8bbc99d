"""Tests of convolutions of messages: every number by sums in extended precision, equal for all register sizes.

Joint distributions of two counts, error bounds, and messages on trees that cannot be solved are also tested.
"""

import ctypes
import shlex
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaln, gammaln, logsumexp

import dpmultinomial as dpm
from dpmultinomial._posteriors.trees import _solver, _tree_law
from dpmultinomial._posteriors.trees.measurements import Measurements, bounded
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._results.convolutions import Unlisted
from dpmultinomial._seeding import stream

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


def test_the_largest_joint_distribution():
    """Check 40 million entries."""
    _tree_law.sized_as(8000, 5000)
    with pytest.raises(Unlisted, match=r"the two counts has too many entries \(8000 x 5001\): use draws instead"):
        _tree_law.sized_as(8000, 5001)


@pytest.mark.parametrize(("low", "size"), [(-9, 4), (-3, 8), (0, 5), (2, 1), (4, 9), (30, 3)])
def test_cross_correlations_of_windows_are_sums(low, size):
    rng = stream(1, "windows")
    a, b = _tree_law._Window(3, rng.random(6)), _tree_law._Window(-2, rng.random(4))

    def value(window, n):
        return window.p[n - window.low] if 0 <= n - window.low < len(window.p) else 0.0

    expected = [sum(value(a, low + k + r) * value(b, r) for r in range(-2, 2)) for k in range(size)]
    assert _tree_law._correlated(a, b, low, size) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_sums_and_differences_of_two_counts_by_hand():
    joint = _tree_law.NodePair(3, 1, np.array([[0.1, 0.2, 0.3], [0.05, 0.15, 0.2]]))  # 3 or 4, and 1, 2 or 3
    low, p = _tree_law.difference(joint)
    assert (low, p.tolist()) == (0, pytest.approx([0.3, 0.2 + 0.2, 0.1 + 0.15, 0.05]))
    low, p = _tree_law.total(joint)
    assert (low, p.tolist()) == (4, pytest.approx([0.1, 0.2 + 0.05, 0.3 + 0.15, 0.2]))
    added = _tree_law._summed([_tree_law._Window(2, np.array([1.0, 1.0])), _tree_law._Window(-1, np.array([1.0, 3.0]))])
    assert (added.low, added.p.tolist()) == (1, pytest.approx([1 / 4, 4 / 4, 3 / 4]))  # the largest value is 1
    none = _tree_law._summed([])
    assert (none.low, none.p.tolist()) == (0, [1.0])


LARGE = Tree([-1, 0, 0, 1, 1] + [2] * 70 + [5, 5])  # with groups below the node 2


@pytest.mark.parametrize("deepest", [0, 1, 2, 3])
def test_families_at_or_above_a_level(deepest):
    """Check every row: an inner node, or a group within a family, whose nearest node is above the deepest level."""
    found = _tree_law._families_above(LARGE, deepest)
    for row in range(len(LARGE.order)):
        node = row
        while LARGE.order[node] < 0:
            node = LARGE.above[node]
        depth = LARGE.depth[LARGE.order[node]]
        assert found[row] == (bool(LARGE.count[row]) and depth < deepest)
    assert _tree_law._families_above(Tree([-1]), 0).tolist() == [True, False]


@pytest.mark.parametrize("nodes", [[], [0], [3], [4, 50], [75, 1], [2]])
def test_families_of_nodes_are_their_ancestors(nodes):
    rows = LARGE.place[np.array(nodes, dtype=int)]
    expected = set()
    for row in rows.tolist():
        while row > 0:
            row = int(LARGE.above[row])
            expected.add(row)
    assert _tree_law._families_of(LARGE, rows).tolist() == sorted(expected)


def test_the_rounding_error_of_a_tree_by_hand():
    """Check 10 - (4 + 5.5) = 0.5 in units of max(sd, 1), and 4 - (3 + 2) = -1 in units of 4."""
    tree = Tree([-1, 0, 0, 1, 1])
    mean, sd = np.array([10.0, 4.0, 5.5, 3.0, 2.0]), np.array([0.5, 4.0, 9.0, 9.0, 9.0])
    assert _tree_law._additivity(tree, mean, sd, 2) == 0.5
    assert _tree_law._additivity(tree, mean, np.array([5.0, 4.0, 9.0, 9.0, 9.0]), 2) == 0.25
    assert _tree_law._additivity(tree, mean, np.array([5.0, 4.0, 9.0, 9.0, 9.0]), 1) == 0.1
    assert _tree_law._additivity(tree, mean, sd, 0) == 0.0


WITHIN = "the distribution of every count is within the stated error of the exact distribution, in total variation"


@pytest.mark.parametrize(
    ("bound", "rounding", "status", "error", "reason"),
    [
        (1e-9, 1e-6, "exact", 1e-9, WITHIN),
        (1.1e-9, 0.0, "approximate", 1.1e-9, WITHIN),
        (0.0, 1.1e-6, "approximate", 1.1e-6, "means of children and parent differ, in standard deviations"),
        (0.0, np.nan, "approximate", np.nan, "means of children and parent differ, in standard deviations"),
    ],
)
def test_the_accuracy_of_a_tree(bound, rounding, status, error, reason):
    found = _tree_law._accuracy(bound, rounding)
    assert (found.status, found.reason) == (status, reason)
    np.testing.assert_equal(found.error, error)


@pytest.fixture(scope="module")
def law():
    tree = Tree([-1, 0, 0, 1, 1], names=list("tabcd"), levels=["top", "middle", "low"])
    measured = Measurements(tree, [0, 2, 3, 4], [20.0, 5.0, 9.0, 7.0], dpm.DiscreteGaussian(sigma=1.5))
    return infer(measured, prior=Splits(1.0))


def test_a_tree_law_in_words_and_tables(law):
    assert repr(
        law
    ) == f"TreeLaw of Tree(5 nodes: 1 top, 2 middle, 2 low): log evidence {law.log_evidence:.6g}, " + str(law.accuracy)
    table = law.table()
    assert list(table.columns) == [
        "node", "level", "least_squares", "least_squares_sd", "mean", "sd", "lower", "upper", "status", "error",
    ]  # fmt: skip
    assert table["node"].tolist() == list("tabcd")
    assert table["level"].tolist() == ["top", "middle", "middle", "low", "low"]
    assert law.table("low")["node"].tolist() == ["c", "d"]
    assert law.table("top")["mean"].tolist() == [law.mean[0]]
    assert law.implied_totals() is None
    assert law.difference("a", "b").name == "a - b"
    assert law.sum("a", 4).name == "a + d"
    assert law.law(4).name == "d"
    with pytest.raises(ValueError, match="node"):
        law.law(5)
    with pytest.raises(ValueError, match="node"):
        law.law(-1)


def test_draws_of_no_nodes_and_of_some(law):
    assert law.sample(3, rng=stream(1, "none"), nodes=[]).shape == (3, 0)
    drawn = law.sample(50, rng=stream(1, "some"), nodes=["d", "t", "a", 3])
    assert drawn.shape == (50, 4)
    assert (drawn[:, 2] == drawn[:, 0] + drawn[:, 3]).all()


def test_counts_below_the_deepest_level_are_computed_when_they_are_needed(law):
    part = infer(law.measurements, prior=Splits(1.0), deepest="middle")
    assert part.table()["node"].tolist() == list("tab")
    assert np.isnan(part.mean[3:]).all()
    found, whole = part.posterior().summary(0.8), law.posterior().summary(0.8)
    numbers = ["mean", "sd", "lower", "upper"]
    assert found[numbers].to_numpy() == pytest.approx(whole[numbers].to_numpy(), abs=1e-9)
    again = part.posterior().summary()
    assert again[numbers].to_numpy() == pytest.approx(law.summary()[numbers].to_numpy(), abs=1e-9)


def test_joint_distributions_that_are_not_available(law):
    state = law.posterior().counts.together
    with pytest.raises(Unlisted, match="of these 3 counts is not available, because they are not siblings"):
        state.pair_of([1], [2, 3])
    rough = _tree_law.TreeTogether(None, None, None, None, certain=False)
    for call in (lambda: rough.sum_of([1]), lambda: rough.pair_of([1], [2]), lambda: rough.difference_of([1], [2])):
        with pytest.raises(Unlisted, match="because the counts of this tree have no exact distributions: use draws"):
            call()


def test_totals_implied_by_priors_of_leaves():
    """Check geometric counts of mean m and variance m + m^2: two leaves of mean 3, and one of mean 1."""
    tree = Tree([-1, 0, 0, 1, 1], names=list("tabcd"))
    prior = Leaves({"x": {"law": "geometric", "mean": 3.0}, "y": {"law": "geometric", "mean": 1.0}}, list("..yxx"))
    table = _tree_law.implied_totals(tree, prior)
    assert table["node"].tolist() == ["t", "a"]
    assert table["level"].tolist() == ["level 0", "level 1"]
    assert table["leaves"].tolist() == [3, 2]
    assert table["mean"].tolist() == pytest.approx([7.0, 6.0])
    assert table["sd"].tolist() == pytest.approx([26**0.5, 24**0.5])


@pytest.mark.parametrize(("low", "high", "text"), [(3, 7, "3 to 7"), (3, 3, "3"), (0, 2**52, "0 or more")])
def test_a_range_of_counts_in_words(low, high, text):
    assert _solver._range(low, high) == text


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        ([0, 4, 3], [6, 9, 9], "the counts of the children of t sum to 7 to 18, but the count of t is 0 to 6: "),
        ([0, 4, 3], [7, 9, 9], None),
        ([9, 0, 0], [9, 4, 4], "the counts of the children of t sum to 0 to 8, but the count of t is 9: correct"),
        ([8, 0, 0], [8, 4, 4], None),
        ([0, 4, 3], [6, 9, np.inf], "the children of t sum to 7 or more, but the count of t is 0 to 6: correct"),
        (
            [0, 0, 0],
            [np.inf, 9, np.inf],
            r"^the count of b is unbounded: measure this node or one of its ancestors, or",
        ),
        ([0, 0, 0], [9, np.inf, np.inf], None),
    ],
)
def test_bounds_of_a_parent_and_its_children(lower, upper, words):
    tree = Tree([-1, 0, 0], names=list("tab"), lower=lower, upper=upper)
    if words is None:
        _solver.consistent(tree, bounded(tree))
        return
    with pytest.raises(ValueError, match=words):
        _solver.consistent(tree, bounded(tree))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("unbounded", "a: its count is unbounded, because its weight does not decrease"),
        (
            "empty",
            "a: the weights of all counts of its children underflow: the measurements contradict each other or the "
            "prior",
        ),
        ("memory", "a: the messages of this node do not fit into memory: measure more nodes, or set bounds"),
    ],
)
def test_why_a_node_has_no_messages(state, words):
    tree = Tree([-1, 0, 0], names=list("tab"))
    assert _solver._words(tree, bounded(tree), int(tree.place[1]), state) == words


def test_a_node_with_too_many_counts_in_words():
    """Check normal noise of sd s: sqrt(20 log(10) 2 s^2) counts on both sides, 1.9e+04 in total at s = 1000. Laplace
    noise of scale b has 20 log(10) b counts on both sides, 9.2e+04 in total. Other counts are between bounds.
    """
    tree = Tree([-1, 0, 0], names=list("tab"), upper=[np.inf, np.inf, 500])
    laws = [dpm.DiscreteGaussian(sigma=1000.0), dpm.Laplace(scale=1000.0)]
    sites = Measurements(tree, [0, 1], [9.0, 9.0], laws).weigh()[0]
    top, b = int(tree.place[0]), int(tree.place[2])
    assert _solver._words(tree, sites, top, "wide") == (
        "a: about 9.2e+04 counts are possible given its measurements and bounds, and sums of two counts with more than "
        "about 223,606 possible values each would take an estimated minute or more: use measurements with less noise, "
        "or set closer bounds"
    )
    assert _solver._words(tree, sites, b, "wide").startswith("b: about 5e+02 counts are possible")
    alone = Tree([-1, 0], names=["t", "a"])
    sites = Measurements(alone, [0, 1], [9.0, 9.0], [dpm.DiscreteGaussian(sigma=1000.0), dpm.Exact()]).weigh()[0]
    assert _solver._words(alone, sites, 0, "wide").startswith("t: about 1.9e+04 counts are possible")
    sites = Measurements(alone, [1], [9.0], dpm.Exact()).weigh()[0]
    assert _solver._words(alone, sites, 0, "wide") == (
        "t: this count is not measured, and the sums of its children would have more than about 223,606 possible "
        "values: measure this count, set closer bounds, or use a prior of the leaves, such as 'fitted'"
    )


@pytest.mark.parametrize(("sigma", "node"), [(5_000.0, -1), (5_400.0, 0)])
def test_sums_of_two_leaves_with_too_many_terms_for_a_fit(sigma, node):
    """Check normal noise: (2 sigma sqrt(2 20 log(10)))^2 = 368.4 sigma^2 terms, above 10^10 from sigma = 5,210 on."""
    tree = Tree([-1, 0, 0])
    sites = Measurements(tree, [1, 2], [1e6, 1e6], dpm.DiscreteGaussian(sigma=sigma)).weigh()[0]
    assert _solver._expensive(tree, sites, np.zeros(len(sites)), 1e-20) == node


@pytest.mark.parametrize(("scale", "node"), [(1_060.0, -1), (1_120.0, 0)])
def test_sums_of_two_leaves_under_laplace_noise(scale, node):
    """Check tails of 20 log(10) scale on both sides: (92.1 scale)^2 terms, above 10^10 from a scale of 1,086 on."""
    tree = Tree([-1, 0, 0])
    sites = Measurements(tree, [1, 2], [1e6, 1e6], dpm.Laplace(scale=scale)).weigh()[0]
    assert _solver._expensive(tree, sites, np.zeros(len(sites)), 1e-20) == node


def test_no_sum_of_two_leaves_has_more_terms_than_the_count_above_allows():
    """Under a tilt of 1/2 - 1e-5, the tail of noise of scale 2 has 46/1e-5 counts. The counts are at most 420, the
    count of the root, so a sum of two of them has at most 420^2 terms.
    """
    tree = Tree([-1, 0, 0, 1, 1])
    laws = [dpm.Exact(), *[dpm.Laplace(scale=2.0)] * 2]
    tilts = np.full(5, 0.5 - 1e-5)
    free = Measurements(tree, [3, 4], [145.0, 83.0], dpm.Laplace(scale=2.0)).weigh()[0]
    known = Measurements(tree, [0, 3, 4], [420.0, 145.0, 83.0], laws).weigh()[0]
    assert _solver._expensive(tree, free, tilts, 1e-20) == tree.place[1]
    assert _solver._expensive(tree, known, tilts, 1e-20) == -1
    # a root with noise of scale 1: the window ends at most 58 counts above 420
    noisy = Measurements(tree, [0, 3, 4], [420.0, 145.0, 83.0], [dpm.Laplace(scale=1.0), *laws[1:]]).weigh()[0]
    assert _solver._expensive(tree, noisy, tilts, 1e-20) == -1
    # a root with noise of scale 10^5 and no tilt does not limit them: its window ends 58 10^5 counts above 420
    wide = [dpm.Laplace(scale=1e5), *laws[1:]]
    unlimited = Measurements(tree, [0, 3, 4], [420.0, 145.0, 83.0], wide).weigh()[0]
    assert _solver._expensive(tree, unlimited, np.array([0.0, *tilts[1:]]), 1e-20) == tree.place[1]


def test_concentrations_below_a_known_root_maximise_the_evidence():
    """The evidence of a tree with a known root, by sums over all counts. The search stops if a step gains less than
    0.02 in the log of the evidence times the prior (normal, standard deviation 2, of both log concentrations).
    """
    released = {"t": 420, "n": 200, "s": 204, "n1": 145, "n2": 83, "s1": 100, "s2": 91}
    parents = dict(zip(released, (None, "t", "t", "n", "n", "s", "s"), strict=True))
    b = {"n": 40.0, "s": 40.0, "n1": 2.1, "n2": 2.1, "s1": 2.1, "s2": 2.1}
    laws = [dpm.Exact(), *(dpm.DiscreteLaplace(scale=scale) for scale in b.values())]
    release = dpm.Release(released, mechanism=laws, parents=parents)
    found = np.log(list(dpm.posterior(release).facts["concentrations"].values()))

    def noise(name, counts):
        return -np.abs(released[name] - counts) / b[name] + np.log(np.tanh(0.5 / b[name]))

    def split(n, total, a):
        ways = gammaln(total + 1) - gammaln(n + 1) - gammaln(total - n + 1)
        return (
            ways
            + gammaln(2 * a)
            - gammaln(total + 2 * a)
            + sum(gammaln(x + a) for x in (n, total - n))
            - 2 * gammaln(a)
        )

    def goal(logs):
        upper, lower = np.exp(logs)
        n, sums = np.arange(421), {}
        for one, two in (("n1", "n2"), ("s1", "s2")):
            terms = [split(n[: m + 1], m, lower) + noise(one, n[: m + 1]) + noise(two, m - n[: m + 1]) for m in n]
            sums[one] = np.array([logsumexp(row) for row in terms])
        whole = split(n, 420, upper) + noise("n", n) + noise("s", 420 - n) + sums["n1"] + sums["s1"][::-1]
        return logsumexp(whole) - float((logs**2).sum()) / 8

    around = [goal(np.log(point)) for point in ((1.0, 1.0), (4.0, 5.0), (6.3, 6.9), (9.0, 10.0))]
    assert max(around) - 0.02 < goal(found) < max(around) + 0.02
    assert goal(found) > around[0] + 1.5


def test_concentrations_are_fitted_if_most_leaves_are_empty_under_wide_noise():
    """Compare the log evidence plus the log prior with that at other concentrations. The search stops if a step gains
    less than 0.02. The error bound of the rough messages overflows, and their log evidence is too small by up to 24.
    """
    rng, parents, true, sigma = dpm.stream(3, "sparse"), {"all": None}, {"all": 0}, {"all": 40.0}
    for size, spread in ((4, 40.0), (5, 45.0), (3, 60.0), (10, 90.0)):
        deepest = [name for name in parents if name not in parents.values()]
        for above in deepest:
            for i in range(size):
                name = f"{above}-{i}"
                parents[name], true[name], sigma[name] = above, int(rng.poisson(0.9)) if size == 10 else 0, spread
    for name in reversed(parents):
        if parents[name] is not None:
            true[parents[name]] += true[name]
    noisy = {name: round(count + rng.normal(0, sigma[name])) for name, count in true.items()}
    law = dpm.DiscreteGaussian(sigma=list(sigma.values()))
    release = dpm.Release(noisy, mechanism=law, parents=parents)

    def goal(prior):
        found = dpm.posterior(release, prior=prior).facts
        logs = np.log(list(found["concentrations"].values()) if prior is None else prior)
        return found["log_evidence"] - float((logs**2).sum()) / 8

    best = goal(None)
    assert best > goal([1.0, 1.0, 1.0, 1.0]) + 0.02
    assert all(
        best > goal(other) - 0.02 for other in ([2.0, 1.5, 1.2, 1.01], [4.3, 2.1, 1.4, 1.0], [4.0, 3.0, 2.0, 1.0])
    )


def test_a_star_with_too_many_counts_in_words():
    start = "the root is not measured, and its leaves have about 2.5e+08 possible counts in total, more than the limit "
    assert _solver.too_many(2.5e8) == (
        start + "of 1e+08: measure the root, use measurements with less noise, or set closer bounds"
    )
    assert _solver.too_many(2.5e8, 3e6) == (
        start + "of 3e+06 for a fit of the concentration: measure the root, give the concentration as the prior, use "
        "measurements with less noise, or set closer bounds"
    )
    assert _solver.too_many(np.inf) == (
        "a leaf has more than 2**26 possible counts: measure it with less noise, or set a closer upper bound"
    )


@pytest.mark.parametrize("b", [0.1, 1.0, 7.5, 400.0, 1e5])
def test_the_spacing_of_the_rule_of_a_star(b):
    """Check that |Gamma(b + 2 pi i/h)|/Gamma(b) is exp(-32), by the product of 1/(1 + y^2/(b + n)^2) over n >= 0."""
    y = 2 * np.pi / _solver._spacing(b)
    n = np.arange(2_000_000.0)
    tail = y**2 / (b + n[-1] + 0.5)  # sum of y^2/(b + n)^2 beyond the last term
    log_ratio = -0.5 * (np.log1p((y / (b + n)) ** 2).sum() + tail)
    assert log_ratio == pytest.approx(-32.0, abs=1e-4)


class Closed(_solver.Shares):
    """Shares of leaves whose counts have the sum s (noise of variance 0), or a Poisson distribution of mean s x."""

    def __init__(self, s, b, poisson=False, start=7.0):
        self.s, self.b, self.poisson, self.calls = s, b, poisson, 0
        self.sites = {"table": np.array([-1, 0]), "centre": np.array([start, 99.0])}
        self.times = np.array([2.0, 4.0])

    def sums(self, tilts):
        self.calls += 1
        none = np.zeros_like(tilts)
        if self.poisson:
            mean = self.s * np.exp(tilts)
            return np.stack([mean, mean, mean, none])
        return np.stack([self.s * tilts, none + self.s, none, none])


@pytest.mark.parametrize(("s", "b", "start"), [(15, 3.0, 7.0), (0, 3.0, 0.1), (14, 900.0, 7.0), (5000, 0.5, 700.0)])
def test_the_mode_of_a_star_of_exact_counts_has_a_closed_form(s, b, start):
    """Check log((1 + s)/b), by steps of at most 2 from the centres of the leaves, which are at least 1/2 each, until a
    step is below 0.1/(b + 1)^(1/2)."""
    law = Closed(s, b, start=start)
    first = np.log((2 * max(start, 0.5) + 4 * 0.5) / b)
    assert law.mode() == pytest.approx(np.log((1 + s) / b), abs=1e-12)
    gap = abs(np.log((1 + s) / b) - first)
    assert law.calls == (1 if gap < 0.1 / np.sqrt(b + 1) else 2 + int(gap / 2))


@pytest.mark.parametrize(("s", "b"), [(20.0, 3.0), (500.0, 60.0), (0.3, 8.0), (3e5, 2e3)])
def test_the_mode_of_a_star_solves_its_equation(s, b):
    """Check log(1 + s x) = log b + u, x = 1/(1 + exp(-u)), for Poisson counts: within a tenth of a deviation."""
    law = Closed(s, b, poisson=True)
    right = brentq(lambda u: np.log1p(s / (1 + np.exp(-u))) - np.log(b) - u, -60, 60)
    assert law.mode() == pytest.approx(right, abs=0.05 / np.sqrt(b + 1))
    assert law.calls < 25


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize(("s", "b"), [(0, 0.4), (15, 3.0), (15, 900.0), (5000, 0.6), (20_000, 4000.0)])
def test_the_rule_of_a_star_of_exact_counts_has_the_weights_of_a_beta_density(s, b, bounded, monkeypatch):
    """Check x^(s + 1) (1 - x)^b at equal steps, the evidence B(s + 1, b), and what is said to be neglected."""
    monkeypatch.setattr(_solver, "Shares", lambda *given: Closed(s, b))
    found = _solver.mixture(None, None, None, 1.0, bounded=bounded)
    u = found.tilts - np.log(-np.expm1(found.tilts))
    spacing = _solver._spacing(b)
    assert np.diff(u) == pytest.approx(spacing, rel=1e-6)
    logs = -(s + 1) * np.logaddexp(0, -u) - b * np.logaddexp(0, u)
    weights = np.exp(logs - logs.max())
    assert found.shares == pytest.approx(weights / weights.sum(), rel=1e-8, abs=1e-14)
    assert found.log_evidence == pytest.approx(betaln(s + 1, b), abs=1e-10)
    # the nodes reach from exp(-41) to exp(-50) of the mass, and up to a block of 12 further, than those that are kept
    ends = np.array([u[0] - 12 * spacing - 15 / (s + 1), u[-1] + 12 * spacing + 15 / b])
    rounding = np.finfo(float).eps * (s * np.logaddexp(0, -ends) + b * np.logaddexp(0, ends)).max()
    assert 2.1 * np.exp(-32) < found.bound < 2.1 * np.exp(-32) + 1e-15 + rounding
    for end in (u[0] - spacing, u[-1] + spacing):  # the next nodes are negligible
        assert -(s + 1) * np.logaddexp(0, -end) - b * np.logaddexp(0, end) - logs.max() < np.log(1e-16)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("nodes", [6, 12, 25])
@pytest.mark.parametrize(("s", "b", "poisson"), [(15, 3.0, False), (40.0, 30.0, True), (2, 0.7, False)])
def test_the_part_beyond_the_rule_of_a_star_is_within_its_bound(s, b, poisson, nodes, side):
    """Check the sum over the further nodes, relative to that over the nodes of the rule, for ends at several depths."""
    law = Closed(s, b, poisson)
    spacing, centre = _solver._spacing(b), Closed(s, b, poisson).mode()
    inside = centre + spacing * np.arange(-nodes, nodes + 1)
    logs, sums = law.log_density(inside)
    total = float(np.logaddexp.reduce(logs))
    beyond, _ = law.log_density(inside[0 if side < 0 else -1] + side * spacing * np.arange(1, 4000))
    exact = float(np.exp(np.logaddexp.reduce(beyond) - total))
    bound = _solver._beyond(law, inside, sums, logs, spacing, total, side)
    assert exact <= bound
    assert bound <= 100 * exact + 1e-13 or exact > 1e-10


@pytest.mark.parametrize(("concentration", "unmeasured"), [(0.7, 10), (3.0, 1)])
def test_unmeasured_leaves_of_a_star_change_the_evidence_by_a_ratio_of_shapes(concentration, unmeasured):
    """The share p of 66 of k leaves is Beta(66 A, (k - 66) A); over all totals, E 1/p = (k A - 1)/(66 A - 1)."""
    released = stream(1, "star").poisson(3, 66)

    def evidence(size):
        tree = Tree([-1, *[0] * size])
        measured = Measurements(tree, np.arange(1, 67), released, dpm.DiscreteLaplace(scale=1.0))
        return infer(measured, prior=Splits(concentration)).log_evidence

    wanted = np.log(((66 + unmeasured) * concentration - 1) / (66 * concentration - 1))
    assert evidence(66 + unmeasured) - evidence(66) == pytest.approx(wanted, rel=1e-9)


def test_the_fitted_concentration_loses_at_most_a_fiftieth_of_log_evidence():
    """Compare the evidence times the N(0, 2^2) density of the log concentration with its values on a grid."""
    measured = Measurements(Tree([-1, *[0] * 6]), np.arange(1, 7), [5, 5, 5, 4, 8, 4], dpm.DiscreteLaplace(scale=1.0))

    def value(concentration):
        return infer(measured, prior=Splits(concentration)).log_evidence - np.log(concentration) ** 2 / 8

    fitted = float(infer(measured).prior.concentrations[0])
    assert value(fitted) >= max(map(value, np.geomspace(0.5, 50, 15))) - 0.02
