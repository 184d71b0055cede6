"""The words of an access stream."""

from __future__ import annotations

from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, PARTIAL_SHIFT, ROW_MASK, ROW_SHIFT


def test_the_fields_of_a_word_lie_side_by_side():
    fields = [0xF, 0xF << PARTIAL_SHIFT, 1 << FIRST_BIT, ROW_MASK << ROW_SHIFT]
    fields.append((1 << 64) - (1 << LINE_SHIFT))
    assert sum(fields) == (1 << 64) - 1
