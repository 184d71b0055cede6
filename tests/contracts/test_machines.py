"""What every machine file that comes with the package must hold, and published values."""

from __future__ import annotations

import csv
import os
import tomllib
from functools import cache
from pathlib import Path

import pytest

import kernelcast.machines
from kernelcast.calibration.rules import rules
from kernelcast.machines.loader import load_machine, machine_names
from kernelcast.machines.machine import Provenance
from kernelcast.machines.schema import ENTRIES

MACHINES = Path(kernelcast.machines.__file__).parent
machine = cache(load_machine)
everything = pytest.mark.parametrize("name", machine_names())
modern = pytest.mark.parametrize(
    "name", [n for n in machine_names() if machine(n).compute_capability >= (7, 0)]
)

cached = pytest.mark.parametrize(
    "name", [n for n in machine_names() if machine(n).get("l2.caches_global") == 1]
)

EVERY_CHIP = [
    "sm.count",
    "sm.schedulers",
    "sm.issue_per_cycle",
    "clock.sm",
    "dram.size",
    "dram.bandwidth",
    "dram.achieved_bandwidth",
    "shared.banks",
    "shared.bank_width",
    "shared.bandwidth",
    "lsu.queue",
    "lsu.address_cycles",
    "lsu.shared_address_cycles",
    "launch.overhead",
    "latency.fp32",
    "latency.int",
    "latency.int_mul",
    "latency.sfu",
    "latency.shared",
    "latency.dram",
    "latency.block_replacement",
    "throughput.fp32",
    "throughput.int",
    "throughput.int_mul",
    "throughput.logic",
    "throughput.shift",
    "throughput.bitfield",
    "throughput.compare",
    "throughput.convert",
    "throughput.sfu",
    "throughput.load",
    "throughput.store",
]
FROM_VOLTA_ON = [
    "sm.instruction_cache",
    "fetch.line",
    "fetch.l0_size",
    "fetch.latency",
    "fetch.ahead",
    "fetch.interval",
    "registers.read_cycles",
    "throughput.fp16",
    "throughput.fp64",
    "throughput.shuffle",
    "throughput.tensor",
    "latency.fp16",
    "latency.fp64",
    "latency.logic",
    "latency.shift",
    "latency.bitfield",
    "latency.compare",
    "latency.convert",
    "latency.shuffle",
    "latency.l1",
    "latency.l2",
    "l1.size",
    "l1.ways",
    "l1.miss_registers",
    "l1.bandwidth",
    "l1.line",
    "l1.sector",
    "l1.tags",
    "l2.size",
    "l2.bandwidth",
    "l2.line",
    "noc.queue",
    "occupancy.shared_per_block_optin",
    "occupancy.shared_carveouts",
]


@everything
def test_holds_what_the_models_need(name: str) -> None:
    missing = [path for path in EVERY_CHIP if machine(name).get(path) is None]
    assert not missing


@modern
def test_chips_from_volta_on_hold_every_class(name: str) -> None:
    missing = [path for path in FROM_VOLTA_ON if not machine(name).numbers(path)]
    assert not missing


@cached
def test_chips_with_caches_hold_what_simulating_them_takes(name: str) -> None:
    needed = [
        *("l1.size", "l1.line", "l1.sector", "l1.ways", "l1.miss_registers", "l1.hashes_sets"),
        *("l1.allocates_on_fill", "l1.caches_local", "l1.caches_read_only"),
        *("l2.size", "l2.line", "l2.ways", "l2.miss_registers", "l2.hashes_sets", "l2.partitions"),
        *("l2.fills_partial_sectors", "noc.bandwidth", "dram.channels", "dram.access"),
    ]
    assert [path for path in needed if machine(name).get(path) is None] == []


@cached
def test_sets_ways_slices_and_partitions_divide_the_caches(name: str) -> None:
    m = machine(name)
    assert m.number("l1.size") % (m.number("l1.ways") * m.number("l1.line")) == 0
    shares = m.number("l2.ways") * m.number("l2.line") * (m.get("l2.slices") or 1)
    assert m.number("l2.size") % (shares * m.number("l2.partitions")) == 0


@everything
def test_sources_can_be_followed(name: str) -> None:
    for path, quantity in machine(name).quantities.items():
        assert len(quantity.source) > 10, path
        assert "{" not in quantity.source, path
        for private in (".csv", "stored", "seed", "/work", "file id"):
            assert private not in quantity.source, path


def test_every_source_that_files_share_or_keep_is_cited() -> None:
    files = [file.read_text(encoding="utf-8") for file in MACHINES.glob("data/**/*.toml")]
    shared = tomllib.loads((MACHINES / "sources.toml").read_text(encoding="utf-8"))
    assert [key for key in shared if not any(f"{{{key}}}" in text for text in files)] == []
    for text in files:
        own = tomllib.loads(text).get("sources", {})
        assert [key for key in own if f"{{{key}}}" not in text] == []


@everything
def test_numbers_borrowed_from_another_chip_are_assumed(name: str) -> None:
    for path, quantity in machine(name).quantities.items():
        if quantity.source.startswith(("as ", "middle of")):
            assert quantity.kind is Provenance.ASSUMED, path


