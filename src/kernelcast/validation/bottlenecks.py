"""What bound a launch that was measured, by a profiler's counters, and whether a forecast says so.

A resource binds that is the busiest of all and busy for 60 % of its peak or more; where all are
less busy, latency does, as NVIDIA's Nsight Compute puts it ("Kernel Profiling Guide", GPU speed of
light throughput). Where a file holds the bytes of the DRAM and operations alone, they tell of the
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


def resource_class(bottleneck: Bottleneck) -> str:
    """What a bottleneck is among those that counters tell apart: a resource, or latency."""
    return str(_SAME.get(bottleneck, bottleneck)) if bottleneck in _RESOURCES else _LATENCY


def measured_class(row: Observation, machine: Machine) -> str:
    """What bound a launch, by its counters; empty where they do not say."""
    if shares := _shares(row, _SHARES, machine):
        moved = machine.get("shared.bandwidth") or _WAVEFRONT_BYTES
        shares[Bottleneck.SHARED_BANDWIDTH] *= max(1.0, _WAVEFRONT_BYTES / moved)
        return _of_busiest(shares) or _LATENCY
    units = _shares(row, _UNITS, machine)
    if not units or _ANY_OF_SM not in row.counters:
        return _of_busiest(_rates(row, machine))
    if row.counters[_ANY_OF_SM] / 100 > max(_BUSY, *units.values()):
        return ""  # a pipe of arithmetic, and nothing says which
    return _of_busiest(units) or _LATENCY


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


def _of_busiest(shares: Mapping[Bottleneck, float]) -> str:
    busiest = max(shares, key=lambda b: shares[b], default=None)
    is_bound = busiest is not None and shares[busiest] >= _BUSY
    return resource_class(busiest) if busiest is not None and is_bound else ""


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
