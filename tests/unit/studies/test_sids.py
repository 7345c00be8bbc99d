"""Tests of the study of infant deaths, on a made-up table in a wheel: reading, a toy run, and the figure."""

import struct
import zipfile

import numpy as np
import pytest

import dpmultinomial as dpm
from reproduction import studies
from reproduction.studies import sids as study

DECLARED = studies.discover()["sids"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write 60 made-up counties as a dBASE table in a wheel; the slope is 0.4."""
    rng = dpm.stream(1, "sids")
    births = np.round(np.exp(rng.normal(7.7, 0.8, 60))).astype(int)
    others = rng.binomial(births, rng.uniform(0.05, 0.6, 60))
    share = others / births
    x = (share - share.mean()) / share.std()
    deaths = rng.poisson(rng.gamma(8.0, 0.002 * np.exp(0.4 * x) / 8.0) * births)
    names = [("NAME", "C", 12), ("BIR74", "N", 8), ("SID74", "N", 6), ("NWBIR74", "N", 8)]
    width = 1 + sum(size for *_, size in names)
    data = struct.pack("<B3sIHH20x", 3, b"\x5f\x07\x1a", 60, 32 + 32 * len(names) + 1, width)
    data += b"".join(name.encode().ljust(11, b"\0") + kind.encode() + bytes(4) + bytes([size]) + bytes(15)
                     for name, kind, size in names) + b"\r"  # fmt: skip
    for i in range(60):
        values = (f"county {i}", births[i], deaths[i], others[i])
        data += b" " + b"".join(str(v).rjust(size).encode() for v, (*_, size) in zip(values, names, strict=True))
    path = tmp_path_factory.mktemp("wheel") / "libpysal-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("libpysal/examples/sids2/sids2.dbf", data + b"\x1a")
    return str(path), deaths, births, x


def test_the_table_is_read_from_the_wheel(made, tmp_path):
    path, deaths, births, x = made
    found = study.counties(path, "0")
    for one, other in zip(found, (deaths, births, x), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as packed:
        packed.writestr("nothing", "")
    with pytest.raises(ValueError, match=r"does not contain sids2/sids2\.dbf"):
        study.counties(str(tmp_path / "empty.whl"), "0")


def test_a_toy_run_and_its_figure(made):
    """The exact likelihood keeps the slope; with 5 in place of withheld counts it falls by a quarter or more."""
    noise = {"noise": {"law": "discrete_gaussian", "sigma": 2.0}, "withheld": {"law": "exact", "threshold": 10}}
    found = study.table(1, wheel=made[0], version="0", releases=3, protections=noise)
    slope = found.set_index(["protection", "method"])["slope"]
    free = slope["unprotected", "exact likelihood"]
    assert free == pytest.approx(0.4, abs=0.25)
    for name in noise:
        assert slope[name, "exact likelihood"] == pytest.approx(free, abs=0.2)
    assert slope["withheld", "protection ignored"] < 0.75 * free
    correlation = found.set_index(["protection", "method"])["rank_correlation"]
    assert (correlation.xs("exact likelihood", level="method") > 0.75).all()
    drawn = study.figure(found)
    bars = [container.lines[0].get_xdata().tolist() for container in drawn.axes[0].containers]
    assert bars[0] == pytest.approx(found.loc[found["method"] == study.METHODS[0], "slope"].tolist())
    assert drawn.axes[1].lines[1].get_xdata().tolist() == pytest.approx(
        found.loc[found["method"] == study.METHODS[1], "rank_correlation"].tolist()
    )


def test_the_declared_settings_are_those_of_the_function():
    assert set(DECLARED.settings) == {"wheel", "version", "releases", "protections"}
    for noise in DECLARED.settings["protections"].values():
        study.law_of(dict(noise))