@everything
def test_numbers_agree_with_each_other(name: str) -> None:
    m = machine(name)

    def occupancy(path: str) -> float:
        return m.number(f"occupancy.{path}")

    assert occupancy("warps_per_sm") * 32 == occupancy("threads_per_sm")
    assert occupancy("threads_per_block") <= occupancy("threads_per_sm")
    carveouts = m.numbers("occupancy.shared_carveouts")
    assert not carveouts or carveouts[-1] == occupancy("shared_per_sm")
    optin = m.get("occupancy.shared_per_block_optin")
    reserved = occupancy("shared_reserved")
    if optin is not None and m.compute_capability >= (8, 0):
        assert optin + reserved == occupancy("shared_per_sm")
    assert 0.6 < m.number("dram.achieved_bandwidth") / m.number("dram.bandwidth") < 1
    assert m.number("throughput.fp32") <= 32 * 6  # six warps per cycle on Kepler, never more
    memory = [m.get(f"latency.{level}") for level in ("l1", "l2", "l2_far", "dram")]
    known = [latency for latency in memory if latency is not None]
    assert known == sorted(known)
    banks = m.number("shared.banks") * m.number("shared.bank_width")
    assert banks / 2 <= m.number("shared.bandwidth") <= banks


@everything
def test_compute_throughput_follows_from_units_and_clock(name: str) -> None:
    """FP32 FMA rate in Tflop/s as vendors state it, in a range that catches wrong units."""
    m = machine(name)
    peak = 2 * m.number("throughput.fp32") * m.number("sm.count") * m.number("clock.sm")
    assert 0.3e12 < peak < 130e12


WORKINGS = {
    "coalescing.lanes": (16, 16, 32, 32, 32, 32, 32),
    "coalescing.in_order": (1, 0, 0, 0, 0, 0, 0),
    "coalescing.transaction": (32, 32, 128, 32, 32, 32, 32),
    "shared.lanes_per_request": (16, 16, 32, 32, 32, 32, 32),
    "l1.caches_global": (0, 0, 1, 0, 0, 0, 1),
    "l1.caches_read_only": (None, None, 1, 0, 1, 1, 1),
    "l1.caches_local": (None, None, 1, 1, 0, 0, 1),
    "l1.writes_through": (None, None, 0, 0, 0, 0, 1),
    "l1.allocates_on_fill": (None, None, 0, 0, 0, 0, 1),
    "l2.fills_partial_sectors": (None, None, 1, 1, 1, 1, 1),
    "l1.hashes_sets": (None, None, 1, 1, 0, 0, 1),
    "l1.miss_registers": (None, None, 64, 256, 128, 128, 4096),
    "l2.caches_global": (0, 0, 1, 1, 1, 1, 1),
    "dram.scattered_transaction": (128, 128, 128, 128, 128, 128, 128),
    "atomics.same_address_cycles": (None, None, 9, 9, 1, 1, 1),
    "sm.replays": (0, 0, 1, 1, 0, 0, 0),
    "sm.scheduler_pipes": (0, 0, 0, 1, 1, 1, 1),
    "sm.integer_pipe": (0, 0, 0, 0, 0, 0, 1),
    "sm.policy": (0, 0, 0, 0, 0, 0, 3),
    "sm.profiler_counters": (0, 0, 0, 0, 0, 0, 1),
}
"""How a Tesla 1.0, Tesla 1.3, Fermi, Kepler, Maxwell, Pascal and Turing work."""
OTHERWISE = {"l2.fills_partial_sectors": (0,), "sm.policy": (2,)}
"""What other chips do: a TITAN V writes parts of sectors without reading the rest, and those of
GeForce prefer the youngest warp from GA10x on."""
GENERATIONS = ("8800-gtx", "gtx-280", "gtx-480", "gtx-680", "gtx-980", "gtx-1080", "t4")


@pytest.mark.parametrize("path", WORKINGS)
def test_how_a_chip_works_is_in_its_file(path: str) -> None:
    assert tuple(machine(name).get(path) for name in GENERATIONS) == WORKINGS[path]
    known = {*WORKINGS[path], *OTHERWISE.get(path, ())}
    assert {machine(name).get(path) for name in machine_names()} == known


@modern
def test_tags_lie_in_as_many_banks_as_are_looked_up_in_a_cycle(name: str) -> None:
    masks = machine(name).numbers("l1.tag_bank_bits")
    assert masks == (0x2AFF, 0x3F2A)
    assert 2 ** len(masks) == machine(name).number("l1.tags")


# ------------------------------------------------------------- published values


