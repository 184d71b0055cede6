"""What a profile counts for single machines is named by their files."""

from __future__ import annotations

import pytest

from kernelcast.errors import InputError
from kernelcast.hierarchy.rules import access_rules
from kernelcast.machines.loader import load_machine
from kernelcast.machines.machine import Provenance, Quantity
from kernelcast.profiling.rules import NO_RULES, AccessRules


@pytest.mark.parametrize(
    ("gpu", "rules"),
    [
        ("a100-pcie-40gb", AccessRules((0x2AFF, 0x3F2A))),
        ("8800-gtx", AccessRules(half_warps=True)),
        ("gtx-280", AccessRules(half_warps=True)),
        ("gtx-980", NO_RULES),
    ],
)
def test_machines_ask_for_the_rules_that_hold_for_them(gpu, rules):
    assert access_rules(load_machine(gpu)) == rules


def test_more_parities_than_can_be_counted_are_refused():
    three = Quantity((1.0, 2.0, 4.0), "1", Provenance.ASSUMED, "a test")
    chip = load_machine("a100-pcie-40gb").with_quantities({"l1.tag_bank_bits": three})
    with pytest.raises(InputError, match="has 3 masks"):
        access_rules(chip)
