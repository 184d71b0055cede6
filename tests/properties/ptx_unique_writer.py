"""What the writer of a kernel with one result knows besides registers and labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from tests.properties.ptx_operations import IMMEDIATES, OPERATIONS, Operation, within
from tests.properties.ptx_writer import Writer, by_opcode

UNIFORM = {
    # pool: the pool it is like, register type, number of registers, element type of its array
    "n": ("r", "b32", 4, "u32"),
    "o": ("l", "b64", 2, "u64"),
    "k": ("f", "f32", 3, "f32"),
}
"""Registers that hold the same in all threads of a block, as long as `together` is kept."""
UNIFORM_PREDICATES = 2
UNIT_BEGINS, UNIT_ENDS = "//+", "//-"
_UNIFORM_POOL = {**{like: pool for pool, (like, *_) in UNIFORM.items()}, "p": "u"}
_DIVISORS = (1, 2, 3, 5, 7, 10, 16, 255, 1000, -1, -3)
_AMOUNTS = {"bfe": (1, 3), "bfi": (2, 4), "shl": (1, 2), "shr": (1, 2)}
"""Operands that say a place or number of bits: from and to."""
_GUARDED = re.compile(
    r"(mov|add|sub|mul\.lo|mad\.lo|and|or|xor|min|max|fma\.rn|selp|setp\.\w+)\."
    r"([busf]32|f64|pred) |(ld|st|red|atom)\..*\.[bus](32|64) |lop3"
)
_MAY_BE_FUSED = re.compile(r"(add|sub|mul)(\.ftz|\.sat)*\.b?f\d")


class UniqueWriter(Writer):
    """Writes statements whose result PTX defines.

    `together` holds where all threads of the block are at the same place; `full_warps` where no
    warp lacks a lane, and `everyone` where no thread has left.
    """

    def __init__(
        self,
        random: Random,
        chosen: list[str],
        nested: Callable[[Writer, int, int], None],
        *,
        architecture: int,
        threads: int,
        predicates: int,
    ) -> None:
        super().__init__(
            random,
            chosen,
            nested,
            architecture=architecture,
            predicates=predicates,
            full_warps=threads % 32 == 0,
            accepts=_is_defined,
        )
        self.architecture = architecture
        self.threads = threads
        self.pools = frozenset({"r", *chosen})
        self.together = True
        self.everyone = True
        self.shared_used = False
        self.counts |= {pool: count for pool, (_, _, count, _) in UNIFORM.items()}
        self.counts |= {"u": UNIFORM_PREDICATES, "v": 3, "z": 2}
        # On sm_75 to sm_89 NVIDIA's assembler mistakes a constant width of `szext` for another.
        rows = [row for row in OPERATIONS if not row.name.startswith("szext")]
        usable = within(rows, {"r", "l", "f"})
        self.uniform = by_opcode([r for r in usable if r.since <= architecture and _is_defined(r)])

    @contextmanager
    def unit(self) -> Iterator[None]:
        """Lines that may be left out as a whole, and the result is still defined."""
        self.lines.append(UNIT_BEGINS)
        yield
        self.lines.append(UNIT_ENDS)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Where some threads may be elsewhere."""
        before, self.together = self.together, False
        yield
        self.together = before

    def emit_maybe(self, text: str) -> None:
        """Guarded where assemblers keep to it: NVIDIA's loses the guard of what it expands."""
        if _GUARDED.match(text):
            return super().emit_maybe(text)
        if self.below(8):
            return self.emit(text)
        end = self.new_label()
        self.emit(f"@{self.pick(('', '!'))}{self.register('p')} bra {end}")
        self.emit(text)
        return self.label(end)

    def operation(self, row: Operation, *, uniform: bool = False) -> None:
        """One instruction, of which a divisor is not zero."""
        pools = _UNIFORM_POOL if uniform else {}
        target, sources = pools.get(row.target, row.target), [pools.get(s, s) for s in row.sources]
        registers = [self.register(pool) for pool in sources]
        # An assembler refuses literals of which it would have to take halves.
        operands = registers if "x2" in row.name else [self.source(pool) for pool in sources]
        if row.name.startswith(("div", "rem")) and row.target in "rlh":
            operands[1] = self._divisor(row.target, sources[1])
        for at in range(*_AMOUNTS.get(row.name.partition(".")[0], (0, 0))):
            operands[at] = self._amount(registers[at], at)
        text = f"{row.name} {', '.join([self.register(target), *operands])}"
        if uniform:
            self.emit(text)
        else:
            self.emit_maybe(text)

    def source(self, pool: str) -> str:
        if pool in ("n", "o") and self.below(4) == 0:
            return str(self.pick(IMMEDIATES))
        return super().source(pool)

    def _amount(self, register: str, at: int) -> str:
        """A place or number of bits: what is above 255 PTX leaves open."""
        if self.below(2):
            return str(self.below(70))
        self.emit(f"and.b32 %t{at}, {register}, {self.pick((31, 63, 255))}")
        return f"%t{at}"

    def _divisor(self, kind: str, pool: str) -> str:
        if self.below(2):
            return str(self.pick(_DIVISORS))
        temporary, width = {"r": ("%t3", 32), "l": ("%a1", 64), "h": ("%th0", 16)}[kind]
        self.emit(f"or.b{width} {temporary}, {self.register(pool)}, 1")
        return temporary


def _is_defined(row: Operation) -> bool:
    """An assembler may fuse a product and a sum of which none asks for its rounding."""
    return not _MAY_BE_FUSED.match(row.name)
