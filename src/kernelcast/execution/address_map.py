"""Where things lie in the simulated device: one map for every executor and every profile.

Global and constant arrays live at `GLOBAL_BASE` and above, far apart, so that an access past the
end of one array does not silently land in the next. Shared, local and parameter memory are
addressed from 0 within their own space; in generic addresses they appear through windows.
"""

from __future__ import annotations

# Machine code makes a generic address of an offset by setting the high word alone.
SHARED_WINDOW = 0x1_0000_0000
LOCAL_WINDOW = 0x2_0000_0000
PARAM_WINDOW = 0x3_0000_0000
WINDOW_BYTES = 0x0100_0000

GLOBAL_BASE = 0x10_0000_0000
ARRAY_ALIGN_BYTES = 512
"""Alignment of every array; cudaMalloc promises at least 256."""
GUARD_BYTES = 1 << 30
"""Unmapped addresses after every array."""
