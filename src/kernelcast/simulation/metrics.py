"""What a simulation says of its SMs, under the names of Nsight Compute's metrics.

NVIDIA: Nsight Compute, Kernel Profiling Guide, sections Metrics Guide and Warp Stall Reasons.
Metrics in `pct` are percent; those `per_cycle_active` are of the cycles that were simulated.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.simulation import layout
from kernelcast.simulation.results import stall_cycles
from kernelcast.simulation.simulated import Simulated

_PIPES: Mapping[int, str] = {
    layout.FP32_PIPE: "fma",
    layout.INT_PIPE: "alu",
    layout.FP64_PIPE: "fp64",
    layout.SFU_PIPE: "xu",
    layout.ADU_PIPE: "adu",
    layout.TENSOR_PIPE: "tensor",
    layout.UNIFORM_PIPE: "uniform",
}


def profiler_metrics(found: Simulated, most_warps: float) -> dict[str, float]:
    """Occupancy, issue, pipes, caches and stalls; an SM holds `most_warps` warps at the most."""
    cycles = max(1, found.cycles)
    slots = cycles * found.sms * found.schedulers
    issued = float(found.issued.sum())
    waits = stall_cycles(found)
    active = found.warp_cycles / (cycles * found.sms)
    metrics = {
        "sm__warps_active.avg.per_cycle_active": active,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 100 * active / most_warps,
        "smsp__warps_active.avg.per_cycle_active": active / found.schedulers,
        "smsp__warps_eligible.avg.per_cycle_active": (waits["selected"] + waits["not selected"])
        / slots,
        "smsp__issue_active.avg.per_cycle_active": issued / slots,
        "sm__inst_executed.avg.per_cycle_active": issued / (cycles * found.sms),
        "smsp__average_warp_latency_per_inst_issued.ratio": sum(waits.values()) / max(1.0, issued),
        "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed": 100
        * (found.shared_busy + found.l1_busy)
        / (cycles * found.sms),
        "lts__t_bytes.avg.pct_of_peak_sustained_elapsed": 100 * found.l2_busy / cycles,
        "dram__throughput.avg.pct_of_peak_sustained_elapsed": 100 * found.dram_busy / cycles,
    }
    if found.l1_sectors:
        metrics["l1tex__t_sector_hit_rate.pct"] = 100 * found.l1_hits / found.l1_sectors
    for pipe, name in _PIPES.items():
        if found.busy[pipe]:
            path = f"sm__inst_executed_pipe_{name}.avg.pct_of_peak_sustained_active"
            metrics[path] = 100 * float(found.busy[pipe]) / slots
    for reason, spent in waits.items():
        path = f"smsp__average_warps_issue_stalled_{reason.replace(' ', '_')}_per_issue_active"
        metrics[f"{path}.ratio"] = spent / max(1.0, issued)
    return metrics
