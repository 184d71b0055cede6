"""What Accel-Sim's parser and simulator stop at, as a strict reader of the folder that they read.

Written from what they do with a trace, so that an export can be judged without them: where the
parser asserts, where the simulator knows no opcode or no version, and that every lane of a warp
ends once, after which it does nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernelcast.traces.accel_sim.simulator import BULK_COPIES, opcodes_known

MOST_RESULTS, MOST_SOURCES, BARRIERS, LANES = 1, 4, 16, 32
WITH_DATA = frozenset(
    {"ATOM", "ATOMG", "ATOMS", "LD", "LDG", "LDGSTS", "LDL", "LDS", "LDSM"}
    | {"RED", "REDG", "ST", "STAS", "STG", "STL", "STS"}
)
"""The simulator wants a width of these."""

LOCAL = frozenset({"LDL", "STL"})


@dataclass
class Trace:
    """What was read: the head, lines, and the sum of all addresses of active lanes."""

    head: dict[str, str] = field(default_factory=dict)
    copies: list[tuple[int, int]] = field(default_factory=list)
    lines: int = 0
    addresses: int = 0


def read_strictly(folder: Path) -> Trace:
    """Read an exported folder; AssertionError says where Accel-Sim would stop, or go astray."""
    trace = Trace()
    names = []
    for line in (folder / "kernelslist.g").read_text().splitlines():
        if copy := re.fullmatch(r"MemcpyHtoD,(0x[0-9a-f]+),(\d+)", line):
            trace.copies.append((int(copy[1], 16), int(copy[2])))
        else:
            assert line.startswith("kernel"), line
            assert line.endswith(".traceg"), line
            names.append(line)
    for name in names:
        text = (folder / name).read_text()
        assert text.endswith("\n"), "every line must end"
        _read_launch(iter([line for line in text.splitlines() if line]), trace)
    return trace


def _read_launch(lines: Iterator[str], trace: Trace) -> None:
    for line in lines:
        if line.startswith("#"):
            break
        key, equals, value = line.partition(" = ")
        assert key.startswith("-") and equals, line
        trace.head[key[1:]] = value
    known = opcodes_known(int(trace.head["binary version"]))
    assert known, "unsupported binary version"
    blocks, threads = _extent(trace.head["grid dim"]), _extent(trace.head["block dim"])
    for _ in range(blocks):
        assert next(lines) == "#BEGIN_TB"
        assert re.fullmatch(r"thread block = \d+,\d+,\d+", next(lines))
        for warp in range(-(-threads // LANES)):
            assert next(lines) == f"warp = {warp}"
            count = int(next(lines).removeprefix("insts = "))
            assert count, "a warp without instructions"
            alive = (1 << min(LANES, threads - LANES * warp)) - 1
            for _ in range(count):
                alive = _read_line(next(lines), known, alive, trace)
            assert not alive, f"lanes {alive:x} never end"
        assert next(lines) == "#END_TB"
    assert not [*lines], "more blocks than the grid has"


def _extent(text: str) -> int:
    x, y, z = map(int, text.strip("()").split(","))
    return x * y * z


def _read_line(line: str, known: frozenset[str], alive: int, trace: Trace) -> int:
    """Judge one line; the lanes that go on."""
    words = iter(line.split())
    int(next(words), 16)
    mask = int(next(words), 16)
    assert not mask & ~alive, f"lanes that are not there: {line}"
    _registers(words, MOST_RESULTS)
    base, *modifiers = next(words).split(".")
    assert base in known, f"undefined instruction: {base}"
    _registers(words, MOST_SOURCES)
    if "GMMA" in base:
        assert next(words) in ("0", "1")
    width = int(next(words))
    if base in BULK_COPIES:
        assert [*words][5:6] == ["4"], line
        return alive
    addresses = _addresses(words, mask) if width else []
    trace.lines += 1
    trace.addresses += sum(addresses)
    if base in WITH_DATA:
        data = _data_bytes(modifiers)
        assert width and data, f"no width: {line}"
        assert base not in LOCAL or all(at % min(data, 4) == 0 for at in addresses), line
    immediates = [int(word) for word in words]
    assert 1 <= len(immediates) <= 2, line
    if base == "BAR" and mask:
        assert 0 <= immediates[0] < BARRIERS, line
    return alive & ~mask if base == "EXIT" else alive


def _registers(words: Iterator[str], most: int) -> None:
    count = int(next(words))
    assert count <= most
    for _ in range(count):
        assert re.fullmatch(r"R\d+", next(words))


def _addresses(words: Iterator[str], mask: int) -> list[int]:
    """The addresses of active lanes."""
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    way, base = int(next(words)), int(next(words), 16)
    if way == 1:
        stride = int(next(words))
        assert -(1 << 31) <= stride < 1 << 31
        assert not lanes or lanes == [*range(lanes[0], lanes[-1] + 1)]
        return [base + n * stride for n in range(len(lanes))]
    assert way == 2
    found = [base] if lanes else []
    for _ in lanes[1:]:
        found.append(found[-1] + int(next(words)))
    return found


def _data_bytes(modifiers: list[str]) -> int:
    """The width that the simulator takes from the opcode."""
    for modifier in modifiers:
        if number := re.fullmatch(r"U?(\d+)", modifier):
            return int(number[1]) // 8
    return 4
