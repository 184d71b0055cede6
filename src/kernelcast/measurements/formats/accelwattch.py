"""A table of AccelWattch (`hw_perf.csv`): what Nsight Compute counted in a launch of a kernel.

Benchmark,Kernel,L1_RH,L1_RM,L1_WH,L1_WM,CC_ACC,SHRD_ACC,DRAM_Rd,DRAM_Wr,L2_RH,...
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from kernelcast.measurements.observation import Measurements, Observation

_BENCHMARK, _KERNEL = "Benchmark", "Kernel"
_HEAD = f"{_BENCHMARK},{_KERNEL},L1_RH,L1_RM,"
_MANGLED = re.compile(r"_Z(\d+)")
_L1 = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
_L2 = "lts__t_sectors_srcunit_tex_op"
_SUMS: Mapping[str, tuple[str, ...]] = {
    f"{_L1}_lookup_hit.sum": ("L1_RH",),
    f"{_L1}_lookup_miss.sum": ("L1_RM",),
    f"{_L2}_read.sum": ("L2_RH", "L2_RM"),
    f"{_L2}_read_lookup_hit.sum": ("L2_RH",),
    f"{_L2}_read_lookup_miss.sum": ("L2_RM",),
    f"{_L2}_write.sum": ("L2_WH", "L2_WM"),
    "dram__sectors_read.sum": ("DRAM_Rd",),
    "dram__sectors_write.sum": ("DRAM_Wr",),
}
"""Counters by the columns that the table's author wrote them to."""


def recognises(head: str) -> bool:
    """Whether a file that begins so is of this format."""
    return head.startswith(_HEAD)


def read(text: str) -> Measurements:
    """Counters of every kernel, by its name in the source; of its time only cycles of a clock that
    is not known, so none. The file does not name its device."""
    rows = csv.DictReader(text.splitlines())
    return Measurements("unnamed GPU", tuple(map(_observation, rows)))


def _observation(row: Mapping[str, str]) -> Observation:
    counters = {name: sum(float(row[c]) for c in columns) for name, columns in _SUMS.items()}
    if not any(counters[f"{_L1}_lookup_{what}.sum"] for what in ("hit", "miss")):
        # What passes through textures is not among the loads: nothing is known of L1.
        counters = {name: n for name, n in counters.items() if not name.startswith(_L1)}
    return Observation(_name(row), {}, (), counters=counters)


def _name(row: Mapping[str, str]) -> str:
    """The function's: `_Z4sradfiil` is srad. That of a template's insides is the benchmark's."""
    name = row[_KERNEL]
    if match := _MANGLED.match(name):
        return name[match.end() :][: int(match[1])]
    return row[_BENCHMARK] if name.startswith("_Z") else name
