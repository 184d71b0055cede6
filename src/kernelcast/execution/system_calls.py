"""What kernels ask of the system: text to print, memory, and an end where an assertion fails.

`printf` of a kernel is that of C, with arguments side by side in memory, each at a multiple of its
size; numbers narrower than a word have become words, single precision double (CUDA C++ Programming
Guide, Formatted Output).
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kernelcast.errors import AssertionFailedError, UnsupportedError
from kernelcast.execution.address_map import LOCAL_WINDOW, PARAM_WINDOW, WINDOW_BYTES
from kernelcast.execution.faults import place
from kernelcast.execution.memory import Memory
from kernelcast.ir import Instruction, Kernel, Launch

_LONGEST_TEXT = 1 << 16
_PIECE = 64
_FORMAT = re.compile(
    rb"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?"
    rb"(?P<size>hh|h|ll|l|L|j|z|t)?(?P<kind>[diouxXcsfFeEgGaAp%])"
)
_INTEGERS = "diouxXc"
_WIDE = ("l", "ll", "j", "z", "t")

_CValue = ctypes.c_int | ctypes.c_longlong | ctypes.c_double | ctypes.c_char_p | ctypes.c_void_p


class SystemCalls(Protocol):
    """Who answers kernels; threads of the CPU call it side by side."""

    def show(self, text: bytes) -> None:
        """Print."""
        ...

    def allocate(self, size_bytes: int) -> int:
        """The address of new memory, 0 where there is none."""
        ...

    def free(self, address: int) -> None:
        """Take memory back."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """The thread of a kernel that asks: its block's index in the grid, its own in the block, and
    its local memory."""

    kernel: Kernel
    launch: Launch
    memory: Memory
    block: int
    thread: int
    local: memoryview

    def bytes_at(self, address: int, size_bytes: int) -> bytes:
        """What stands at a generic address, as far as it lies in one array."""
        if LOCAL_WINDOW <= address < LOCAL_WINDOW + WINDOW_BYTES:
            start = address - LOCAL_WINDOW
            return self.local[start : start + size_bytes].tobytes()
        if PARAM_WINDOW <= address < PARAM_WINDOW + WINDOW_BYTES:
            start = address - PARAM_WINDOW
            return self.memory.parameters[start : start + size_bytes].tobytes()
        region = self.memory.region_at(address)
        if region is None:
            return b""
        return self.memory.bytes_at(address, min(size_bytes, region.end - address)).tobytes()

    def text_at(self, address: int) -> bytes:
        """The bytes up to the first zero."""
        parts: list[bytes] = []
        for start in range(address, address + _LONGEST_TEXT, _PIECE):
            part, ended, _ = self.bytes_at(start, _PIECE).partition(b"\0")
            parts.append(part)
            if ended or len(part) < _PIECE:
                break
        return b"".join(parts)


def call_system(step: Instruction, values: Sequence[int], caller: Caller) -> int:
    """Do what a step asks for; the result. AssertionFailedError where an assertion has failed.

    Where nobody answers, nothing is printed; UnsupportedError where memory is asked for.
    """
    system = caller.memory.system
    match step.modifiers[0]:
        case "vprintf":
            if system is None:
                return 0
            text, count = formatted(caller.text_at(values[0]), values[1], caller)
            system.show(text)
            return count
        case "malloc":
            if system is None:
                raise UnsupportedError(
                    "malloc: a launch by itself has no heap",
                    where=f"kernel {caller.kernel.shown}",
                    hint="run the whole program (kernelcast run), or give an array instead",
                )
            return system.allocate(values[0])
        case "free":
            if system is not None and values[0]:
                system.free(values[0])
            return 0
        case _:
            raise _failed(step, values, caller)


def _failed(step: Instruction, values: Sequence[int], caller: Caller) -> AssertionFailedError:
    message, file, function = (
        caller.text_at(v).decode("utf-8", "replace") for v in (values[0], values[1], values[3])
    )
    instruction = caller.kernel.instructions[step.index]
    return AssertionFailedError(
        f"assertion `{message}` of {function} failed at {file}:{values[2]}",
        where=place(caller.kernel, caller.launch, instruction, caller.block, caller.thread),
        hint="check the condition it asserts",
        at=(step.index, caller.block, caller.thread),
    )


def formatted(text: bytes, arguments: int, caller: Caller) -> tuple[bytes, int]:
    """A format with its arguments, which begin at an address; and how many there were."""
    words = _Variadic(caller, arguments)

    def shown(found: re.Match[bytes]) -> bytes:
        kind = found["kind"].decode()
        if kind == "%":
            return b"%"
        stars = [ctypes.c_int(words.take(4)) for _ in range(found.group().count(b"*"))]
        return _printed(found.group(), *stars, _value(kind, (found["size"] or b"").decode(), words))

    return _FORMAT.sub(shown, text), words.taken


def _value(kind: str, size: str, words: _Variadic) -> _CValue:
    """The argument of a conversion, as C takes it."""
    if kind == "s":
        return ctypes.c_char_p(words.caller.text_at(words.take(8)))
    if kind == "p":
        return ctypes.c_void_p(words.take(8))
    if kind in _INTEGERS:
        return ctypes.c_longlong(words.take(8 if size in _WIDE else 4))
    (number,) = struct.unpack("<d", words.take(8).to_bytes(8, "little"))
    return ctypes.c_double(number)


def _printed(conversion: bytes, *values: _CValue) -> bytes:
    """One conversion of `printf`, by the C library."""
    buffer = ctypes.create_string_buffer(_LONGEST_TEXT)
    ctypes.CDLL(None).snprintf(buffer, ctypes.c_size_t(_LONGEST_TEXT), conversion, *values)
    return buffer.value


class _Variadic:
    """Arguments side by side in memory."""

    def __init__(self, caller: Caller, start: int) -> None:
        self.caller = caller
        self.taken = 0
        self._at = start

    def take(self, size_bytes: int) -> int:
        """The next one, as an unsigned number."""
        self._at += -self._at % size_bytes
        data = self.caller.bytes_at(self._at, size_bytes)
        self._at += size_bytes
        self.taken += 1
        return int.from_bytes(data, "little")
