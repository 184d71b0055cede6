"""Launches of the kernels on whole numbers."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

SEGMENTS = Geometry(
    "numbers // segment",
    "block",
    rows(
        "block segment",
        (256, 2048),
        (128, 2048),
        (64, 4096),
        (512, 8192),
        (1024, 16384),
        (256, 32768),
    ),
    {"numbers": 32768},
    {"numbers": 1 << 24},
    smem="segment",
)
NUMBERS = Geometry("cdiv(n, block)", "block", BLOCKS, {"n": 500}, {"n": 1 << 20})
REPEATED = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block times", (256, 8), (64, 8), (128, 16), (512, 4), (1024, 8), (256, 64)),
    {"n": 500},
    {"n": 1 << 20},
)

PAIRS = {"a": "u64[n] random(1)", "b": "u64[n] random(2)"}

KERNELS = (
    SEGMENTS.kernel("integer_sieve", segment="segment", prime="u8[numbers]"),
    NUMBERS.kernel("integer_trial_division", n="n", first="1000001", divisor="u32[n]"),
    NUMBERS.kernel(
        "integer_gcd", n="n", a="u32[n] random(1)", b="u32[n] random(2)", divisor="u32[n]"
    ),
    NUMBERS.kernel("integer_collatz", n="n", first="1000000", steps="s32[n]"),
    NUMBERS.kernel(
        "integer_power",
        n="n",
        exponent="1000003",
        modulus="4294967291",
        base="u64[n] random(1)",
        power="u64[n]",
    ),
    REPEATED.kernel(
        "integer_montgomery",
        n="n",
        times="times",
        modulus="(1 << 61) - 1",
        inverse="(1 << 61) + 1",
        **PAIRS,
        product="u64[n]",
    ),
    REPEATED.kernel(
        "integer_crc32",
        n="n",
        length="2 * times",
        message="u8[n, length] random(1)",
        crc="u32[n]",
    ),
    REPEATED.kernel(
        "integer_hamming",
        n="n",
        codes="16 * times",
        query="u64[n] random(1)",
        code="u64[codes] random(2)",
        least="s32[n]",
        place="s32[n]",
    ),
    REPEATED.kernel("integer_bits", n="n", rounds="times", x="u32[n] random(1)", y="u32[n]"),
)
