"""The kernels with known results as the pack holds them, and the arrays of their launches."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Mapping
from typing import Any

from .archive import Archive, CompiledCode
from .gpu import Gpu, PreparedLaunch
from .gpu_driver import GpuError

FOLDER = "ground_truth"
"""Where the table, the states, the expected values and the code lie in the pack."""
SUPPORT = "support"
"""The compiled file with the kernels that stand around the launches."""
_QUICK_KERNELS = 2
"""Kernels of a family that a quick run takes."""

_SHUFFLE_STEPS = 1 << 16
_THREADS = 32


class GroundTruthTable:
    """The kernels with their configurations, and the files that the table points into.

    GpuError where the pack was made without them.
    """

    def __init__(self, archive: Archive) -> None:
        try:
            table = json.loads(archive.read(f"{FOLDER}/table.json"))
        except GpuError:
            what = "has no kernels with known results; make it with --ground-truth"
            raise GpuError("no code", f"{archive.path} {what}") from None
        self._archive = archive
        self.suite: str = table["suite"]
        self.starts: list[dict[str, Any]] = table["starts"]
        self.kernels: dict[str, dict[str, Any]] = table["kernels"]
        self._states = archive.read(f"{FOLDER}/states.bin")
        self._expected = archive.read(f"{FOLDER}/expected.bin")

    def code(self, device: Mapping[str, Any]) -> CompiledCode:
        """Code for a device."""
        return self._archive.code(FOLDER, device)

    def states(self, offset: int, size_bytes: int) -> bytes:
        """States of the random number generator."""
        return self._states[offset : offset + size_bytes]

    def expected(self, wanted: Mapping[str, Any]) -> bytes:
        """Expected values of an array; none where the table holds all that is needed."""
        return self._expected[wanted["at"] :][: wanted["size_bytes"]] if "at" in wanted else b""

    def names(self, quick: bool) -> list[str]:
        """The kernels to run."""
        taken: dict[str, int] = {}
        names = []
        for name, kernel in self.kernels.items():
            taken[kernel["family"]] = taken.get(kernel["family"], 0) + 1
            if not quick or taken[kernel["family"]] <= _QUICK_KERNELS:
                names.append(name)
        return names


class Starts:
    """Arrays as they start, made once on the GPU and kept while launches need them."""

    def __init__(self, gpu: Gpu, table: GroundTruthTable, support: bytes) -> None:
        self._gpu = gpu
        self._table = table
        self._support = support
        self._made: dict[int, ctypes.c_uint64] = {}

    def kernel(self, name: str) -> ctypes.c_void_p:
        """A kernel of the support code."""
        return self._gpu.function(self._support, name)

    def size_bytes(self, number: int) -> int:
        """Size of an array."""
        return int(self._table.starts[number]["size_bytes"])

    def put(self, number: int, pointer: ctypes.c_uint64) -> None:
        """Let an array in device memory start, without waiting."""
        start = self._table.starts[number]
        if not start["kernel"]:
            self._gpu.clear(pointer, start["size_bytes"])
            return
        if number not in self._made:
            self._made[number] = self._make(start)
        self._gpu.duplicate(pointer, self._made[number], start["size_bytes"])

    def keep(self, numbers: Iterable[int]) -> None:
        """Give back all but these."""
        for number in self._made.keys() - set(numbers):
            self._gpu.release(self._made.pop(number))

    def _make(self, start: Mapping[str, Any]) -> ctypes.c_uint64:
        gpu = self._gpu
        # The integers of random words are made eight bytes at a time.
        pointer = gpu.allocate(-(-start["size_bytes"] // 8) * 8)
        states = gpu.allocate(max(8, start["states_bytes"]))
        gpu.write(states, self._table.states(start["states_at"], start["states_bytes"]))
        pieces = -(-start["count"] // start["piece"])
        numbers = [ctypes.c_uint64(start["piece"]), ctypes.c_int64(start["low"])]
        arguments = [pointer, ctypes.c_uint64(start["count"]), states, *numbers]
        gpu.enqueue(
            self.kernel(start["kernel"]),
            -(-pieces // _THREADS),
            _THREADS,
            [*arguments, ctypes.c_uint64(start["range"])],
        )
        if start["is_shuffled"]:
            self._shuffle(pointer, states, start["count"])
        gpu.wait()
        gpu.release(states)
        return pointer

    def _shuffle(self, order: ctypes.c_uint64, state: ctypes.c_uint64, count: int) -> None:
        """In several launches: each exchange waits for the one before, millions take seconds."""
        for first in range(count - 1, 0, -_SHUFFLE_STEPS):
            ends = map(ctypes.c_uint32, (first, max(1, first - _SHUFFLE_STEPS + 1)))
            self._gpu.enqueue(self.kernel("shuffle"), 1, 1, [order, state, *ends])


class Arguments:
    """The arguments of one launch in device memory."""

    def __init__(self, gpu: Gpu, starts: Starts, launch: Mapping[str, Any]) -> None:
        self._gpu, self._starts = gpu, starts
        self.values: list[Any] = []
        self._arrays: dict[str, tuple[ctypes.c_uint64, int]] = {}
        for argument in launch["args"]:
            if "hex" in argument:
                data = bytes.fromhex(argument["hex"])
                self.values.append((ctypes.c_ubyte * len(data)).from_buffer_copy(data))
            else:
                pointer = gpu.allocate(max(8, starts.size_bytes(argument["start"])))
                self.values.append(pointer)
                self._arrays[argument["label"]] = (pointer, argument["start"])
        starts.keep([number for _, number in self._arrays.values()])
        self.start(self._arrays)

    def start(self, labels: Iterable[str]) -> None:
        """Put arrays back to how they start, without waiting."""
        for label in labels:
            pointer, number = self._arrays[label]
            self._starts.put(number, pointer)

    def result(self, label: str) -> bytes:
        """What an array holds."""
        pointer, number = self._arrays[label]
        return self._gpu.read_bytes(pointer, self._starts.size_bytes(number))

    def release(self) -> None:
        """Give the memory back."""
        for pointer, _ in self._arrays.values():
            self._gpu.release(pointer)


class StartedLaunch:
    """One launch of a kernel: its work and its arguments, which are given back at the end."""

    def __init__(
        self, gpu: Gpu, starts: Starts, cubin: bytes, chosen: Mapping[str, Any], scale: str
    ) -> None:
        launch = chosen[scale]
        function = gpu.function(cubin, chosen["symbol"])
        self.arguments = Arguments(gpu, starts, launch)
        self.work = PreparedLaunch(
            function, launch["grid"], launch["block"], self.arguments.values, launch["smem_bytes"]
        )

    def __enter__(self) -> StartedLaunch:
        return self

    def __exit__(self, *_: object) -> None:
        self.arguments.release()
