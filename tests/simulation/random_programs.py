"""Programs that hypothesis draws, with the blocks that execute them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from tests.simulation.programs import EXIT, Op, entering, program, request, streams
from tests.simulation.reference import path

from kernelcast.ir import Kernel, OpClass, Space
from kernelcast.profiling import layout as spaces
from kernelcast.simulation.streams import WarpStreams

PIPED = (OpClass.FP32, OpClass.INT, OpClass.FP64, OpClass.SFU, OpClass.LOGIC, OpClass.OTHER)
REGISTERS = ("", "a", "b", "a b", "c")


@dataclass(frozen=True)
class Drawn:
    """A program, and by block and warp the basic blocks that it enters, the last one once."""

    kernel: Kernel = field(repr=False)
    ways: list[list[list[int]]]

    @property
    def paths(self) -> list[list[list[int]]]:
        """By block and warp, the instructions."""
        return [[path(self.kernel, way) for way in warps] for warps in self.ways]

    def streams(self, lines: int = 0) -> WarpStreams:
        """What the warps did; every access asks for as many lines, which no other does."""
        return streams([[self._words(way, lines) for way in warps] for warps in self.ways])

    def _words(self, way: list[int], lines: int) -> list[int]:
        words: list[int] = []
        for number, block in enumerate(way):
            words += entering(block)
            held = self.kernel.blocks[block]
            for at in range(held.start, held.end):
                space = self.kernel.instructions[at].space
                first = 64 * (len(words) + 97 * number)
                if space is Space.GLOBAL:
                    words += request(at, spaces.GLOBAL, range(first, first + lines))
                elif space is Space.SHARED:
                    words += request(at, spaces.SHARED, passes=lines)
        return words


def ops(memory: bool = False) -> st.SearchStrategy[Op]:
    """Any instruction but barriers."""
    plain = st.builds(
        Op,
        st.sampled_from(PIPED),
        stall=st.integers(1, 6),
        counter=st.sampled_from([None, None, 0, 3]),
        waits=st.sampled_from([(), (), (0,), (0, 3)]),
        reads=st.sampled_from(REGISTERS),
        writes=st.sampled_from(REGISTERS),
    )
    if not memory:
        return plain
    access = st.builds(
        Op,
        st.sampled_from([OpClass.LOAD, OpClass.STORE]),
        stall=st.integers(1, 4),
        counter=st.sampled_from([1, 2]),
        waits=st.sampled_from([(), (1,), (1, 2)]),
        space=st.sampled_from([Space.GLOBAL, Space.SHARED]),
        reads=st.just("a"),
        writes=st.just("b"),
    )
    return plain | access


BARRIER = Op(OpClass.BARRIER, stall=2, waits=(0,))


@st.composite
def drawn_programs(draw: st.DrawFn, *, control: bool = True, memory: bool = False) -> Drawn:
    """A few basic blocks, which warps go through in any order, and then the last one."""
    instruction = ops(memory) | st.just(BARRIER)
    bodies = draw(st.lists(st.lists(instruction, min_size=1, max_size=6), min_size=1, max_size=3))
    listed = [op for body in bodies for op in body]
    lengths = [*map(len, bodies), 1]
    kernel = program([*listed, EXIT], lengths, control=control)
    warps = draw(st.integers(1, 6))
    way = st.lists(st.integers(0, len(bodies) - 1), max_size=5)
    blocks = draw(st.lists(st.lists(way, min_size=warps, max_size=warps), min_size=1, max_size=5))
    return Drawn(kernel, [[[*one, len(bodies)] for one in ways] for ways in blocks])
