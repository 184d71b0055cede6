"""What bound a launch that was measured, by a profiler's counters, and whether a forecast says so.

A resource binds that is the busiest of all and busy for 60 % of its peak or more; where all are
less busy, latency does, as NVIDIA's Nsight Compute puts it ("Kernel Profiling Guide", GPU speed of
light throughput). Counters do not tell apart what comes within a tenth of that: what a stream takes
of the L2 cache and of the DRAM, such as 0.88 and 0.86, or latency and a pipe that is busy for 62 %.
Where a file holds the bytes of the DRAM and operations alone, they tell of the
launches that they bind; of others nothing is known.

The counter of shared memory holds a path of data that moves a whole wavefront of 128 B in a cycle
for its peak. Where the machine moves fewer bytes, that peak is out of reach: no configuration of a
convolution on an RTX 2080 Ti, whose path moves 64 B, comes to 50 % of it, and a third of them to
45 % or more. No stream has all of the DRAM's peak, either: its share is that of what streams
have.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.machines.machine import Machine
from kernelcast.measurements.observation import Observation
from kernelcast.models.terms.base import Bottleneck

_BUSY = 0.6
_PERCENT = ".avg.pct_of_peak_sustained_"
_SHARES: Mapping[str, Bottleneck] = {
    f"dram__throughput{_PERCENT}elapsed": Bottleneck.DRAM_BANDWIDTH,
    f"lts__t_sectors{_PERCENT}elapsed": Bottleneck.L2_BANDWIDTH,
    f"l1tex__data_pipe_lsu_wavefronts_mem_shared{_PERCENT}elapsed": Bottleneck.SHARED_BANDWIDTH,
    f"smsp__pipe_fma_cycles_active{_PERCENT}active": Bottleneck.FP32,
    f"smsp__inst_executed_pipe_fp64{_PERCENT}active": Bottleneck.FP64,
    f"smsp__inst_executed_pipe_xu{_PERCENT}active": Bottleneck.SFU,
    f"smsp__inst_executed_pipe_lsu{_PERCENT}active": Bottleneck.LSU,
    f"smsp__issue_active{_PERCENT}active": Bottleneck.ISSUE,
}
"""Shares of a resource's peak, in percent, by the counter's name."""
_UNITS: Mapping[str, Bottleneck] = {
    f"dram__throughput{_PERCENT}elapsed": Bottleneck.DRAM_BANDWIDTH,
    f"lts__throughput{_PERCENT}elapsed": Bottleneck.L2_BANDWIDTH,
    f"l1tex__throughput{_PERCENT}active": Bottleneck.SHARED_BANDWIDTH,
    f"smsp__issue_active{_PERCENT}active": Bottleneck.ISSUE,
}
"""The same where a file holds whole units alone, and `_ANY_OF_SM`."""
_ANY_OF_SM = f"sm__throughput{_PERCENT}elapsed"
"""The share of whatever of an SM is busiest, which may be a pipe of arithmetic."""
_WAVEFRONT_BYTES = 128
_OPERATIONS = {"flop_count_sp": Bottleneck.FP32, "flop_count_dp": Bottleneck.FP64}
_LATENCY = "latency"
_SAME = {
    Bottleneck.L1_BANDWIDTH: Bottleneck.SHARED_BANDWIDTH,
    Bottleneck.NOC_BANDWIDTH: Bottleneck.L2_BANDWIDTH,
    Bottleneck.LSU: Bottleneck.SHARED_BANDWIDTH,
}
"""Resources that counters do not tell apart: L1 cache, shared memory and the unit before them are
one path of data, L2 cache and the way there another."""
_RESOURCES = (*_SHARES.values(), *_SAME)
_ALIKE = 0.9
"""What is as busy as this part of the busiest resource may bind as well."""


def resource_class(bottleneck: Bottleneck) -> str:
    """What a bottleneck is among those that counters tell apart: a resource, or latency."""
    return str(_SAME.get(bottleneck, bottleneck)) if bottleneck in _RESOURCES else _LATENCY


def measured_classes(row: Observation, machine: Machine) -> tuple[str, ...]:
    """What may have bound a launch, by its counters, the busiest first; empty where they do not
    say."""
    if shares := _shares(row, _SHARES, machine):
        moved = machine.get("shared.bandwidth") or _WAVEFRONT_BYTES
        shares[Bottleneck.SHARED_BANDWIDTH] *= max(1.0, _WAVEFRONT_BYTES / moved)
        return _alike(shares)
    units = _shares(row, _UNITS, machine)
    if not units or _ANY_OF_SM not in row.counters:
        rates = _rates(row, machine)
        return _alike(rates) if max(rates.values(), default=0.0) >= _BUSY else ()
    if row.counters[_ANY_OF_SM] / 100 > max(_BUSY, *units.values()):
        return ()  # a pipe of arithmetic, and nothing says which
    return _alike(units)


def _shares(
    row: Observation, counted: Mapping[str, Bottleneck], machine: Machine
) -> dict[Bottleneck, float]:
    """The shares that counters tell, that of the DRAM of what streams have; none unless all do."""
    if not counted.keys() <= row.counters.keys():
        return {}
    shares = {bottleneck: row.counters[name] / 100 for name, bottleneck in counted.items()}
    peak, streamed = machine.get("dram.bandwidth"), machine.get("dram.achieved_bandwidth")
    if peak and streamed:
        shares[Bottleneck.DRAM_BANDWIDTH] *= peak / streamed
    return shares


def _alike(shares: Mapping[Bottleneck, float]) -> tuple[str, ...]:
    """The busiest resource, or latency where none is busy, and what counters cannot tell from it.

    Latency stands among them as a resource that is always as busy as one must be to bind.
    """
    by_class = {_LATENCY: _BUSY}
    for bottleneck, share in shares.items():
        name = resource_class(bottleneck)
        by_class[name] = max(share, by_class.get(name, 0.0))
    least = _ALIKE * max(by_class.values())
    return tuple(sorted((n for n in by_class if by_class[n] >= least), key=lambda n: -by_class[n]))


def _rates(row: Observation, machine: Machine) -> Mapping[Bottleneck, float]:
    """Of the machine's peaks, the shares that bytes and operations took."""
    found: dict[Bottleneck, float] = {}
    if not row.seconds:
        return found
    streamed = machine.get("dram.achieved_bandwidth") or machine.get("dram.bandwidth")
    moved = row.counters.get("dram__bytes.sum")
    if moved and streamed:
        found[Bottleneck.DRAM_BANDWIDTH] = moved / row.time_s / streamed
    sms, clock_hz = machine.get("sm.count"), machine.get("clock.sm")
    for name, bottleneck in _OPERATIONS.items():
        rate = machine.get(f"throughput.{bottleneck.value.partition(' ')[0]}")
        if rate and sms and clock_hz and name in row.counters:
            # A fused product and sum is one of an SM's results, and two operations.
            found[bottleneck] = row.counters[name] / row.time_s / (2 * rate * sms * clock_hz)
    return found
