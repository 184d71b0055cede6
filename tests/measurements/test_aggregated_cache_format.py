"""Runs of a tuned kernel put together: the median of each configuration, with its parameters."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernelcast.errors import ParseError
from kernelcast.measurements.reading import read_measurements

SHARED = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/schoonhovenrichard+GPU_benchmarking_paper"
)
DOCUMENT = {
    "device_name": "A GPU",
    "kernel_name": "tuned",
    "tune_params_keys": ["block", "tile"],
    "unit": "ms",
    "agg": "median,min,max over runs",
    "cache": {"32,1": [2.0, 1.5, 9.0], "64,2": [3.0, 2.5, 4.0]},
}


def test_the_median_is_the_time_and_the_key_the_parameters(tmp_path: Path) -> None:
    """Not taken for a cache of Kernel Tuner, which has the same names for its parameters."""
    file = tmp_path / "tuned_agg.json"
    file.write_text(json.dumps(DOCUMENT))
    found = read_measurements(file)
    assert (found.device, found.failed) == ("A GPU", 0)
    assert [one.parameters for one in found.observations] == [
        {"block": 32, "tile": 1},
        {"block": 64, "tile": 2},
    ]
    assert [one.time_s for one in found.observations] == [2e-3, 3e-3]
    assert [one.repeats_ratio for one in found.observations] == pytest.approx([2 / 1.5, 3 / 2.5])


def test_a_configuration_of_too_few_values_is_an_error(tmp_path: Path) -> None:
    """Else its values would belong to the wrong parameters."""
    file = tmp_path / "tuned_agg.json"
    file.write_text(json.dumps(DOCUMENT | {"cache": {"32": [2.0, 1.5, 9.0]}}))
    with pytest.raises(ParseError, match="damaged"):
        read_measurements(file)


@pytest.mark.parametrize("chip", ["RTX_2070_SUPER", "TITAN_RTX", "V100"])
def test_public_files_are_read_whole(chip: str) -> None:
    file = SHARED / f"convolution_{chip}_agg.json"
    if not file.is_file():
        pytest.skip(f"no {file}")
    assert len(read_measurements(file).observations) == 5776
