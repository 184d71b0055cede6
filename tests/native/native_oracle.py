"""What a kernel computes, found without a GPU compiler: its source compiled by g++ and run here.

The header in `stand_in/` gives CUDA's keywords and functions a meaning on the CPU. Nothing of
kernelcast's reading or executing of GPU code takes part, so that a result on which both agree is
not their common mistake.

Run a launch here after an executor that checks addresses: a bad access ends the process.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.kept import CACHE

from kernelcast.execution.memory import Memory
from kernelcast.ir import Launch
from kernelcast.toolchain.cache import content_key

HEADERS = Path(__file__).parent / "stand_in"
COMPILER = shutil.which("g++")
MISSING = "needs g++"

_FLAGS = (
    *("-std=c++17", "-O1", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing"),
    *("-fsigned-char", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-w", "-x", "c++"),
)
"""The float arithmetic of IEEE 754, and where C++ leaves a choice, the one of device code."""

_DYNAMIC_SHARED = re.compile(
    r"\bextern\s+((?:\w+\s+)*)__shared__\s+([^;\[\]]*?)(\w+)\s*\[\s*\]\s*;"
)
_ALIGNMENT = re.compile(r"\b(?:__align__|alignas)\s*\([^()]*\)")

_ENTRY = """
extern "C" long long stand_in_run_{number}(
    const unsigned char* parameters, long long host_delta, const unsigned* extents) {{
    return stand_in::launch(
        &{kernel}, parameters, host_delta,
        {{extents[0], extents[1], extents[2]}}, {{extents[3], extents[4], extents[5]}});
}}
"""


class NativeModule:
    """The kernels of one CUDA source, compiled for the host; get it from `native_module`."""

    def __init__(self, library: ctypes.CDLL, kernels: Sequence[str]) -> None:
        self._library = library
        self._entries = {kernel: f"stand_in_run_{at}" for at, kernel in enumerate(kernels)}

    def run(self, kernel: str, launch: Launch, memory: Memory) -> None:
        """Run a launch on `memory`, which holds the results.

        Raises RuntimeError where threads of a block wait for each other for ever.
        """
        entry = self._library[self._entries[kernel]]
        entry.restype = ctypes.c_longlong
        entry.argtypes = [ctypes.c_void_p, ctypes.c_longlong, ctypes.c_void_p]
        extents = (ctypes.c_uint * 6)(*launch.grid, *launch.block)
        self._exchange_variables(memory, to_native=True)
        ended = entry(memory.parameters.ctypes.data, memory.host_delta, extents)
        self._exchange_variables(memory, to_native=False)
        if ended != launch.blocks:
            raise RuntimeError(f"{kernel}: threads of block {ended} wait for each other for ever")

    def _exchange_variables(self, memory: Memory, *, to_native: bool) -> None:
        """Copy the module's variables, which are the host's own, from or to the memory.

        Those that the host compiler keeps to itself (static ones, tables made by the device
        compiler) stay as they are in the memory.
        """
        for region in memory.regions:
            if region.is_argument:
                continue
            try:
                variable = ctypes.c_char.in_dll(self._library, region.label)
            except ValueError:
                continue
            ours, native = region.address + memory.host_delta, ctypes.addressof(variable)
            to, source = (native, ours) if to_native else (ours, native)
            ctypes.memmove(to, source, region.size_bytes)


@cache
def native_module(
    source: str, kernels: tuple[str, ...], defines: tuple[str, ...] = ()
) -> NativeModule:
    """Compile a CUDA source for the host, once in a process.

    `kernels` names those to be run, templates by expression (`tiled<16>`); `defines` are `NAME` or
    `NAME=VALUE`. Raises RuntimeError with the compiler's message where it refuses the source.
    """
    assert COMPILER is not None, MISSING
    text = _DYNAMIC_SHARED.sub(_pointer_to_dynamic_shared, source)
    entries = (_ENTRY.format(number=at, kernel=kernel) for at, kernel in enumerate(kernels))
    parts = ['#include "cuda_stand_in.h"\n#line 1 "source.cu"\n', text, *entries]
    macros = [f"-D{definition}" for definition in defines]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernels.so")
        library.write_bytes(_library("".join(parts), (*_FLAGS, *macros)))
        return NativeModule(ctypes.CDLL(str(library)), kernels)


def _library(source: str, flags: tuple[str, ...]) -> bytes:
    """What g++ makes of a source, or made of it before."""
    assert COMPILER is not None
    headers = (file.read_bytes() for file in sorted(HEADERS.iterdir()))
    key = content_key(_version(COMPILER), *flags, source, *headers)
    if (kept := CACHE.get("native", key)) is not None:
        return kept
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernels.so")
        made = subprocess.run(
            [COMPILER, *flags, f"-I{HEADERS}", "-", "-o", str(library)],
            input=source,
            text=True,
            capture_output=True,
        )
        if made.returncode:
            raise RuntimeError(f"g++ refuses the source: {made.stderr.strip()}")
        CACHE.put("native", key, library.read_bytes())
        return library.read_bytes()


@cache
def _version(compiler: str) -> str:
    """Tells one compiler from another."""
    return subprocess.run([compiler, "-v"], capture_output=True, text=True, check=True).stderr


def run_native(source: str, kernel: str, launch: Launch, memory: Memory) -> None:
    """Run one launch of a source's kernel on `memory`; see `native_module` and its `run`."""
    native_module(source, (kernel,)).run(kernel, launch, memory)


def _pointer_to_dynamic_shared(array: re.Match[str]) -> str:
    """`extern __shared__ T name[];` as a pointer to the block's dynamic shared memory."""
    pointer = _ALIGNMENT.sub("", array[1] + array[2]) + "*"
    return f"static {pointer} const {array[3]} = ({pointer})stand_in::dynamic_shared;"
