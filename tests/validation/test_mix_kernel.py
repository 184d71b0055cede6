"""The generated kernel holds the instructions of its mix and no others, and chases its pointers."""

from __future__ import annotations

import collections
import math
import re

import pytest

from kernelcast.errors import InputError, ToolError
from kernelcast.frontends.workloads import parse_launches
from kernelcast.models.mix import Mix, MixKind
from kernelcast.toolchain.nvdisasm import disassemble, nvdisasm_path
from kernelcast.toolchain.nvrtc import compile_cuda
from kernelcast.validation.mix_kernel import mix_kernel

MIXES = {
    "streaming": Mix(8),
    "loads": Mix(0),
    "chains": Mix(3, ilp=4),
    "strided": Mix(8, MixKind.STRIDED, 2),
    "random": Mix(8, MixKind.RANDOM),
    "cached": Mix(512, MixKind.CACHED),
    "shared": Mix(8, MixKind.SHARED, 4),
    "sfu": Mix(8, MixKind.SFU),
    "additions": Mix(math.inf, ilp=2),
}
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
SLOW = {MixKind.SHARED: "LDS", MixKind.SFU: "MUFU"}
"""What the slow instruction is in machine code; LDG for all loads from global memory."""
