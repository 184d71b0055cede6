"""A device takes addresses and files of its process for as long as its program runs."""

from __future__ import annotations

import gc
from pathlib import Path
from subprocess import DEVNULL

from kernelcast.devices.run import run_on_device
from kernelcast.machines.loader import load_machine
from kernelcast.models import read_model


def mapped() -> int:
    """How often memory of a device is mapped by this process."""
    return Path("/proc/self/maps").read_text().count("kernelcast device memory")


def test_a_process_may_run_one_program_after_the_other(built) -> None:
    """Each device takes 2 TiB of the 128 that a process has, and must not wait for Python to look
    for circles."""
    machine, before = load_machine("a100-sxm-80gb"), mapped()
    gc.disable()
    try:
        for _ in range(2):
            done = run_on_device(
                [str(built("vector_add")), "1000"], [machine], read_model("volkov"), output=DEVNULL
            )
            assert (done.status, len(done.record.launches)) == (0, 1)
        del done
        assert mapped() == before
    finally:
        gc.enable()
