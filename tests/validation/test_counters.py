"""Counters by the names of a profiler: kernels whose counts are plain, scores, and a real GPU."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from kernelcast import api
from kernelcast.errors import ToolError
from kernelcast.machines.loader import load_machine
from kernelcast.measurements.observation import Observation
from kernelcast.measurements.reading import read_measurements
from kernelcast.models.terms.base import Case
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.counters import counters_document
from kernelcast.reporting.text import view
from kernelcast.validation.counter_scores import Counted, CounterScore, counter_scores
from kernelcast.validation.counters import (
    COUNTERS,
    ExpectedCount,
    expectations,
)
from kernelcast.validation.profiler_classes import (
    CLASSES,
    COUNTED,
    NAMED,
    UNSETTLED,
    classes_of,
    is_settled,
)

SHARED = Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
SOURCES = Path(os.environ.get("KERNELCAST_SOURCES", ""))
PUBLIC = Path(__file__).parents[2] / "measurements/public"
T4 = "t4"
"""Of compute capability 7.5, whose code NVRTC makes."""

COPY = """/* kernelcast
[[launch]]
kernel = "move"
grid = 8
block = 128
args = { to = "f32[2048]", from = "f32[1024]" }
*/
extern "C" __global__ void move(float* to, const float* from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[2 * i] = from[i];
}
"""

SHUFFLED = """/* kernelcast
[[launch]]
kernel = "turn"
grid = 2
block = 64
args = { x = "f32[128]" }
*/
extern "C" __global__ void turn(float* x) {
    __shared__ float tile[64 * 33];
    int t = threadIdx.x;
    tile[t * 32] = x[blockIdx.x * 64 + t];
    __syncthreads();
    x[blockIdx.x * 64 + t] = tile[(63 - t) * 32] + __shfl_xor_sync(~0u, t, 1);
}
"""


def expected_counters(case: Case) -> dict[str, float]:
    return {name: found.value for name, found in expectations(case).items()}


def case_of(tmp_path: Path, source: str, gpu: str = T4, isa: str = "auto") -> Case:
    file = tmp_path / "kernel.cu"
    file.write_text(source)
    (case,) = api.cases(api.workload(file), [load_machine(gpu)], build=api.Build(isa=isa))
    return case


def sass_class(name: str) -> str:
    return f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"


def test_a_copy_is_counted_as_its_32_warps_show(tmp_path: Path) -> None:
    """Every warp reads 4 sectors and writes to 8, of which each holds only every other word."""
    found = expected_counters(case_of(tmp_path, COPY))
    assert found["launch__grid_size"] == 8
    assert found["launch__block_size"] == 128
    accesses = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum".format
    assert found[accesses("requests", "ld")] == found[accesses("requests", "st")] == 32
    assert found[accesses("sectors", "ld")] == found["lts__t_sectors_op_read.sum"] == 32 * 4
    assert found[accesses("sectors", "st")] == found["lts__t_sectors_op_write.sum"] == 32 * 8
    assert found["dram__sectors_read.sum"] == 32 * 4
    assert found["dram__bytes_write.sum"] == 0  # all is still in the L2 cache
    assert found["l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"] == 0
    assert found[sass_class("memory")] == 2 * 1024
    assert found[sass_class("control")] == 1024  # EXIT
    assert found[sass_class("fp32")] == found[sass_class("fp64")] == 0


def test_classes_add_up_to_all_threads_that_acted(tmp_path: Path) -> None:
    """A straight kernel: every instruction acts for all 32 lanes of all warps."""
    found = expected_counters(case_of(tmp_path, COPY))
    total = found["smsp__thread_inst_executed.sum"]
    assert sum(found[sass_class(name)] for name in CLASSES) == total
    assert found["smsp__thread_inst_executed_pred_on.sum"] == total
    assert found["smsp__inst_executed.sum"] * 32 == total
    assert found["smsp__thread_inst_executed_per_inst_executed.ratio"] == 32


def test_lanes_on_one_bank_are_as_many_wavefronts(tmp_path: Path) -> None:
    """Two blocks of two warps, whose 32 lanes all want another word of bank 0."""
    found = expectations(case_of(tmp_path, SHUFFLED))
    for op in ("ld", "st"):
        passes = found[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"]
        assert (passes.value, passes.low, passes.high) == (4 * 32, 4 * 32, math.inf)


def test_a_class_that_an_opcode_leaves_open_is_absent(tmp_path: Path) -> None:
    """It is not published where a shuffle counts; the others are not touched by that."""
    found = expected_counters(case_of(tmp_path, SHUFFLED))
    assert sass_class("misc") not in found
    assert sass_class("memory") in found


def test_ptx_says_nothing_of_the_machines_instructions(tmp_path: Path) -> None:
    found = expected_counters(case_of(tmp_path, COPY, isa="ptx"))
    assert not any(
        name.startswith(("smsp__inst", "smsp__thread", "l1tex__t_req")) for name in found
    )
    assert found["dram__sectors_read.sum"] == 32 * 4


def test_code_of_another_chip_says_nothing_of_its_instructions(tmp_path: Path) -> None:
    case = case_of(tmp_path, COPY)
    other = replace(case, machine=load_machine("rtx-3080"))
    assert "smsp__inst_executed.sum" not in expected_counters(other)


def test_chips_older_than_the_profiler_have_no_counters(tmp_path: Path) -> None:
    case = case_of(tmp_path, COPY)
    assert expected_counters(replace(case, machine=load_machine("gtx-980"))) == {}


def test_the_written_is_bounded_by_what_the_l2_cache_keeps(tmp_path: Path) -> None:
    found = expectations(case_of(tmp_path, COPY))["dram__sectors_write.sum"]
    assert (found.low, found.value, found.high) == (0, 0, 256)


def test_what_moves_is_what_is_read_and_what_is_written(tmp_path: Path) -> None:
    found = expectations(case_of(tmp_path, COPY))
    bytes_read, bytes_written, both = (
        found[f"dram__bytes{which}.sum"] for which in ("_read", "_write", "")
    )
    assert both.value == bytes_read.value + bytes_written.value
    assert (both.low, both.high) == (bytes_read.low, bytes_read.high + bytes_written.high)


def test_where_no_caches_are_simulated_the_l2_cache_keeps_its_share_of_what_is_written(
    tmp_path: Path,
) -> None:
    """Half of 4 MiB, of 16 MiB that are written."""
    larger = {"grid = 8": "grid = 16384", "2048": "1 << 22", "1024": "1 << 21"}
    source = COPY
    for size, many in larger.items():
        source = source.replace(size, many)
    case = case_of(tmp_path, source)
    numbers = {n: q for n, q in case.machine.quantities.items() if n != "l2.ways"}
    estimated = replace(case, machine=replace(case.machine, quantities=numbers))
    assert estimated.cache_counts is None
    mib = (1 << 20) / 32
    assert expected_counters(estimated)["dram__sectors_write.sum"] == (16 - 4 / 2) * mib


def test_a_fused_operation_is_two(tmp_path: Path) -> None:
    source = COPY.replace("to[2 * i] = from[i]", "to[2 * i] = 3 * from[i] + 2; to[i] = from[i] + 1")
    found = expectations(case_of(tmp_path, source))
    assert found["flop_count_sp"].value == 3 * 1024
    assert found["flop_count_dp"].value == 0


def test_every_opcode_is_in_one_table() -> None:
    tables = (COUNTED, NAMED, UNSETTLED)
    every = [name for table in tables for names in table.values() for name in names.split()]
    assert len(every) == len(set(every))
    assert {c for table in tables for key in table for c in key.split()} <= set(CLASSES)
    assert classes_of("FFMA") == {"fp32"}
    assert is_settled("FFMA")
    assert not is_settled("SHFL")
    assert classes_of("NEVER_SEEN") == set(CLASSES)


def score(*pairs: tuple[float, float]) -> CounterScore:
    counted = [
        Counted(str(at), ExpectedCount(value, value, value, True), read)
        for at, (value, read) in enumerate(pairs)
    ]
    return CounterScore("some.sum", tuple(counted))


def test_scores_by_hand() -> None:
    found = score((100, 100), (99.5, 100), (96, 100), (90, 100), (200, 100))
    assert found.median == 0.995
    assert found.quantile(0.1) == 0.9
    assert found.quantile(0.9) == 2
    assert found.share_same == 0.2
    assert found.share_within(0.01) == 0.4
    assert found.share_within(0.05) == 0.6
    assert [c.launch for c in found.worst] == ["4", "3", "2"]


def test_nothing_expected_and_nothing_counted_agree() -> None:
    assert score((0, 0)).share_same == 1
    assert score((0, 0)).worst == []
    assert score((1, 0)).median == math.inf
    assert [c.launch for c in score((0, 5), (4, 5)).worst] == ["0", "1"]


def test_bounds_are_held_to_what_was_counted() -> None:
    estimate = ExpectedCount(10, 5, math.inf)
    inside, below = Counted("a", estimate, 5), Counted("b", estimate, 4)
    found = CounterScore("some.sum", (inside, below))
    assert not found.is_count
    assert found.share_within_bounds == 0.5


def test_only_counters_that_both_sides_have_are_compared(tmp_path: Path) -> None:
    case = case_of(tmp_path, COPY)
    read = {"launch__grid_size": 8.0, "sm__unheard_of.avg": 1.0, "dram__sectors_read.sum": 128.0}
    (grid, dram) = counter_scores([(Observation("copy", {}, (), counters=read), case)])
    assert (grid.metric, dram.metric) == ("launch__grid_size", "dram__sectors_read.sum")
    assert grid.share_same == dram.share_within_bounds == 1


def test_views_hold_both_kinds_and_what_is_off(tmp_path: Path) -> None:
    case = case_of(tmp_path, COPY)
    read = {"launch__grid_size": 9.0, "dram__sectors_read.sum": 128.0}
    scores = counter_scores([(Observation("copy", {"n": 1}, (), counters=read), case)])
    document = counters_document(scores, {"name": "Some GPU"}, T4, "title", ["gone: why"])
    console = Console(width=160)
    with console.capture() as captured:
        console.print(view(document))
    text = captured.get()
    assert "0 of 1 counts are the same" in text
    assert "1 of 1 estimates are within" in text
    assert "copy n=1" in text
    assert "gone: why" in text
    answer = json.loads(json.dumps(as_json(document), allow_nan=False))
    assert answer["counters"]["launch__grid_size"]["launches"][0]["counted"] == 9


REAL = "currently_unused/cachefiles/KTT data/KTConvolutionOutput_2080Ti.json.gz"
ESTIMATED = ("lts__", "dram__", "sm__", "l1tex__data_pipe")


@pytest.mark.parametrize("place", [0, 307, 4217])
def test_counts_of_a_2080_ti_are_met_to_the_last_thread(place: int) -> None:
    """With the compiler of the measured code, every count agrees: 298 million instructions of
    warps, 31.77 threads in each, their classes and their accesses."""
    data = SHARED / "data/AutoTuningAssociation+benchmark_hub" / REAL
    if not data.is_file():
        pytest.skip(f"no {data}; set KERNELCAST_SHARED to the folder that holds it")
    if not (SOURCES / "convolution.cu").is_file():
        pytest.skip("no convolution.cu; set KERNELCAST_SOURCES to the folder that holds it")
    observation = read_measurements(data).observations[place]
    numbers = {k: v for k, v in observation.parameters.items() if not isinstance(v, str)}
    macros = tuple(f"{name}={value}" for name, value in numbers.items())
    options = api.CompileOptions(macros, (PUBLIC, SOURCES), nvrtc="12.3")
    work = api.workload(PUBLIC / "ktt_convolution.cu", api.LaunchFlags(parameters=numbers))
    try:
        (case,) = api.cases(work, [load_machine("rtx-2080-ti")], build=api.Build(options))
    except ToolError as error:
        pytest.skip(str(error))
    assert case.kernel.resources.registers == observation.registers
    assert case.profile.sample.spread == 0  # all blocks are alike
    scores = {s.metric: s for s in counter_scores([(observation, case)])}
    assert set(scores) == set(COUNTERS) & set(observation.counters)
    counts = [s for s in scores.values() if not s.metric.startswith(ESTIMATED)]
    assert len(counts) == 13
    assert [s.metric for s in counts if s.share_same < 1] == []
    # Each sector of the input comes from the DRAM once; how many they are is extrapolated.
    assert scores["dram__sectors_read.sum"].counted[0].expected.low == pytest.approx(
        observation.counters["dram__sectors_read.sum"], rel=0.2
    )
