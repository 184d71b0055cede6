"""Compiles the microbenchmarks where they run, for a driver that is too old for the pack's code.

A driver takes code of its own major version of CUDA and of older ones (NVIDIA: CUDA Compatibility,
"Minor Version Compatibility"); the nvcc of a machine is usually of the version of its driver.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .archive import CompiledCode
from .gpu_driver import GpuError

COMPLETE: Mapping[str, str] = {"sm_90": "sm_90a", "sm_100": "sm_100f"}
"""Code with all that the chip can do, for which no later chip of its major version is lost."""
_DEFAULT, _PLACE = "nvcc", "/usr/local/cuda/bin/nvcc"


def _compiler(named: str) -> str:
    """nvcc's program; GpuError where there is none."""
    found = shutil.which(named) or (shutil.which(_PLACE) if named == _DEFAULT else None)
    if found is None:
        raise GpuError("no code", f"{named} is not on this machine")
    return found


def compile_here(
    nvcc: str, sources: Mapping[str, bytes], into: Path, device: Mapping[str, Any]
) -> CompiledCode:
    """Compile CUDA sources, by their names without ending, for a device; they stay in `into`.

    GpuError where the compiler refuses one.
    """
    program = _compiler(nvcc)
    folder = _folder(into, device)
    folder.mkdir(parents=True, exist_ok=True)
    target = COMPLETE.get(f"sm_{device['major']}0", folder.name)
    for stem, text in sorted(sources.items()):
        source, cubin = folder / f"{stem}.cu", folder / f"{stem}.cubin"
        source.write_bytes(text)
        kind = f"-gencode=arch={target.replace('sm', 'compute')},code={target}"
        command = [program, "-cubin", "-w", kind, "-o", str(cubin), str(source)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode or not cubin.exists():
            told = (done.stderr + done.stdout).decode("utf-8", "replace").strip().splitlines()
            why = told[0] if told else f"it ended with status {done.returncode}"
            raise GpuError("no code", f"{program} does not compile {source.name}: {why}")
    return compiled_before(into, device)


def compiled_before(into: Path, device: Mapping[str, Any]) -> CompiledCode:
    """What `compile_here` has left in a folder for a device."""
    folder = _folder(into, device)
    return CompiledCode(folder.name, {f.stem: f.read_bytes() for f in folder.glob("*.cubin")})


def _folder(into: Path, device: Mapping[str, Any]) -> Path:
    return into / f"sm_{device['major']}{device['minor']}"
