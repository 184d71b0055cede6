"""Control codes: known encodings, and the rules that ptxas' own code keeps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.isas.sass.listings import control

from kernelcast.isas.sass.control import ControlCode, control_code
from kernelcast.isas.sass.dataflow import effects
from kernelcast.isas.sass.flow import flow_graph
from kernelcast.isas.sass.opcodes import Latency, opcode


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        # sm_90: IMAD R2, R0, UR5, R11 after two S2R; ISETP; LDG; @P0 BRA
        (0x001FCA000F8E020B_0000000500027C24, "B0-----:R-:W-:Y:S05"),
        (0x000FDA000BF06270_0000000402007C0C, "B------:R-:W-:Y:S13"),
        (0x000EA2000C1E9900_0000000602037981, "B------:R-:W2:-:S01"),
        (0x000FEA0003800000_00000000002C0947, "B------:R-:W-:-:S05"),
        (0x002FCC00078E0204_0000000407027825, "B-1----:R-:W-:Y:S06"),
    ],
)
def test_known_encodings(encoding, text):
    assert str(control_code(encoding)) == text


def test_fields_are_independent():
    bits = control(9, yields=True, write=3, read=5, waits=[1, 4]) | 0b1010 << 17
    expected = ControlCode(9, True, 3, 5, (1, 4), 0b1010)
    assert control_code(bits << 105 | (1 << 105) - 1) == expected


@pytest.mark.parametrize(("stall", "yields", "cycles"), [(0, False, 1), (1, True, 2), (5, True, 5)])
def test_a_yield_costs_a_cycle_only_where_the_stall_asks_for_none(stall, yields, cycles):
    code = control_code(control(stall, yields=yields) << 105)
    assert code.issue_cycles == cycles


def late_reads(module, *, shift: int = 0):
    """Reads of results that scoreboards guard: those that come after a wait, and those that do not.

    Within each block, whoever first reads a register that an instruction with write barrier b has
    written must wait for b, or someone between them must. `shift` falsifies the wait masks.
    """
    good, bad = 0, []
    for function in module.functions.values():
        for block in flow_graph(function).blocks:
            pending: dict[Any, Any] = {}
            for instruction in function.instructions[block.start : block.end]:
                waited = {(b + shift) % 6 for b in instruction.control.waits}
                pending = {r: b for r, b in pending.items() if b not in waited}
                found = effects(instruction)
                for register in dict.fromkeys(found.reads):
                    if register in pending:
                        bad.append(f"{function.name} {instruction.address:#x} {instruction}")
                        del pending[register]
                    else:
                        good += 1
                for register in found.writes:
                    pending.pop(register, None)
                    if instruction.control.write_barrier is not None:
                        pending[register] = instruction.control.write_barrier
    return good, bad


def test_whoever_reads_a_guarded_result_first_waits_for_it(code):
    good, bad = late_reads(code.module)
    assert good > 3000
    assert bad == []


def test_the_check_of_waits_finds_wrong_wait_masks(code):
    assert len(late_reads(code.module, shift=1)[1]) > 100


def test_fixed_latencies_never_carry_a_write_barrier(code):
    wrong = [
        str(i)
        for function in code.module.functions.values()
        for i in function.instructions
        if (row := opcode(i.opcode))
        and row.latency_on(function.target) is Latency.FIXED
        and i.control.write_barrier is not None
    ]
    assert wrong == []


def test_shared_loads_without_a_barrier_are_covered_by_a_later_one(code):
    """They end in order, so ptxas gives a barrier to the last of several."""
    wrong = []
    for function in code.module.functions.values():
        for block in flow_graph(function).blocks:
            pending: dict[
                Any, Any
            ] = {}  # the barrier that covers a register, None as long as none does
            for i in function.instructions[block.start : block.end]:
                found, barrier = effects(i), i.control.write_barrier
                pending = {r: b for r, b in pending.items() if b not in i.control.waits}
                wrong += [f"{function.name} {i}" for r in found.reads if r in pending]
                pending = {r: b for r, b in pending.items() if r not in found.writes}
                if i.opcode == "LDS":
                    pending = {r: barrier if b is None else b for r, b in pending.items()}
                    pending |= dict.fromkeys(found.writes, barrier)
    assert wrong == []
