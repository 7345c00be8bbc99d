"""Tests of all attacks that bypass a mechanism: none succeeds, and each succeeds against the weakened version."""

import pytest

from . import doors, outer_doors

pytestmark = pytest.mark.thorough

DOORS = (*doors.DOORS, *outer_doors.DOORS)
TESTED = [door for door in DOORS if door is not doors.LEDGER]  # the ledger has separate tests


def named(pairs):
    return [pytest.param(door, attack, id=f"{door.name}: {attack}") for door, attack in pairs]


@pytest.mark.parametrize(("door", "attack"), named((door, attack) for door in TESTED for attack in door.attacks))
def test_no_attack_does_its_harm(tmp_path, door, attack):
    assert not doors.succeeded(door, attack, tmp_path / "x", double=False)


@pytest.mark.parametrize(("door", "attack"), named((door, attack) for door in TESTED for attack in door.against_double))
def test_the_double_falls(tmp_path, door, attack):
    assert doors.succeeded(door, attack, tmp_path / "x", double=True)


def test_what_a_double_withstands_are_attacks():
    for door in DOORS:
        assert set(door.withstood) < set(door.attacks)
