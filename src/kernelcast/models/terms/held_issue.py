"""Issue slots that are lost while a scheduler's banks of registers give what was asked for.

R. Huerta et al.: Analyzing Modern NVIDIA GPU cores. MICRO 2025, section 5.3, as the timing
simulation plays it (`simulation/pipes.py`). Only code that tells its registers' banks is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Instruction, IssueControl
from kernelcast.models.terms.base import Case, kept_of_warps

_ROUNDS = 2
"""Of a basic block, the last of which is told: what the first leaves in the banks delays it."""


@kept_of_warps
def held_slots_per_warp(case: Case) -> float:
    """Slots that a mean warp's instructions keep their scheduler beyond their own."""
    least = case.machine.get("registers.read_cycles")
    if least is None:
        return 0.0
    instructions, times = case.kernel.instructions, case.profile.instruction_warps
    held = 0.0
    for block in case.kernel.blocks:
        if block.start < block.end and times[block.start]:
            own = instructions[block.start : block.end]
            held += float(times[block.start]) * _held_slots(own, least)
    return held / case.profile.warps


def _held_slots(instructions: Sequence[Instruction], least: float) -> float:
    """Of a basic block, executed again and again, one instruction in a cycle where nothing holds.

    With f_b, when bank b has given all that was asked for, and n_b registers of it, which are read
    in the w cycles from t on:

        t = max(now, f_b + n_b - w),    f_b <- max(f_b, t) + n_b
    """
    free, now, held = [0.0, 0.0], 0.0, 0.0
    for _ in range(_ROUNDS):
        held = 0.0
        for at, instruction in enumerate(instructions):
            control = instruction.control
            if control is not None and control.bank_reads_after_others:
                reads = _reads(control, follows=instructions[at - 1])
                window = max(least, *control.bank_reads_after_others)
                asked = [(bank, count) for bank, count in enumerate(reads) if count]
                start = max([now, *(free[bank] + count - window for bank, count in asked)])
                for bank, count in asked:
                    free[bank] = max(free[bank], start) + count
                held, now = held + start - now, start
            now += 1
    return held


def _reads(control: IssueControl, *, follows: Instruction) -> Sequence[int]:
    """What is read of each bank: less where the warp's instruction before came just before.

    With several warps, others come between where that makes its own warp wait.
    """
    return control.bank_reads_after_others if follows.issue_cycles > 1 else control.bank_reads
