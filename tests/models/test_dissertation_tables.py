"""Volkov 2016, Tables 2.6 to 2.8, 4.1 and 6.1 to 6.7, against the machine files of his chips."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from kernelcast.machines.loader import load_machine
from kernelcast.machines.machine import Machine

TABLES = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[2] / ".." / "shared"))
    / "reference"
    / "volkov_tables.csv"
)
NAMES = {"G80": "8800-gtx", "GT200": "gtx-280", "Fermi": "gtx-480", "Kepler": "gtx-680"}
NAMES["Maxwell"] = "gtx-980"
GIGA = 1e9

# By table and quantity: the machine's number, and the factor from its unit to the table's.
WHERE = {
    ("Table 2.6", "num_SMs"): ("sm.count", 1),
    ("Table 2.6", "warp_schedulers_per_SM"): ("sm.schedulers", 1),
    ("Table 2.6", "cuda_cores_per_SM"): ("throughput.fp32", 1),
    ("Table 2.6", "SFU_per_SM"): ("throughput.sfu", 1),
    ("Table 2.7", "processor_clock"): ("clock.sm", 1 / GIGA),
    ("Table 2.7", "memory_pin_bandwidth"): ("dram.bandwidth", 1 / GIGA),
    ("Table 2.8", "warps_per_SM"): ("occupancy.warps_per_sm", 1),
    ("Table 6.2", "lat_add"): ("latency.fp32", 1),
    ("Table 6.2", "lat_SFU"): ("latency.sfu", 1),
    ("Table 6.2", "lat_smem"): ("latency.shared", 1),
    ("Table 6.2", "lat_stream"): ("latency.dram", 1),
    ("Table 6.4", "dram_peak_read"): ("dram.achieved_bandwidth", 1 / GIGA),
    ("Table 6.5", "fit_a"): ("volkov.latency_base", 1),
    ("Table 6.5", "fit_b"): ("volkov.latency_slope", 1),
    ("Table 6.5", "fit_c"): ("volkov.latency_capacity", 1 / GIGA),
    ("Table 6.7", "lat_per_extra_transaction"): ("latency.transaction", 1),
}


def rows() -> list[tuple[str, str, str, float]]:
    if not TABLES.exists():
        return []
    with TABLES.open(encoding="utf-8", newline="") as file:
        return [
            (row["table"], row["metric"], NAMES[row["gpu"].split()[0]], float(row["value"]))
            for row in csv.DictReader(file)
            if (row["table"], row["metric"]) in WHERE
        ]


def expected(machine: Machine, table: str, metric: str) -> float | None:
    path, factor = WHERE[table, metric]
    value = machine.get(path)
    return None if value is None else factor * value


@pytest.mark.skipif(not TABLES.exists(), reason=f"needs the tables: {TABLES.name}")
def test_machine_files_hold_the_tables():
    checked = 0
    for table, metric, name, value in rows():
        if name == "8800-gtx" and table == "Table 6.5":
            continue  # the law of two terms of section 6.4 takes its place
        assert expected(load_machine(name), table, metric) == pytest.approx(value), (
            table,
            metric,
            name,
        )
        checked += 1
    assert checked >= 70
