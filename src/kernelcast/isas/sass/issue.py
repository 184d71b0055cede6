"""What the control code of an instruction tells the issue logic, in words that no ISA owns."""

from __future__ import annotations

from functools import lru_cache

from kernelcast.ir import IssueControl
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.latencies import sources_read_cycles
from kernelcast.isas.sass.register_reads import RegisterReads
from kernelcast.isas.sass.scoreboards import requests

_made = lru_cache(maxsize=1 << 12)(IssueControl)
"""Few are different: a long kernel holds each once."""


def issue_control(instruction: SassInstruction, reads: RegisterReads) -> IssueControl:
    """The counters that an instruction raises and waits for, and the registers that it reads."""
    control = instruction.control
    has_sources = control.read_barrier is not None
    return _made(
        result_counter=control.write_barrier,
        sources_counter=control.read_barrier,
        sources_cycles=sources_read_cycles(instruction) if has_sources else 0.0,
        waits=tuple((wait.barrier, wait.outstanding) for wait in requests(instruction)),
        yields=control.yields,
        bank_reads=reads.after_own,
        bank_reads_after_others=reads.after_others,
    )
