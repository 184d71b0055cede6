"""Compiles the microbenchmarks where they run, for a driver that is too old for the folder's code.

A driver takes code of its own major version of CUDA and of older ones (NVIDIA: CUDA Compatibility,
"Minor Version Compatibility"); the nvcc of a machine is usually of the version of its driver.

This file is copied into the folder that measures by itself and needs nothing but Python 3.10 there.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from kernelcast.measuring.harness.gpu_driver import GpuError
else:
    from gpu_driver import GpuError

COMPLETE: Mapping[str, str] = {"sm_90": "sm_90a", "sm_100": "sm_100f"}
"""Code with all that the chip can do, for which no later chip of its major version is lost."""
_DEFAULT, _PLACE = "nvcc", "/usr/local/cuda/bin/nvcc"


def compiler(named: str) -> str:
    """nvcc's program; GpuError where there is none."""
    found = shutil.which(named) or (shutil.which(_PLACE) if named == _DEFAULT else None)
    if found is None:
        raise GpuError("no code", f"{named} is not on this machine")
    return found


def compile_here(nvcc: str, sources: Path, into: Path, device: Mapping[str, Any]) -> Path:
    """Compile all files for a device; the folder `into`/ARCHITECTURE with the code.

    GpuError where the compiler refuses one.
    """
    program = compiler(nvcc)
    name = f"sm_{device['major']}{device['minor']}"
    target = COMPLETE.get(f"sm_{device['major']}0", name)
    folder = into / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(sources.glob("*.cu")):
        cubin = folder / f"{file.stem}.cubin"
        kind = f"-gencode=arch={target.replace('sm', 'compute')},code={target}"
        command = [program, "-cubin", "-w", kind, "-o", str(cubin), str(file)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode or not cubin.exists():
            told = (done.stderr + done.stdout).decode("utf-8", "replace").strip().splitlines()
            why = told[0] if told else f"it ended with status {done.returncode}"
            raise GpuError("no code", f"{program} does not compile {file.name}: {why}")
    return folder
