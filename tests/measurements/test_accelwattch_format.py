"""Tables of AccelWattch as observations: counters by the profiler's names, kernels by their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.errors import InputError, ParseError
from kernelcast.machines.loader import load_machine
from kernelcast.measurements.reading import read_measurements
from kernelcast.validation.measured import Choice, validate_measured

HEAD = (
    "Benchmark,Kernel,L1_RH,L1_RM,L1_WH,L1_WM,CC_ACC,SHRD_ACC,DRAM_Rd,DRAM_Wr,L2_RH,L2_RM,L2_WH,"
    "L2_WM,NOC,Pipeline_Duty,Num_Idle_SMs,Elapsed_Cycles,Chip Voltage\n"
)
ROW = "srad_v1,{},{},{},0.0,5.0,0.0,0.0,60.5,7.0,40.0,60.0,5.0,1.0,1.0,0.5,1.0,900.5,1.0\n"
L1, L2 = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld", "lts__t_sectors_srcunit_tex_op"


def written(folder: Path, *rows: str) -> Path:
    file = folder / "hw_perf.csv"
    file.write_text(HEAD + "".join(rows))
    return file


def test_columns_are_counters_by_nsight_computes_names(tmp_path: Path) -> None:
    file = written(tmp_path, ROW.format("_Z4sradfiil", 30.0, 70.0))
    (one,) = read_measurements(file).observations
    assert one.kernel == "srad"
    assert not one.seconds
    assert one.counters == {
        f"{L1}_lookup_hit.sum": 30,
        f"{L1}_lookup_miss.sum": 70,
        f"{L2}_read.sum": 100,
        f"{L2}_read_lookup_hit.sum": 40,
        f"{L2}_read_lookup_miss.sum": 60,
        f"{L2}_write.sum": 6,
        "dram__sectors_read.sum": 60.5,
        "dram__sectors_write.sum": 7,
    }


def test_what_textures_read_is_not_said_of_the_l1_cache(tmp_path: Path) -> None:
    """The columns count loads alone: none of them is no L1 cache that nothing passed through."""
    file = written(tmp_path, ROW.format("_Z4sradfiil", 0.0, 0.0))
    (one,) = read_measurements(file).observations
    assert not [name for name in one.counters if name.startswith("l1tex")]


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("findK", "findK"),
        ("_Z21mergeSortSharedKernelILj1EEvPjS0_S0_S0_j", "mergeSortSharedKernel"),
        ("_ZN7cutlass4gemm16gemm_kernelE", "srad_v1"),
    ],
)
def test_kernels_are_called_as_in_their_source(tmp_path: Path, mangled: str, name: str) -> None:
    (one,) = read_measurements(written(tmp_path, ROW.format(mangled, 1.0, 1.0))).observations
    assert one.kernel == name


def test_a_file_that_is_cut_off_is_damaged(tmp_path: Path) -> None:
    file = written(tmp_path, "srad_v1,_Z4sradfiil,30.0\n")
    with pytest.raises(ParseError, match="damaged accelwattch file"):
        read_measurements(file)


def test_times_cannot_be_compared_where_only_counters_are_known(tmp_path: Path) -> None:
    file = written(tmp_path, ROW.format("_Z4sradfiil", 1.0, 1.0))
    with pytest.raises(InputError, match="holds no times"):
        validate_measured(file, "srad.cu", load_machine("t4"), [], Choice())
