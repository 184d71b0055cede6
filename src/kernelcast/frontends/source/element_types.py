"""Arithmetic types of C++ as types of array elements."""

from __future__ import annotations

from collections.abc import Mapping

ELEMENT_TYPES: Mapping[str, str] = {
    "bool": "u8",
    "char": "s8",
    "signed char": "s8",
    "unsigned char": "u8",
    "short": "s16",
    "unsigned short": "u16",
    "int": "s32",
    "signed": "s32",
    "unsigned": "u32",
    "unsigned int": "u32",
    "long": "s64",
    "long int": "s64",
    "unsigned long": "u64",
    "long long": "s64",
    "long long int": "s64",
    "unsigned long long": "u64",
    "unsigned long long int": "u64",
    "size_t": "u64",
    "ptrdiff_t": "s64",
    **{f"int{bits}_t": f"s{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
    "short int": "s16",
    "unsigned short int": "u16",
    "unsigned long int": "u64",
    "uchar": "u8",
    "ushort": "u16",
    "uint": "u32",
    "ulong": "u64",
    "half": "f16",
    "__half": "f16",
    "__nv_bfloat16": "bf16",
    "nv_bfloat16": "bf16",
    "__nv_fp8_e4m3": "b8",
    "__nv_fp8_e5m2": "b8",
    "float": "f32",
    "double": "f64",
}
"""Array element type of every arithmetic C++ type."""
