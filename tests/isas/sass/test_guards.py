"""An instruction has no effect in lanes in which its guard fails: on steps, of compiled code."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.isas.sass.listings import listing

from kernelcast.ir import Instruction, OpClass
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.kernel import meaning_of
from kernelcast.isas.sass.meaning.lift import LiftContext

MACHINE_REGISTER = re.compile(r"U?[RP]\d+")


def test_an_instruction_does_nothing_where_its_guard_fails(code) -> None:
    """Wrong if a step writes a register or memory, or branches, in all lanes."""
    guard = parse_sass(listing("@P6 NOP")).function("k").instructions[0].guard
    # R2UR takes part in all lanes, and keeps the old value by a selection.
    seen = {"R2UR"}
    for function in code.module.functions.values():
        starts = {i.address: 0 for i in function.instructions}
        known = LiftContext(function, 90, dict.fromkeys(range(5), 0), starts, returns=(0,))
        for native in function.instructions:
            if native.name in seen:
                continue
            seen.add(native.name)
            steps = meaning_of(replace(native, guard=guard), 0, known)
            assert not [s for s in steps if has_effect(s) and s.guard is None], str(native)
    assert len(seen) > 100


def has_effect(step: Instruction) -> bool:
    """Whether a step changes what others see: a register of the machine, memory, or the path."""
    classes = (OpClass.STORE, OpClass.ATOMIC, OpClass.BRANCH, OpClass.BARRIER)
    return step.op_class in classes or any(MACHINE_REGISTER.fullmatch(r.name) for r in step.writes)
