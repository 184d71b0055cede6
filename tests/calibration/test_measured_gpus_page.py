"""The page of measured GPUs says what its commands give."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kernelcast.calibration.calibrate import Calibration, calibrate
from kernelcast.calibration.gpu_benches import calibrate_tables
from kernelcast.machines.loader import load_machine
from kernelcast.measuring.raw import read_raw
from kernelcast.reporting.documents.calibrate import calibrate_document
from kernelcast.reporting.text.calibrate import comparison_table

PAGE = Path(__file__).parents[2] / "docs" / "measured-gpus.md"
TABLES = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/RRZE-HPC+gpu-benches"
)
COMMAND = re.compile(
    r"```\nkernelcast calibrate (?P<files>.+) --gpu (?P<gpu>\S+) --against (?P<against>\S+)\n```\n"
    r"(?P<table>(?:\|.*\n)+)"
)
COMMANDS = [
    pytest.param(m, id=f"{m['gpu']} {m['against']}") for m in COMMAND.finditer(PAGE.read_text())
]
OWN = re.compile(
    r"```\nkernelcast calibrate measurements/data/(?P<gpu>\S+)/raw\.json\.gz --against \S+\n```\n"
    r"(?:(?:[^|\n].*)?\n)*(?P<table>(?:\|.*\n)+)"
)
OWN_TABLES = [pytest.param(m, id=m["gpu"]) for m in OWN.finditer(PAGE.read_text())]
SHARES = ("dram.write_bandwidth", "dram.achieved_bandwidth", "dram.mixed_bandwidth")


def calibration(command: re.Match[str]) -> Calibration:
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}; set KERNELCAST_SHARED to the folder that holds it")
    files = [str(f) for part in command["files"].split() for f in sorted(TABLES.glob(part))]
    return calibrate_tables(files, load_machine(command["gpu"]))


def test_the_page_has_its_commands():
    assert (len(COMMANDS), len(OWN_TABLES)) == (5, 2)


@pytest.mark.parametrize("own", OWN_TABLES)
def test_what_was_measured_here_is_what_calibration_finds(own):
    """The columns beside it are a machine file of the past, which stays as it was."""
    raw = PAGE.parents[1] / "measurements" / "data" / own["gpu"] / "raw.json.gz"
    found = calibrate_document(calibrate(read_raw(str(raw))), load_machine(own["gpu"]))
    _, _, *now = comparison_table(found).splitlines()
    _, _, *page = own["table"].splitlines()
    assert [row.split("|")[1:4] for row in page] == [row.split("|")[1:4] for row in now]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_table_is_what_its_command_gives(command):
    """Where a machine file or a fit has changed, the page's table is that of yesterday."""
    document = calibrate_document(calibration(command), load_machine(command["against"]))
    assert command["table"] == comparison_table(document)


@pytest.mark.parametrize("command", COMMANDS[:4])
def test_the_shares_of_the_pins_are_those_of_the_tables(command):
    machine = load_machine(command["gpu"])
    found = {f.path: f.quantity.value for f in calibration(command).findings}
    shares = [f"{found[path] / machine.number('dram.bandwidth'):.2f}" for path in SHARES]
    assert f"| {machine.name} | {' | '.join(shares)} |" in PAGE.read_text()
