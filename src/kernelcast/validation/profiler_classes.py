"""The classes in which NVIDIA's profiler counts machine instructions.

Nsight Compute counts `smsp__sass_thread_inst_executed_op_CLASS_pred_on`, one class for every
opcode, and does not publish which. Of the opcodes in `COUNTED` it is known: the counters of an RTX
2080 Ti agree to the last thread, for 37 builds of a convolution, with executions counted by these
classes (BAR and BMOV are miscellaneous there, not control). `NAMED` holds those of which the name
of the class leaves no doubt. Of the others only some classes come into question.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.ir import OpClass, Space

PLAIN: Mapping[tuple[Space, OpClass], tuple[str, ...]] = {
    (Space.GLOBAL, OpClass.LOAD): ("LD", "LDG"),
    (Space.GLOBAL, OpClass.STORE): ("ST", "STG"),
    (Space.LOCAL, OpClass.LOAD): ("LD", "LDL"),
    (Space.LOCAL, OpClass.STORE): ("ST", "STL"),
    (Space.SHARED, OpClass.LOAD): ("LD", "LDS", "LDSM"),
    (Space.SHARED, OpClass.STORE): ("ST", "STS", "STSM"),
}
"""Loads and stores proper: atomics and asynchronous copies have counters of their own."""

OPERATIONS: Mapping[str, Mapping[str, int]] = {
    "flop_count_sp": {"FADD": 1, "FMUL": 1, "FFMA": 2},
    "flop_count_dp": {"DADD": 1, "DMUL": 1, "DFMA": 2},
}
"""Floating-point operations by opcode; the names are nvprof's, as Nsight Compute has only rates."""

CLASSES = ("fp16", "fp32", "fp64", "integer", "control", "memory", "misc", "conversion")

COUNTED: Mapping[str, str] = {
    "fp32": "FFMA",
    "integer": "IADD3 IMAD IMNMX ISETP LEA LOP3 SHF",
    "control": "BRA BSSY BSYNC EXIT",
    "memory": "LDG LDL LDS STG STL STS",
    "misc": "BAR BMOV MOV S2R S2UR",
}
"""Held to hardware."""

NAMED: Mapping[str, str] = {
    "fp16": "HADD2 HFMA2 HMUL2",
    "fp32": "FADD FMNMX FMUL FSET FSETP",
    "fp64": "DADD DFMA DMUL DSETP",
    "integer": "IABS IADD IDP VIADD",
    "control": "BREAK BRX CALL RET",
    "memory": "ATOM ATOMG ATOMS LD RED REDG ST",
    "misc": "CS2R NOP",
    "conversion": "F2F F2I I2F",
}
"""By the names of the classes: arithmetic and comparison by type, accesses, jumps, conversions."""

UNSETTLED: Mapping[str, str] = {
    "fp16 integer misc": "HMNMX2 HSET2 HSETP2",
    "fp32 misc": "FCHK FSEL MUFU",
    "integer misc": "BMSK BREV FLO P2R PLOP3 POPC PRMT R2P SEL SGXT VIMNMX",
    "control misc": "BPT DEPBAR ELECT NANOSLEEP WARPSYNC YIELD",
    "memory misc": "CCTL ERRBAR LDC LDGDEPBAR LDGSTS LDSM MEMBAR STSM ULDC",
    "conversion fp16 fp32 integer": "F2FP FRND I2FP I2I",
    "misc": "B2R MATCH R2UR REDUX SHFL VOTE VOTEU",
}
"""Opcodes by the classes that come into question; the last ones may have one of their own."""


def classes_of(opcode: str) -> frozenset[str]:
    """The classes that an opcode may be counted in: one where that is settled, else several, and
    all where nothing is known of it."""
    return _TABLE.get(opcode, frozenset(CLASSES))


def is_settled(opcode: str) -> bool:
    """Whether its class is known."""
    return opcode in _SETTLED


_SETTLED = frozenset(
    name for table in (COUNTED, NAMED) for names in table.values() for name in names.split()
)
_TABLE = {
    name: frozenset(classes.split())
    for table in (COUNTED, NAMED, UNSETTLED)
    for classes, names in table.items()
    for name in names.split()
}
