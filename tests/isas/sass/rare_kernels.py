"""Small kernels of what random programs met first: forms that compiled C++ hardly ever needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
from tests.isas.sass.small_kernels import (
    ALL,
    FROM_SM_80,
    FROM_SM_90,
    FROM_SM_100,
    UP_TO_SM_90,
    Small,
    Words,
)

FROM_SM_86 = FROM_SM_90
"""Of the architectures that the kernels are compiled for."""
ONLY_SM_120 = ("sm_120",)


def signed_extreme(form: str, at: int) -> str:
    return (
        f'asm volatile("{form}.xorsign.abs.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));'
        f"r[t + {64 * at}] = z == z ? z : 9e9f;"
    )


def generic_atomic(name: str, at: int) -> str:
    return generic_atomic_of(name, f"values[t + {at}]")


def generic_atomic_of(name: str, value: str) -> str:
    return (
        f'asm volatile("atom.{name} %0, [%1], %2;"'
        f': "=l"(old) : "l"(q), "l"({value}) : "memory"); sum = 31 * sum + old;'
    )


def comparison(relation: str, kind: str) -> str:
    return (
        f'asm volatile("{{.reg .pred p; setp.{relation}.{kind}64 p, %1, %2;'
        'selp.u32 %0, 1, 0, p;}" : "=r"(r) : "l"(x), "l"(y)); s = 2 * s + r;'
    )


SAME_HIGH_WORD = "*(volatile unsigned long long*)q >> 32 << 32 | a[t + 64]"
COMPARISONS = "".join(
    comparison(relation, kind) for kind in "su" for relation in ("lt", "le", "gt", "ge", "eq", "ne")
)
WORDS_OF_8 = "unsigned v[8]; "
INTO_WORDS = ", ".join(f'"=r"(v[{n}])' for n in range(8))
FROM_WORDS = ", ".join(f'"r"(v[{n}])' for n in range(8))
PLACES = "{%0, %1, %2, %3, %4, %5, %6, %7}"
MIXED = "".join(f"s = 31 * s + v[{n}];" for n in (0, 2, 3, 4, 7))

RARE = {
    "extremes with the sign of a product": Small(
        "float x = __uint_as_float(a[t]), y = __uint_as_float(a[t + 64]), z;"
        "if (t < 8) x = t & 1 ? 0.f : -0.f; if (t % 8 == 1) y = -x; if (t % 8 == 2) y = NAN;"
        "if (t % 8 == 3) x = -INFINITY; if (t % 8 == 4) x = __uint_as_float(a[t] & 0x807fffff);"
        "float* r = (float*)o;"
        + signed_extreme("min", 0)
        + signed_extreme("max", 1)
        + signed_extreme("min.NaN", 2)
        + signed_extreme("max.ftz", 3),
        {
            "FMNMX.XORSIGN": FROM_SM_86,
            "FMNMX.NAN.XORSIGN": FROM_SM_86,
            "FMNMX.FTZ.XORSIGN": FROM_SM_86,
        },
        before="#define NAN __uint_as_float(0x7fffffff)\n"
        "#define INFINITY __uint_as_float(0x7f800000)",
    ),
    "atomics of 64 bits on generic addresses": Small(
        "__shared__ unsigned long long s[64]; const unsigned long long* values ="
        "(const unsigned long long*)a; unsigned long long* g = (unsigned long long*)o + 64;"
        "s[t] = values[t + 7]; g[t] = values[t + 9]; __syncthreads();"
        "unsigned long long *q = a[t] & 1 ? s + t : g + t, old, sum = 0;"
        + generic_atomic("add.u64", 1)
        + generic_atomic("max.s64", 2)
        + generic_atomic("min.u64", 3)
        + generic_atomic("or.b64", 4)
        + generic_atomic("exch.b64", 5)
        + generic_atomic_of("max.u64", SAME_HIGH_WORD)
        + generic_atomic_of("min.s64", SAME_HIGH_WORD)
        + "sum += atomicCAS(q, values[t + 5], values[t + 6]);"
        "((unsigned long long*)o)[t] = sum; if (a[t] & 1) g[t] = *q;",
        {
            "ATOM.E.ADD.64.STRONG.GPU": ALL,
            "ATOM.E.MAX.S64.STRONG.GPU": ALL,
            "ATOM.E.MIN.64.STRONG.GPU": ALL,
            "ATOM.E.OR.64.STRONG.GPU": ALL,
            "ATOM.E.EXCH.64.STRONG.GPU": ALL,
            "ATOM.E.CAS.64.STRONG.GPU": ALL,
        },
    ),
    "sums of floats on generic addresses": Small(
        "__shared__ float s[64]; s[t] = (int)a[t]; float* g = (float*)o + 64;"
        "g[t] = (int)a[t + 64]; __syncthreads(); float* q = a[t] & 1 ? s + (t ^ 2) : g + t;"
        "((float*)o)[t] = atomicAdd(q, (float)(int)a[t + 128]); __syncthreads();"
        "((float*)o)[t + 128] = s[t];",
        {"ATOM.E.ADD.F32.FTZ.RN.STRONG.GPU": ALL},
    ),
    "spaces of addresses": Small(
        "__shared__ unsigned s[64]; s[t] = a[t]; unsigned m[4]; for (int i = 0; i < 4; i++)"
        "m[a[t + i] & 3] = a[t + i]; __syncthreads(); unsigned kind = a[t] % 3;"
        "unsigned* p = kind == 0 ? s + t : kind == 1 ? a + t : m + (a[t] & 3); unsigned r = *p;"
        + "".join(
            f'asm volatile("{{.reg .pred p; isspacep.{space} p, %1; @p add.u32 %0, %0, {plus};}}"'
            ': "+r"(r) : "l"(p));'
            for space, plus in (("shared", 1000), ("global", 2000), ("local", 3000))
        )
        + "o[t] = r;",
        {"QSPC.E.S": ALL, "QSPC.E.G": ALL, "QSPC.E.L": ALL},
    ),
    "256 bits": Small(
        WORDS_OF_8 + "unsigned s = 0;"
        f'asm volatile("ld.global.v8.b32 {PLACES}, [%8];" : {INTO_WORDS} : "l"(a + 8 * t));'
        "v[1] += v[6]; v[4] ^= v[0];"
        f'asm volatile("st.global.v8.b32 [%8], {PLACES};" :: {FROM_WORDS}, "l"(o + 8 * t)'
        ' : "memory");'
        'asm volatile("ld.global.v8.b32 {%0, _, %1, %2, %3, _, _, %4}, [%5];"'
        ': "=r"(v[0]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[7]) : "l"(a + 8 * t + 8));'
        f"{MIXED} o[512 + t] = s;"
        'asm volatile("ld.global.v8.b32 {_, _, _, _, %0, %1, %2, %3}, [%4];"'
        ': "=r"(v[0]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]) : "l"(a + 8 * t + 16));'
        f"{MIXED} o[576 + t] = s;"
        'asm volatile("st.global.v8.b32 [%0], {%1, %2, %2, %2, %3, %3, %3, %3};"'
        ' :: "l"(o + 640 + (t & 31) * 8), "r"(t & 31), "r"(7), "r"(0) : "memory");',
        {"LDG.E.ENL2.256": FROM_SM_100, "STG.E.ENL2.256": FROM_SM_100},
    ),
    "clusters of one block": Small(
        "unsigned v[11];"
        + "".join(
            f'asm volatile("mov.u32 %0, %{name};" : "=r"(v[{n}]));'
            for n, name in enumerate(
                [f"{name}.{axis}" for name in ("nclusterid", "clusterid") for axis in "xyz"]
                + [f"cluster_nctaid.{axis}" for axis in "xyz"]
                + ["cluster_nctarank", "cluster_ctarank"]
            )
        )
        + "unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);"
        '_Pragma("unroll") for (int i = 0; i < 11; i++) o[16 * b + i] = v[i] + 1;',
        {"CS2R.32": FROM_SM_100, "LDC": ("sm_90",)},
        threads=1,
        grid=(3, 4, 5),
    ),
    "uniform table of targets": Small(
        "unsigned x = a[t], y = a[t + 64], r;"
        '_Pragma("unroll 1") for (int i = 0; i < n; i++) { __syncthreads(); switch (i * m % 9u) {'
        "case 0: r = x * y; break; case 1: r = x + 7; break; case 2: r = x ^ y; break;"
        "case 3: r = __brev(x) + y; break; case 4: r = x < y ? y : x * 3; break;"
        "case 5: r = x >> (y & 31); break; case 6: r = x - y; break;"
        "case 7: r = ~x & y; break; default: r = 77; } x = y; y = r; } o[t] = x; o[t + 64] = y;",
        {"BRXU": ONLY_SM_120},
        {"n": 20, "m": 4},
    ),
    "uniform roundings": Small(
        "float x = a[t]; for (int i = 0; i < n; i++) { x += floorf((float)i * f); x *= 3; }"
        "((float*)o)[t] = x + floorf(f) + ceilf(f * n) * 3 + truncf(f * f) * 7;",
        {"UFRND.FLOOR": ONLY_SM_120},
        {"n": 9, "f": 1.37},
    ),
    "uniform conversions towards zero": Small(
        "float x = a[t], h = 1.f - f; for (int i = 0; i < n; i++) {"
        "x = x * h + __uint2float_rz(i * m); x += (float)a[t + i] * (1.f - g); }"
        "((float*)o)[t] = x; ((float*)o)[t + 64] = __uint2float_rz(m * n) * f;",
        {"UI2FP.F32.U32.RZ": ONLY_SM_120},
        {"n": 9, "m": 0xF2345F, "f": 0.37, "g": 1.37},
    ),
    "saturated differences": Small(
        "unsigned r;"
        'asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a[t]), "r"(a[t + 64])); o[t] = r;'
        'asm("sub.sat.s32 %0, 7, %1;" : "=r"(r) : "r"(a[t])); o[t + 64] = r;'
        'asm("add.sat.s32 %0, %1, 0x7000000;" : "=r"(r) : "r"(a[t])); o[t + 128] = r;'
        'asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a[t + 64]), "r"(a[t])); o[t + 192] = r;',
        {"VIADD.S32.ISAT": ONLY_SM_120},
    ),
    "differences of bytes": Small(
        "unsigned r;"
        'asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a[t]), "r"(a[t + 64]),'
        '"r"(a[t + 128])); o[t] = r;'
        'asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(a[t]), "r"(a[t + 64]),'
        '"r"(a[t + 128])); o[t + 64] = r;'
        'asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a[t]), "r"(a[t + 64]),'
        '"r"(a[t + 128])); o[t + 128] = r;',
        {"VABSDIFF4.U8": UP_TO_SM_90, "VABSDIFF4.U8.ACC": UP_TO_SM_90},
    ),
    "guarded arrivals": Small(
        "__shared__ unsigned s[64]; if (t < 32) s[t] = a[t];"
        'asm volatile("{.reg .pred p, q; setp.lt.u32 p, %0, 32; setp.eq.u32 q, %0, 77;'
        '@p bar.arrive 1, 64; @q bar.arrive 1, 64; @!p bar.sync 1, 64;}" :: "r"(t) : "memory");'
        "if (t >= 32) o[t] = s[t ^ 40];",
        {"BAR.ARV": ALL},
    ),
    "halves with a sign": Small(
        "short h = a[t] & 0x3fff, x; int y; long long z;"
        'asm("{.reg .b16 n; neg.f16 n, %1; cvt.rni.s32.f16 %0, n;}" : "=r"(y) : "h"(h));'
        "o[t] = y;"
        'asm("{.reg .b16 n; neg.f16 n, %1; cvt.rzi.s16.f16 %0, n;}" : "=h"(x) : "h"(h));'
        "o[t + 64] = x;"
        'asm("{.reg .b16 n; abs.f16 n, %1; cvt.rpi.s64.f16 %0, n;}" : "=l"(z) : "h"(x));'
        "o[t + 128] = z;",
        {"F2I.F16.NTZ": ALL},
    ),
    # Only the low words tell most of these pairs apart.
    "comparisons of 64 bits": Small(
        "unsigned r, s = 0; unsigned long long high = a[t] & 1 ? a[t + 1] : a[t + 2];"
        "unsigned long long x = high << 32 | a[t + 64];"
        "if (t % 4 == 0) high = a[t + 3];"
        "unsigned long long y = high << 32 | (t % 4 == 1 ? a[t + 64] : a[t + 128]);"
        f"{COMPARISONS} o[t] = s;",
        {"ISETP.GT.AND.EX": UP_TO_SM_90, "ISETP.NE.U32.AND.EX": UP_TO_SM_90},
    ),
    "uniform comparisons of 64 bits": Small(
        "unsigned r, s = 0;"
        '_Pragma("unroll 1") for (int i = 0; i < n; i++) { __syncthreads();'
        "unsigned long long x = (unsigned long long)(i & m) << 32 | (unsigned)(i * z);"
        "unsigned long long y = (unsigned long long)(m & z) << 32 | (unsigned)(z + 2 * i);"
        "unsigned long long d = x - y; if (x < y) s += a[t + i]; if ((long long)d <= 5) s ^= 77;"
        "if ((x ^ y) >> 3 == 0) s = 3 * s + o[t]; __syncthreads(); o[t] = s; } o[t + 64] = s;",
        {"ISETP": ALL},
        {"n": 40, "m": 1, "z": 9},
    ),
}


def states(word: int, others: Sequence[int]) -> Iterator[int]:
    """A word of 64 bits before and after every atomic operation; `others` begin behind its own."""
    yield word
    yield (word := word + others[1] & ONES_OF_64)
    yield (word := max(word, others[2], key=lambda x: x ^ SIGN_OF_64))
    yield (word := word | others[4])
    yield (word := others[5])


def atomics_on_any_memory(a: Words) -> Words:
    """Sums of what they return, and what they leave, of words of 64 bits; then of floats."""
    values = a.view(np.uint64).tolist()
    sums, left, floats = [], [], []
    for t, choice in enumerate(a[:64].tolist()):
        first = values[t + 9 if choice & 1 else t + (choice >> 1 & 3)]
        *_, last = found = list(states(first, values[t:]))
        sums.append(reduce(lambda total, x: 31 * total + x, found) & ONES_OF_64)
        left.append(last if t & 1 else values[t + 6])
        floats.append(2 * (t + (5 if choice & 1 else choice >> 1 & 1)))
    words = np.array([*floats, *(f + 5 for f in floats)], np.uint32)
    return np.concatenate([np.array([*sums, *left], np.uint64).view(np.uint32), words])


ONES_OF_64, SIGN_OF_64 = (1 << 64) - 1, 1 << 63

BEYOND_PTX = {
    "atomics on local memory": Small(
        "const unsigned long long* values = (const unsigned long long*)a;"
        "unsigned long long m[4]; for (int i = 0; i < 4; i++) m[i] = values[t + i];"
        "unsigned long long* g = (unsigned long long*)o + 256 + t; *g = values[t + 9];"
        "unsigned long long *q = a[t] & 1 ? g : m + (a[t] >> 1 & 3), old, sum = 0;"
        + generic_atomic("add.u64", 1)
        + generic_atomic("max.s64", 2)
        + generic_atomic("or.b64", 4)
        + generic_atomic("exch.b64", 5)
        + "old = atomicCAS(q, values[t + 5 + (t & 1)], values[t + 6]); sum = 31 * sum + old;"
        "((unsigned long long*)o)[t] = sum; ((unsigned long long*)o)[64 + t] = *q;"
        "float f[2]; for (int i = 0; i < 2; i++) f[i] = t + i;"
        "float* h = (float*)o + 700 + t; *h = t + 5; float* p = a[t] & 1 ? h : f + (a[t] >> 1 & 1);"
        "o[256 + t] = 2 * atomicAdd(p, 2.5f); o[320 + t] = 2 * *p;",
        {"ATOM.E.ADD.64.STRONG.GPU": ALL, "ST.E.64": FROM_SM_80, "QSPC.E.D": FROM_SM_90},
        expected=atomics_on_any_memory,
    ),
}
"""What PTX does not define, and its assembler gives a meaning all the same; NumPy says which."""
