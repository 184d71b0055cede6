"""Plain words stand for everything that has a name of its own."""

from kernelcast.models.terms.base import Bottleneck
from kernelcast.reporting.plain_words import MEANING, STALL
from kernelcast.simulation.results import STALLS


def test_every_bottleneck_is_explained():
    assert set(MEANING) == set(Bottleneck)


def test_every_stall_is_explained():
    assert set(STALLS.values()) <= set(STALL)
    assert set(STALL) - set(STALLS.values()) <= {"selected"}
