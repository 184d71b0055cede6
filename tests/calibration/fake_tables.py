"""Tables of gpu-benches as its programs print them, of a chip whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

KIB, MIB = 1024, 1 << 20
_NOISE = 0.004
_BLOCK = "float block     1  4098     9.2   14.0   2.00    9.2   0.01 "


@dataclass(frozen=True)
class Chip:
    """Latencies in cycles up to footprints, the last beyond all; rates in byte/s."""

    clock_mhz: int = 1400
    sms: int = 108
    latencies: tuple[tuple[float, float], ...] = (
        (150 * KIB, 31.0),
        (18 * MIB, 202.0),
        (36 * MIB, 390.0),
        (float("inf"), 540.0),
    )
    l1_bytes_per_cycle: float = 120.0
    l2_rate: float = 5.1e12
    l2_mixed: float = 3.7e12
    beyond_rate: float = 4.2e12
    write: float = 1.8e12
    read: float = 1.7e12
    mixed: float = 1.55e12
    launch_s: float = 2.9e-6
    block_s: float = 0.8e-9
    fp32: float = 60.0


def tables(chip: Chip, folder: Path, wanted: Sequence[str] = ()) -> list[str]:
    """Write the tables of these programs, or of all, into the folder; their paths."""
    random = np.random.default_rng(7)
    paths = []
    for name, lines in PROGRAMS.items():
        if not wanted or name in wanted:
            path = folder / f"{name}.txt"
            path.write_text("\n".join(lines(chip, random)) + "\n")
            paths.append(str(path))
    return paths


def _noisy(value: float, random: np.random.Generator) -> float:
    return value * float(1 + _NOISE * random.standard_normal())


def _footprints(last: float, ratio: float) -> list[float]:
    count = int(np.log(last / 2048) / np.log(ratio))
    return [2048 * ratio**i for i in range(count + 1)]


def _latency(chip: Chip, random: np.random.Generator) -> list[str]:
    """From one level to the next the latency rises over a twentieth of the footprint."""
    lines = [f"clock: 1155 1200 {chip.clock_mhz}"]
    for size in _footprints(2e9, 1.04):
        cycles = chip.latencies[0][1]
        for (end, _), (_, above) in zip(chip.latencies, chip.latencies[1:], strict=False):
            share = min(1.0, max(0.0, (size / end - 1) / 0.05))
            cycles += share * (above - cycles)
        seen = _noisy(cycles, random)
        numbers = f"{seen:7.1f} {seen:.1f} {seen - 0.1:.1f} {seen + 0.2:.1f}"
        lines.append(f"  1000000  {chip.clock_mhz} {size / 1024:8.1f} {seen * 0.7:8.1f} {numbers}")
    return [*lines, ""]


def _cache_line(size: float, rate: float, more: str = "") -> str:
    zero = "0 GB/s         "
    shown = f"{more}{size / 1024:10.0f} kB        48ms       2.2%"
    return f"{shown} {rate / 1e9:9.1f} GB/s         {zero}{zero}{zero}{zero}".rstrip() + " "


def _cache(chip: Chip, random: np.random.Generator) -> list[str]:
    lines = [
        f"clock: 1155 {chip.clock_mhz} ",
        "     data set   exec time     spread        Eff. bw       DRAM read      DRAM write",
    ]
    near = chip.l1_bytes_per_cycle * chip.sms * chip.clock_mhz * 1e6
    for size in _footprints(2e8, 1.17):
        rate = near if size <= 150 * KIB else chip.l2_rate
        rate = chip.beyond_rate if size > 20 * MIB else rate
        lines.append(_cache_line(size, _noisy(rate, random)))
    return lines


def _l2_cache(chip: Chip, random: np.random.Generator) -> list[str]:
    lines = ["     data set   exec time     spread       Eff. bw"]
    for size in _footprints(4e9, 1.1)[60:]:
        rate = chip.l2_rate if size <= 25 * MIB else chip.read
        lines.append(_cache_line(size, _noisy(rate, random), "       512 kB"))
    return lines


def _stream(chip: Chip, random: np.random.Generator) -> list[str]:
    lines = ["block smBlocks   threads    occ%   |                init       read       scale"]
    for warps in range(1, 65):
        share = min(1.0, warps / 40)
        rates = [chip.write, chip.read, chip.mixed, chip.read, chip.mixed, chip.mixed]
        shown = "   ".join(f"{_noisy(share * rate, random) / 1e9:8.0f}" for rate in rates)
        threads = warps * 32 * chip.sms
        occupancy = 100 * warps / 64
        lines.append(f"{warps * 16:4} {threads:9}       2  {occupancy:5.1f}%     |  GB/s: {shown}")
    return lines


def _l2_stream(chip: Chip, random: np.random.Generator) -> list[str]:
    """The last line is cut off, as of a run that was ended."""
    lines = [f"clock: {chip.clock_mhz} "]
    for length in (1023, 2047, 4095, 65535, 262143):
        for warps in (8, 16, 32, 48, 64):
            share = min(1.0, warps / 40)
            scale = chip.l2_mixed if length < 5000 else chip.mixed
            rates = [chip.read, scale, chip.read, chip.write]
            triples = [f"{_noisy(share * r, random) / 1e9:6.0f}" for r in rates for _ in range(3)]
            threads = warps * 32 * chip.sms
            occupancy = f"{100 * warps / 64:5.1f}%"
            shown = " ".join(triples)
            lines.append(f" {warps * 16} 2 {threads} {length} {occupancy}     |  GB/s: {shown} ")
        lines.append("")
    return [*lines, "  96    1    10368  2144895    4.7%     |  GB/s: "]


def _small_kernels(chip: Chip, random: np.random.Generator) -> list[str]:
    lines = []
    elements = 4096
    while elements < 2e7:
        rates = []
        for block in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
            blocks_s = elements / block * chip.block_s
            moved_s = 16 * elements / chip.mixed
            seconds = chip.launch_s + max(0.0, max(blocks_s, moved_s) - 0.2e-6)
            rates.append(16 * elements / _noisy(seconds, random))
        shown = "  ".join(f"{rate / 1e9:5.0f}" for rate in rates)
        lines.append(f"{elements}  {elements * 16 // 1024}kB  {shown}  ")
        elements += int(elements * 0.08)
    return lines


def _roofline(chip: Chip, random: np.random.Generator) -> list[str]:
    lines = ["8", "16", "-- Finished Building --", ""]
    peak = 2 * chip.fp32 * chip.sms * chip.clock_mhz * 1e6
    for fma in (0, 1, 4, 16, 64, 128, 256, 384, 448, 512):
        intensity = (2 + 2 * fma) / 8
        flops = min(peak, intensity * chip.read)
        for device in range(4):
            seen = _noisy(flops, random)
            lines.append(
                f"{device} 864 blocks {fma:5} its {intensity:10.3f} Fl/B "
                f"{seen / intensity / 1e9:10.0f} GB/s {seen / 1e9:9.0f} GF/s   "
                f"{chip.clock_mhz} Mhz   227 W   47°C"
            )
        lines.append("")
    return lines


def _strides(chip: Chip, random: np.random.Generator) -> list[str]:
    lines = [f"clock: {chip.clock_mhz} ", "", _BLOCK]
    for word, width in (("float", 4), ("double", 8)):
        for stride in range(65):
            cycles = max(1, stride) * 32 * width / chip.l1_bytes_per_cycle
            rate = 32 * width / cycles
            place = f"{word} stride   {stride:3}  {stride:3}"
            lines.append(f"{place}  {cycles:6.2f} {rate:6.1f}   1.00    1.0   0.01 ")
    return lines


PROGRAMS: dict[str, Callable[[Chip, np.random.Generator], list[str]]] = {
    "gpu-latency": _latency,
    "gpu-cache": _cache,
    "gpu-l2-cache": _l2_cache,
    "gpu-stream": _stream,
    "gpu-l2-stream": _l2_stream,
    "gpu-small-kernels": _small_kernels,
    "gpu-roofline": _roofline,
    "gpu-strides": _strides,
}
