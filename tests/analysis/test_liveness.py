"""Live registers: known answers, and the definition over paths as a law."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcast.analysis.liveness import live_registers
from kernelcast.ir import BasicBlock, Guard, Instruction, Kernel, OpClass, Register

A, B, C = (Register(name, "b32") for name in "abc")
WIDE = Register("wide", "f64")
PREDICATE = Register("p", "pred")

Step = tuple[tuple[Register, ...], tuple[Register, ...], Register | None]


def step(reads: str, writes: str, guard: Register | None = None) -> Step:
    """An instruction by the names of its registers: a, b, c of 32 bits, w of 64, p a predicate."""
    names = {"a": A, "b": B, "c": C, "w": WIDE, "p": PREDICATE}
    return tuple(names[n] for n in reads), tuple(names[n] for n in writes), guard


def kernel_of(bodies: list[list[Step]], successors: list[tuple[int, ...]]) -> Kernel:
    """A kernel of blocks that hold these instructions."""
    instructions: list[Instruction] = []
    blocks = []
    for at, body in enumerate(bodies):
        start = len(instructions)
        for reads, writes, guard in body:
            instructions.append(
                Instruction(
                    index=len(instructions),
                    opcode="op",
                    modifiers=(),
                    operands=(),
                    op_class=OpClass.OTHER,
                    guard=Guard(guard) if guard else None,
                    reads=(guard, *reads) if guard else reads,
                    writes=writes,
                )
            )
        blocks.append(BasicBlock(at, start, len(instructions), successors[at]))
    return Kernel("k", "ptx", "sm_90", (), tuple(instructions), tuple(blocks))


@pytest.mark.parametrize(
    ("body", "registers"),
    [
        ([], 0),
        ([step("", "a"), step("a", "b"), step("b", "")], 1),  # b may take a's place
        ([step("", "a"), step("", "b"), step("ab", "c"), step("c", "")], 2),
        ([step("", "a"), step("", "b"), step("ab", "c"), step("ac", "")], 2),
        ([step("", "a"), step("", "b"), step("ab", "c"), step("abc", "")], 3),
        ([step("", "w"), step("", "a"), step("wa", "")], 3),  # 64 bits take two
        ([step("", "p"), step("", "a"), step("pa", "")], 1),  # predicates take none
        ([step("", "a")], 1),  # what nobody reads must still be written somewhere
        ([step("", "a"), step("", "b"), step("", "a", B), step("a", "")], 2),
        ([step("", "a"), step("", "b"), step("", "a"), step("ab", "")], 2),
    ],
)
def test_straight_code(body: list[Step], registers: int) -> None:
    assert live_registers(kernel_of([body], [()])) == registers


def test_guarded_write_keeps_the_old_value_alive() -> None:
    def bodies(guard: Register | None) -> list[list[Step]]:
        overlap = [step("", "a"), step("", "b"), step("b", "c"), step("c", "")]
        return [[*overlap, step("", "a", guard), step("a", "")]]

    assert live_registers(kernel_of(bodies(None), [()])) == 1
    assert live_registers(kernel_of(bodies(PREDICATE), [()])) == 2


def test_value_lives_around_a_loop() -> None:
    # `a` is set before the loop and read by it, so it lives where only b and c are touched.
    bodies = [[step("", "a")], [step("a", "b")], [step("b", "c"), step("c", "")], []]
    assert live_registers(kernel_of(bodies, [(1,), (2,), (3, 1), ()])) == 2
    assert live_registers(kernel_of(bodies, [(1,), (2,), (3,), ()])) == 1


def test_packed_and_small_types() -> None:
    for type_, words in (("u8", 1), ("b16", 1), ("f16x2", 1), ("b128", 4), ("s64", 2)):
        register = Register("r", type_)
        assert live_registers(kernel_of([[((), (register,), None)]], [()])) == words, type_


REGISTERS = (A, B, C, WIDE, PREDICATE)


def random_kernel(rng: random.Random) -> Kernel:
    """Up to five blocks of random instructions with random edges."""
    count = rng.randrange(1, 6)
    bodies = [
        [
            (
                tuple(rng.sample(REGISTERS, rng.randrange(3))),
                tuple(rng.sample(REGISTERS, rng.randrange(2))),
                rng.choice((None, None, PREDICATE)),
            )
            for _ in range(rng.randrange(1, 4))
        ]
        for _ in range(count)
    ]
    return kernel_of(
        bodies, [tuple(rng.sample(range(count), min(count, rng.randrange(3)))) for _ in bodies]
    )


def lives_before(kernel: Kernel, register: Register, at: int) -> bool:
    """Whether some path from instruction `at` reads the register before it is overwritten."""
    block_of = {i: b for b in kernel.blocks for i in range(b.start, b.end)}
    seen: set[int] = set()
    pending = [at]
    while pending:
        index = pending.pop()
        if index in seen:
            continue
        seen.add(index)
        instruction = kernel.instructions[index]
        if register in instruction.reads:
            return True
        if register in instruction.writes and instruction.guard is None:
            continue
        block = block_of[index]
        if index + 1 < block.end:
            pending.append(index + 1)
        else:
            pending += [kernel.blocks[s].start for s in block.successors]
    return False


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_point_of_the_program_holds_more(rng: random.Random) -> None:
    kernel = random_kernel(rng)
    words = {A: 1, B: 1, C: 1, WIDE: 2, PREDICATE: 0}
    most = 0
    for block in kernel.blocks:
        for index in range(block.start, block.end):
            live = {r for r in REGISTERS if lives_before(kernel, r, index)}
            following = (
                [index + 1]
                if index + 1 < block.end
                else [kernel.blocks[s].start for s in block.successors]
            )
            after = {r for r in REGISTERS for f in following if lives_before(kernel, r, f)}
            written = set(kernel.instructions[index].writes)
            most = max(most, sum(words[r] for r in live), sum(words[r] for r in after | written))
    assert live_registers(kernel) == most
