"""Tables of gpu-roofline as observations: the time of the bytes at their rate, at its clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.errors import InputError
from kernelcast.measurements.reading import read_measurements

ROW = "{} 864 blocks  {} its   {} Fl/B   {} GB/s    684 GF/s   {} Mhz   230 W   48°C\n"
TABLE = "\n8\n" + "".join(
    ROW.format(*row)
    for row in (
        (0, 0, 0.25, 1400, 1410),
        (1, 0, 0.25, 1372, 1410),
        (2, 0, 0.25, 1380, 1380),
        (0, 64, 16.25, 700, 1350),
    )
)


def test_gpus_of_a_kind_are_repeats_of_one_launch(tmp_path: Path) -> None:
    file = tmp_path / "chips.txt"
    file.write_text(TABLE)
    first, second = read_measurements(file).observations
    size_bytes = 2 * 864 * 256 * 4000 * 4
    assert first.seconds == pytest.approx(
        [size_bytes / rate for rate in (1.4e12, 1.372e12, 1.38e12)]
    )
    assert first.clock_hz == 1.41e9
    assert (first.grid, first.block) == ((864, 1, 1), (256, 1, 1))
    assert second.parameters == {"blocks": 864, "products": 64}
    assert second.time_s == pytest.approx(size_bytes / 0.7e12)
    assert second.clock_hz == 1.35e9


def test_a_line_that_is_cut_off_is_named_and_the_others_used(tmp_path: Path) -> None:
    file = tmp_path / "chips.txt"
    file.write_text(TABLE + "-- \n0 864 blocks     1 its      0.5")
    found = read_measurements(file)
    assert len(found.observations) == 2
    assert found.damaged == (
        "line 8 is damaged and left out: no row of gpu-roofline: 0 864 blocks 1 its 0.5",
    )


def test_no_table_at_all_is_no_such_file(tmp_path: Path) -> None:
    file = tmp_path / "chips.txt"
    file.write_text(ROW.format(0, 1, 0.5, "none", 1410))
    with pytest.raises(InputError, match="no file of measurements"):
        read_measurements(file)