@pytest.mark.parametrize(
    ("name", "mem_lat", "mem_thru", "alu_lat", "alu_thru", "issue_thru"),
    [
        ("8800-gtx", 444, 0.0268, 20, 0.25, 0.5),
        ("gtx-280", 434, 0.0277, 24, 0.25, 0.5),
        ("gtx-480", 513, 0.0599, 18, 1, 1),
        ("gtx-680", 301, 0.1338, 9, 4, 4),
        ("gtx-980", 368, 0.0814, 6, 4, 4),
    ],
)
def test_volkov_table_4_1(
    name: str, mem_lat: float, mem_thru: float, alu_lat: float, alu_thru: float, issue_thru: float
) -> None:
    """Volkov 2016, Table 4.1; memory throughput is in instructions of 128 B per cycle and SM."""
    m = machine(name)
    per_second = 128 * m.number("sm.count") * m.number("clock.sm")
    assert m.number("latency.dram") == mem_lat
    assert m.number("dram.achieved_bandwidth") / per_second == pytest.approx(mem_thru, abs=6e-5)
    assert m.number("latency.fp32") == alu_lat
    issue = m.number("sm.issue_per_cycle")
    assert min(m.number("throughput.fp32") / 32, issue) == alu_thru
    assert issue == issue_thru


def test_volkov_section_6_5_capacity_in_instructions_per_cycle() -> None:
    """Volkov 2016, section 6.5: 170 GB/s on Kepler are 0.1477 instructions per cycle and SM."""
    m = machine("gtx-680")
    per_second = 128 * m.number("sm.count") * m.number("clock.sm")
    capacity = m.number("volkov.latency_capacity") / per_second
    assert (m.number("volkov.latency_base"), m.number("volkov.latency_slope")) == (300, 32)
    assert capacity == pytest.approx(0.1477, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "mem_ld", "uncoalesced", "coalesced"),
    [("quadro-fx-5600", 420, 10, 4), ("gtx-280", 450, 40, 4)],
)
def test_hong_kim_table_6(name: str, mem_ld: int, uncoalesced: int, coalesced: int) -> None:
    """Hong & Kim 2009, Table 6: fitted, and said to be."""
    m = machine(name)
    values = {
        "mem_ld": mem_ld,
        "departure_uncoalesced": uncoalesced,
        "departure_coalesced": coalesced,
    }
    for path, value in values.items():
        quantity = m.quantities[f"mwp_cwp.{path}"]
        assert (quantity.value, quantity.kind) == (value, Provenance.FITTED)
    assert machine("a100-sxm-80gb").get("mwp_cwp.mem_ld") is None


@pytest.mark.parametrize(
    ("name", "tflops", "gigabytes_per_second"),
    [
        ("quadro-fx-5600", 0.3456, 76.8),
        ("v100-sxm2", 15.7, 898),
        ("a100-sxm-80gb", 19.5, 2039),
        ("h100-sxm", 66.9, 3350),
        ("rtx-4090", 82.6, 1010),
        ("gtx-1080-ti", 11.34, 484),
        ("gtx-1650", 2.98, 128),
        ("rtx-3060", 12.7, 360),
        ("rtx-3090-ti", 40, 1008),
        ("a10", 31.2, 600),
        ("rtx-4070", 29.1, 504),
        ("rtx-4080", 48.7, 716.8),
        ("rtx-6000-ada", 91.1, 960),
        ("rtx-pro-6000-blackwell", 126, 1792),
    ],
)
def test_vendors_peaks(name: str, tflops: float, gigabytes_per_second: float) -> None:
    m = machine(name)
    peak = 2 * m.number("throughput.fp32") * m.number("sm.count") * m.number("clock.sm")
    assert peak / 1e12 == pytest.approx(tflops, rel=3e-3)
    assert m.number("dram.bandwidth") / 1e9 == pytest.approx(gigabytes_per_second, rel=2e-3)


def test_every_path_of_the_schema_is_used_by_some_machine_or_by_a_calibration() -> None:
    used = {path for name in machine_names() for path in machine(name).quantities}
    fitted = {rule.path for chip in ((8, 0), (9, 0)) for rule in rules(chip)}
    assert set(ENTRIES) == used | fitted


SHARED = Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))


def reference_rows() -> list[dict[str, str]]:
    file = SHARED / "reference" / "gpus.csv"
    if not file.is_file():
        pytest.skip(f"no {file}; set KERNELCAST_SHARED to the folder that holds it")
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("gtx-480", "GTX 480"),
        ("k40c", "Tesla K40c"),
        ("t4", "Tesla T4"),
        ("rtx-a4000", "RTX A4000"),
        ("l40s", "L40S"),
        ("h100-pcie", "H100 PCIe"),
        ("b200", "B200"),
        ("rtx-5090", "RTX 5090"),
    ],
)
def test_agrees_with_the_collected_reference(name: str, row: str) -> None:
    m = machine(name)
    reference = next(r for r in reference_rows() if r["gpu"] == row)
    assert m.number("sm.count") == int(reference["sm_count"])
    assert m.number("dram.bandwidth") == pytest.approx(float(reference["mem_bw_gbs"]) * 1e9)
    # The reference lends a chip the latency of a larger one; a file may lie between two chips.
    is_derived = m.quantities["latency.dram"].source.startswith("derived")
    if reference["lat_dram_cycles"] and not is_derived:
        assert m.number("latency.dram") == float(reference["lat_dram_cycles"])
    assert m.number("l2.size") == float(reference["l2_kb"]) * 1024
