"""Launches of the Fourier transforms."""

from kernelcast.suite.table import BLOCKS, Geometry, rows, vary

STEP = Geometry(
    "n // 2 // block",
    "block",
    rows("block p", (256, 4), (256, 1), (64, 16), (128, 64), (512, 256), (1024, 1024)),
    {"n": 2048},
    {"n": 1 << 22},
)
IN_SHARED = Geometry(
    "n // size",
    "size // 2",
    vary(size=(256, 512, 64, 128, 1024, 2048)),
    {"n": 2048},
    {"n": 1 << 22},
)
DIRECT = Geometry("cdiv(n, block)", "block", BLOCKS, {"n": 120}, {"n": 1 << 14})

KERNELS = (
    STEP.kernel("fft_radix2_step", n="n", p="p", x="f32[n, 2] random(1)", y="f32[n, 2]"),
    IN_SHARED.kernel(
        "fft_shared<{size}>", x="f32[n // size, size, 2] random(1)", y="f32[n // size, size, 2]"
    ),
    DIRECT.kernel("fft_direct", n="n", x="f32[n, 2] random(1)", y="f32[n, 2]"),
)
