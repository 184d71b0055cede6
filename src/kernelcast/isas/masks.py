"""Masks of lanes as operands."""

from __future__ import annotations

from kernelcast.ir import Immediate
from kernelcast.ir.sizes import FULL_MASK

ALL_LANES = Immediate(FULL_MASK)
"""Every lane of a warp."""
