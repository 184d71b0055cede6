"""The memory chart as a picture: from the kernel over its state spaces and caches to the DRAM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelcast.reporting.documents.memory_chart import SpacePart
from kernelcast.reporting.documents.result import TrafficPart
from kernelcast.reporting.figures import percent, scaled, size
from kernelcast.reporting.svg import inline_svg, label

_WIDTH, _HEIGHT = 1010, 250
_BOX = 118
_TALL = 72
_COLUMNS = (4, 224, 444, 664, 884)
_ROWS = (24, 150)


def memory_picture(traffic: TrafficPart, spaces: Sequence[SpacePart]) -> str:
    """Boxes with hit rates, joined by requests and bytes; what is not accessed is left out."""
    cached = [space for space in spaces if space.space != "shared"]
    shared = [space for space in spaces if space.space == "shared"]
    parts = [*_box(0, 0, "Kernel", "", tall=_ROWS[1] + _TALL - _ROWS[0] if shared else _TALL)]
    if cached:
        parts += _beyond_the_sm(traffic, cached)
    if shared:
        parts += _shared(shared[0])
    height = _HEIGHT if shared else _ROWS[0] + _TALL + 30
    return inline_svg("Memory chart: " + _words(traffic, spaces), _WIDTH, height, parts)


def _words(traffic: TrafficPart, spaces: Sequence[SpacePart]) -> str:
    asked = (f"{size(s.requested_bytes)} asked of {s.space} memory" for s in spaces)
    levels = (
        f"{size(moved)} at {name}"
        for name, moved in (
            ("L1", traffic.l1_bytes),
            ("L2", traffic.l2_bytes),
            ("DRAM", traffic.dram_bytes),
        )
    )
    return ", ".join([*asked, *levels])


def _beyond_the_sm(traffic: TrafficPart, spaces: Sequence[SpacePart]) -> Iterator[str]:
    held = traffic.caches
    l1, l2 = (held.l1_hit_ratio, held.l2_hit_ratio) if held else (None, None)
    names = " and ".join(space.space for space in spaces)
    yield from _box(1, 0, names.capitalize(), _requests(spaces))
    yield from _box(2, 0, "L1/TEX cache", _hits(l1))
    yield from _box(3, 0, "L2 cache", _hits(l2))
    yield from _box(4, 0, "Device memory", "")
    yield from _arrow(0, 0, size(sum(s.requested_bytes for s in spaces)), "asked for")
    yield from _arrow(1, 0, size(traffic.l1_bytes), "")
    yield from _arrow(2, 0, size(traffic.l2_bytes), "")
    read, written = (held.dram_read_bytes, held.dram_written_bytes) if held else (0.0, 0.0)
    words = (
        (f"{size(read)} read", f"{size(written)} written")
        if held
        else (size(traffic.dram_bytes), "estimated")
    )
    yield from _arrow(3, 0, *words)


def _shared(space: SpacePart) -> Iterator[str]:
    yield from _box(1, 1, "Shared", _requests([space]))
    conflicts = space.passes / space.ideal_passes if space.ideal_passes else 1.0
    words = "no bank conflicts" if conflicts < 1.005 else f"{conflicts:.1f}-fold conflicts"
    yield from _box(2, 1, "Shared memory", words)
    yield from _arrow(0, 1, size(space.requested_bytes), "asked for")
    yield from _arrow(1, 1, f"{scaled(space.passes, '')} passes", "")


def _requests(spaces: Sequence[SpacePart]) -> str:
    return f"{scaled(sum(s.loads + s.stores + s.atomics for s in spaces), '')} requests"


def _hits(ratio: float | None) -> str:
    return "" if ratio is None else f"hit rate {percent(ratio)}"


def _box(column: int, row: int, name: str, words: str, tall: int = _TALL) -> Iterator[str]:
    x, y = _COLUMNS[column], _ROWS[row]
    yield f'<rect class="box" x="{x}" y="{y}" width="{_BOX}" height="{tall}" rx="6"/>'
    middle = y + tall / 2
    yield label(x + _BOX / 2, middle + (-4 if words else 5), name, "middle", "name")
    if words:
        yield label(x + _BOX / 2, middle + 16, words, "middle")


def _arrow(column: int, row: int, above: str, below: str) -> Iterator[str]:
    """From the box of a column to the next one."""
    start, end = _COLUMNS[column] + _BOX + 4, _COLUMNS[column + 1] - 4
    y = _ROWS[row] + _TALL / 2
    yield f'<path class="arrow" d="M{start} {y}H{end - 6}"/>'
    yield f'<path class="head" d="M{end} {y}l-9 -5v10z"/>'
    yield label((start + end) / 2 - 2, y - 8, above, "middle")
    if below:
        yield label((start + end) / 2 - 2, y + 18, below, "middle")
