"""Sizes that all NVIDIA GPUs share."""

from __future__ import annotations

WARP_LANES = 32
"""Lanes of a warp."""

HALF_WARP_LANES = 16
"""Lanes that memory served at a time before compute capability 2.0."""

FULL_MASK = (1 << WARP_LANES) - 1
"""All lanes of a warp, a bit for each."""

SECTOR_BYTES = 32
"""Bytes of a sector, the part of a cache line that moves and is counted by itself."""

WORD_BYTES = 4
"""Bytes of a word: a register, a bank of shared memory, what caches write at least in one go."""
