"""Errors of kernelcast as CUDA's codes."""

from __future__ import annotations

from enum import IntEnum

from kernelcast.devices.code import NoCodeError
from kernelcast.errors import (
    AssertionFailedError,
    BudgetError,
    CompileError,
    ExecutionError,
    KernelcastError,
    LaunchError,
    MemoryFaultError,
    MisalignedError,
    NotFoundError,
    ToolError,
    UnsupportedError,
)


class Code(IntEnum):
    """The codes that the device answers with, named as in `cudaError_t`."""

    SUCCESS = 0
    INVALID_VALUE = 1
    MEMORY_ALLOCATION = 2
    INVALID_CONFIGURATION = 9
    INVALID_KERNEL_IMAGE = 200
    NO_KERNEL_IMAGE_FOR_DEVICE = 209
    INVALID_PTX = 218
    JIT_COMPILER_NOT_FOUND = 221
    INVALID_RESOURCE_HANDLE = 400
    SYMBOL_NOT_FOUND = 500
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_TIMEOUT = 702
    ASSERT = 710
    MISALIGNED_ADDRESS = 716
    LAUNCH_FAILURE = 719
    NOT_SUPPORTED = 801
    UNKNOWN = 999

    @property
    def title(self) -> str:
        """The name that programs know it by: `cudaErrorIllegalAddress`."""
        return "cudaError" + "".join(part.capitalize() for part in self.name.split("_"))


_CODES: tuple[tuple[type[Exception], Code], ...] = (
    (MisalignedError, Code.MISALIGNED_ADDRESS),
    (MemoryFaultError, Code.ILLEGAL_ADDRESS),
    (AssertionFailedError, Code.ASSERT),
    (BudgetError, Code.LAUNCH_TIMEOUT),
    (ExecutionError, Code.LAUNCH_FAILURE),
    (NoCodeError, Code.NO_KERNEL_IMAGE_FOR_DEVICE),
    (NotFoundError, Code.SYMBOL_NOT_FOUND),
    (UnsupportedError, Code.NOT_SUPPORTED),
    (CompileError, Code.INVALID_PTX),
    (ToolError, Code.JIT_COMPILER_NOT_FOUND),
    (LaunchError, Code.INVALID_CONFIGURATION),
    (KernelcastError, Code.INVALID_KERNEL_IMAGE),
)


def code_of(error: Exception) -> Code:
    """The code that a program gets for an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), Code.UNKNOWN)
