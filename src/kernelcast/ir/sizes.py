"""Sizes that all NVIDIA GPUs share."""

from __future__ import annotations

WARP_LANES = 32
"""Lanes of a warp."""

SECTOR_BYTES = 32
"""Bytes of a sector, the part of a cache line that moves and is counted by itself."""
