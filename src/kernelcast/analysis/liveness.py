"""Live registers: how many values a thread must hold at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kernelcast.ir import Instruction, Kernel, Register

_WORD_BITS = 32
_REGISTERLESS_TYPES = ("pred",)


def live_registers(kernel: Kernel) -> int:
    """The most 32-bit registers that are live at one instruction of a kernel.

    A value of 64 bits counts 2, one of 8 or 16 bits counts 1 and a predicate 0. This is a lower
    bound of what a compiler allocates without spilling, before it reorders or rematerialises; it
    serves as an estimate where no compiled code is at hand.
    """
    bodies = [kernel.instructions[b.start : b.end] for b in kernel.blocks]
    successors = [b.successors for b in kernel.blocks]
    numbers = _numbers(kernel.instructions)
    _, live_out = _liveness(bodies, successors, numbers)
    weights = [_words(register) for register in numbers]
    return max(
        (_peak(b, out, numbers, weights) for b, out in zip(bodies, live_out, strict=True)),
        default=0,
    )


def live_in(kernel: Kernel) -> tuple[frozenset[Register], ...]:
    """The registers that are live at the start of every block."""
    bodies = [kernel.instructions[b.start : b.end] for b in kernel.blocks]
    successors = [b.successors for b in kernel.blocks]
    numbers = _numbers(kernel.instructions)
    live, _ = _liveness(bodies, successors, numbers)
    return tuple(
        frozenset(register for register, n in numbers.items() if bits >> n & 1) for bits in live
    )


def _numbers(instructions: Iterable[Instruction]) -> dict[Register, int]:
    """A bit number for every register."""
    numbers: dict[Register, int] = {}
    for instruction in instructions:
        for register in (*instruction.reads, *instruction.writes):
            numbers.setdefault(register, len(numbers))
    return numbers


def _words(register: Register) -> int:
    """32-bit registers that hold a value of this type."""
    if register.type in _REGISTERLESS_TYPES:
        return 0
    bits = int("".join(c for c in register.type.partition("x")[0] if c.isdigit()))
    lanes = int(register.type.partition("x")[2] or 1)
    return -(-bits * lanes // _WORD_BITS)


def _liveness(
    bodies: Sequence[Sequence[Instruction]],
    successors: Sequence[Sequence[int]],
    numbers: Mapping[Register, int],
) -> tuple[list[int], list[int]]:
    """Registers live at the start and at the end of every block, as sets of bits.

    in(b) = use(b) | (out(b) - def(b)), out(b) = union of in(s) over the successors s of b; least
    solution by iteration (Aho, Lam, Sethi & Ullman 2006, section 9.2.5). A guarded write leaves
    the old value in some lanes, so it is no definition.
    """
    uses, defs = [], []
    for body in bodies:
        use = define = 0
        for instruction in body:
            for register in instruction.reads:
                use |= 1 << numbers[register] & ~define
            if instruction.guard is None:
                for register in instruction.writes:
                    define |= 1 << numbers[register]
        uses.append(use)
        defs.append(define)
    live_in = [0] * len(bodies)
    live_out = [0] * len(bodies)
    changed = True
    while changed:
        changed = False
        for block in reversed(range(len(bodies))):
            out = 0
            for successor in successors[block]:
                out |= live_in[successor]
            into = uses[block] | out & ~defs[block]
            changed |= into != live_in[block]
            live_in[block], live_out[block] = into, out
    return live_in, live_out


def _peak(
    body: Sequence[Instruction],
    live_out: int,
    numbers: Mapping[Register, int],
    weights: Sequence[int],
) -> int:
    """The most words live at once in a block, walked from its end."""
    live = {n for n in range(live_out.bit_length()) if live_out >> n & 1}
    words = peak = sum(weights[n] for n in live)
    for instruction in reversed(body):
        written = {numbers[register] for register in instruction.writes}
        peak = max(peak, words + sum(weights[n] for n in written - live))
        if instruction.guard is None:
            words -= sum(weights[n] for n in written & live)
            live -= written
        read = {numbers[register] for register in instruction.reads} - live
        words += sum(weights[n] for n in read)
        live |= read
        peak = max(peak, words)
    return peak
