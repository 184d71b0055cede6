"""How many registers of each bank an instruction reads, with and without the operand cache.

The lowest bit of a register's number names its bank. Each bank has a cache with an entry for every
operand slot: an operand marked `.reuse` stays there, and an instruction finds it if it has the same
register in the same slot. Whatever is read in a slot takes the entry of its bank away, unless it is
marked itself. Only instructions of fixed latency read so; others wait in queues until the banks are
free.

R. Huerta et al.: Analyzing Modern NVIDIA GPU cores. MICRO 2025, section 5.3. It stands for every
chip with such control codes: nobody has published others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from kernelcast.isas.sass.dataflow import sources
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.opcodes import Latency, opcode
from kernelcast.isas.sass.operands import RegisterFile, RegisterOperand

_BANKS = 2
_REUSE = "reuse"
_DOUBLE_PRODUCT, _ADDEND = "DFMA", 2


@dataclass(frozen=True, slots=True)
class RegisterReads:
    """Registers that an instruction reads from each bank.

    `after_own` counts those that it reads behind the instruction before it, `after_others` where
    another warp has come between, and the operand cache holds nothing for it.
    """

    after_own: tuple[int, ...] = ()
    after_others: tuple[int, ...] = ()


def register_reads(body: Sequence[SassInstruction], target: str) -> Iterator[RegisterReads]:
    """What each instruction of a basic block reads on chips of a target, the cache empty at first.

    Those whose latency is not fixed are said to read nothing.
    """
    kept: dict[tuple[int, int], int] = {}
    for instruction in body:
        row = opcode(instruction.opcode)
        if row is None or row.latency_on(target) is not Latency.FIXED:
            yield RegisterReads()
            continue
        missed, named, found = set[int](), set[int](), set[int]()
        for slot, number, is_reused in _read(instruction):
            entry = (number % _BANKS, slot)
            named.add(number)
            is_kept = kept.pop(entry, None) == number
            (found if is_kept and not _is_read_anyway(instruction, slot) else missed).add(number)
            if is_reused:
                kept[entry] = number
        yield RegisterReads(_by_bank(missed - found), _by_bank(named))


def _is_read_anyway(instruction: SassInstruction, slot: int) -> bool:
    """Whether an operand is read though it was kept: the addend of a double-precision product.

    Chains of such instructions on an H100 take 2.5 cycles each where two of the three operands are
    marked in every other one, and 2.17 where they are in five of six; both follow from this.
    """
    return instruction.opcode == _DOUBLE_PRODUCT and slot == _ADDEND


def _by_bank(numbers: Set[int]) -> tuple[int, ...]:
    counts = Counter(number % _BANKS for number in numbers)
    return tuple(counts[bank] for bank in range(_BANKS)) if numbers else ()


def _read(instruction: SassInstruction) -> Iterator[tuple[int, int, bool]]:
    """Slots with the numbers of their registers, and whether they are marked."""
    for slot, (operand, size) in enumerate(sources(instruction)):
        match operand:
            case RegisterOperand(register, decoration) if register.file is RegisterFile.GENERAL:
                if register.number is not None:
                    for number in range(register.number, register.number + size):
                        yield slot, number, _REUSE in decoration.suffixes
