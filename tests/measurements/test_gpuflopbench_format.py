"""Tables of gpuFLOPBench as observations: launches alike are repeats, rates are counts."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from kernelcast.errors import ParseError
from kernelcast.measurements.observation import Observation
from kernelcast.measurements.reading import read_measurements

SHARED = Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
HEAD = (
    '"Kernel Name","traffic","dpAI","spAI","dpPerf","spPerf","xtime","Block Size","Grid Size",'
    '"device","intops","intPerf","intAI","targetName","exeArgs","kernelName"\n'
)
ROW = (
    '"{name}","{traffic}","0.5","0.25","1e9","2e9","{ns}","(16, 4, 2)","{grid}","{device}",'
    '"{intops}","1.0","1.0","heat-cuda","{arguments}","zero"\n'
)
PLAIN = {
    "name": "zero(double *)",
    "traffic": "4e9",
    "ns": "1000.0",
    "grid": "(3, 2, 1)",
    "device": "Some GPU",
    "intops": "640.0",
    "arguments": "4096 1000",
}
DRAM = "dram__bytes.sum"
INTEGER = "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"


def written(folder: Path, *rows: dict[str, str]) -> Path:
    file = folder / "profiling-data.csv"
    file.write_text(HEAD + "".join(ROW.format(**{**PLAIN, **row}) for row in rows))
    return file


def test_a_row_is_a_launch_with_its_time_and_counts(tmp_path: Path) -> None:
    """A microsecond at 4 GB/s, 2 and 1 operations a nanosecond."""
    found = read_measurements(written(tmp_path, {}))
    (one,) = found.observations
    assert found.device == "Some GPU"
    assert (one.kernel, one.parameters) == ("heat-cuda/zero", {"arguments": "4096 1000"})
    assert (one.grid, one.block, one.seconds) == ((3, 2, 1), (16, 4, 2), pytest.approx((1e-6,)))
    assert one.counters == {
        "launch__grid_size": 6,
        "launch__block_size": 128,
        INTEGER: 640,
        DRAM: pytest.approx(4000),
        "flop_count_sp": pytest.approx(2000),
        "flop_count_dp": pytest.approx(1000),
    }


def test_launches_alike_are_repeats_of_which_the_dram_moved_the_least(tmp_path: Path) -> None:
    """What else moves there is counted too, and never takes anything away."""
    rows = {"ns": "1000.0"}, {"ns": "3000.0", "traffic": "1e9", "intops": "660.0"}
    (one,) = read_measurements(written(tmp_path, *rows)).observations
    assert one.seconds == pytest.approx((1e-6, 3e-6))
    assert one.counters[DRAM] == pytest.approx(3000)
    assert one.counters[INTEGER] == 650


@pytest.mark.parametrize(
    "other", [{"grid": "(4, 2, 1)"}, {"arguments": "8192 1000"}, {"name": "zero<1>(double *)"}]
)
def test_other_launches_are_observations_of_their_own(
    tmp_path: Path, other: dict[str, str]
) -> None:
    assert len(read_measurements(written(tmp_path, {}, other)).observations) == 2


def test_two_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="damaged gpuflopbench file"):
        read_measurements(written(tmp_path, {}, {"device": "Another GPU"}))


@pytest.mark.parametrize("bad", [{"ns": "soon"}, {"grid": "3 x 2"}])
def test_a_damaged_row_is_named_and_the_rest_used(tmp_path: Path, bad: dict[str, str]) -> None:
    found = read_measurements(written(tmp_path, {}, bad))
    assert len(found.observations) == 1
    (line,) = found.damaged
    assert line.startswith("line 3 is damaged and left out: ")


def of(kernel: str) -> Observation:
    files = [*(SHARED / "data").glob("*gpuFLOPBench/cuda-profiling/*.csv")]
    if not files:
        pytest.skip("no table of gpuFLOPBench")
    (one,) = (o for o in read_measurements(files[0]).observations if o.kernel == kernel)
    return one


def test_zeroing_an_array_writes_what_the_l2_cache_does_not_keep() -> None:
    """4096^2 doubles, of which 0.94 MB stay in the cache."""
    one = of("heat-cuda/zero")
    assert one.grid is not None
    assert math.prod(one.grid) * 256 * 8 - one.counters[DRAM] == pytest.approx(0.94e6, rel=0.01)
    assert one.seconds == pytest.approx((181.76e-6,))


def test_operations_are_those_of_the_code() -> None:
    """30 multiplications and additions of eight sums in each of 5000 rounds, and few besides. Rates
    are of another pass of the profiler than times."""
    one = of("maxFlops-cuda/MAdd8")
    threads = 8192 * 256
    assert one.counters["flop_count_sp"] / threads == pytest.approx(8 * 30 * 2 * 5000, rel=1e-4)
    assert len(one.seconds) == 2
