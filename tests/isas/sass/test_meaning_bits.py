"""Logic, shifts, fields and predicates as machine code: the oracle is PTX of the same source."""

from __future__ import annotations

from typing import Any

import pytest
from tests.execution.machine_code import ARCHITECTURES, compile_together, disagreements, kernels
from tests.isas.sass.integer_kernels import executors_on, fill, launch, source
from tests.isas.sass.integer_statements import (
    COMPARISONS,
    FIELDS,
    LOGIC,
    SHIFTS,
    WIDE_COMPARISONS,
    WIDE_FIELDS,
    WIDE_SHIFTS,
)
from tests.isas.sass.listings import listing

from kernelcast.ir import Instruction
from kernelcast.isas.ptx.steps import is_temporary
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.kernel import UNKNOWN, meaning_of
from kernelcast.isas.sass.meaning.lift import LiftContext

STATEMENTS = {
    "logic": (LOGIC, ()),
    "shifts": (SHIFTS, WIDE_SHIFTS),
    "fields": (FIELDS, WIDE_FIELDS),
    "comparisons": (COMPARISONS, WIDE_COMPARISONS),
}
compile_together((source(*both) for both in STATEMENTS.values()), *ARCHITECTURES)


@pytest.mark.parametrize(("narrow", "wide"), STATEMENTS.values(), ids=STATEMENTS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_bits_and_predicates_are_those_of_ptx(architecture, narrow, wide):
    assert not disagreements(
        source(narrow, wide),
        launch(narrow, wide),
        architectures=[architecture],
        executors=executors_on(architecture),
        prepare=fill,
    )


BITS_TO_PREDICATES = """
extern "C" __global__ void k(const unsigned* a, const unsigned* b, const unsigned* c,
    const unsigned long long* w, unsigned* o, unsigned long long* q) {
  int t = threadIdx.x;
  unsigned x = a[t], s = 0;
  b += t & 63;
  if (x & 1) s += b[0];
  if (x & 2) s ^= b[1];
  if (x & 4) s *= b[2];
  if (x & 8) s -= b[3];
  if (x & 16) s |= b[4];
  if (x & 32) s &= b[5];
  if (x & 64) s += b[6];
  if (x & 128) s ^= b[7];
  if (x & 256) s ^= b[8] + 1;
  if (x & 512) s -= b[9];
  if (x & 1024) s += b[11];
  if (x & 2048) s ^= b[21];
  if (x & 4096) s *= b[22];
  o[t] = s;
}
"""
PREDICATES_TO_BITS = """
extern "C" __global__ void k(const unsigned* a, const unsigned* b, const unsigned* c,
    const unsigned long long* w, unsigned* o, unsigned long long* q) {
  int t = threadIdx.x;
  unsigned r = 0;
  bool p[9];
  #pragma unroll
  for (int n = 0; n < 9; n++) p[n] = a[(t + n) & 127] > b[(t * n + 2) & 127];
  #pragma unroll 1
  for (int i = 0; i < 4; i++) {
    r += c[(t + i) & 127];
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 9; n++) if (p[n]) { r += b[(r + n) & 127]; __syncwarp(); }
    o[t + 128 * i] = r;
  }
}
"""
UNIFORM_PREDICATES = """
extern "C" __global__ void k(const unsigned* a, const unsigned* b, const unsigned* c,
    const unsigned long long* w, unsigned* o, unsigned long long* q) {
  __shared__ unsigned tile[256];
  int n = 2 * blockDim.x, t = threadIdx.x;
  tile[t] = a[t];
  tile[t + blockDim.x] = b[t];
  __syncthreads();
  for (int round = 0; round < n; round++) {
    int i = 2 * t + (round & 1);
    if (i + 1 < n && tile[i] > tile[i + 1]) {
      unsigned key = tile[i];
      tile[i] = tile[i + 1];
      tile[i + 1] = key;
    }
    __syncthreads();
  }
  o[t] = tile[t];
  o[t + blockDim.x] = tile[t + blockDim.x];
}
"""


RARE = {
    "R2P": (BITS_TO_PREDICATES, ("sm_75", "sm_80", "sm_90", "sm_120")),
    "P2R": (PREDICATES_TO_BITS, ("sm_100", "sm_120")),
    "UPLOP3": (UNIFORM_PREDICATES, ("sm_100", "sm_120")),
}


@pytest.mark.parametrize(
    ("opcode", "architecture"), [(o, a) for o, (_, made_on) in RARE.items() for a in made_on]
)
def test_rarer_moves_of_predicates_are_executed(opcode, architecture):
    text = RARE[opcode][0]
    used = {i.opcode for i in kernels(text, architecture)[1].instructions}
    assert opcode in used, "the test tests nothing"
    assert not disagreements(
        text,
        launch(("",) * 4),
        architectures=[architecture],
        executors=executors_on(architecture),
        prepare=fill,
    )


@pytest.mark.parametrize(
    "text",
    [
        "IADD3.SAT R0, R1, R2, R3",
        "IADD3 R0, R1.H0_H0, R2, R3",
        "IMAD.WIDE.S16 R0, R1, R2, R4",
        "LEA.HI R0, -R1, R2, R3, 0x4",
        "LEA R0, R1, R2, R3",
        "SHF.L.U16 R0, R1, R2, RZ",
        "LOP3.LUT R0, R1, R2, R3, R4, !PT",
        "PRMT.IDX R0, R1, R2, R3",
        "FLO.U32 R0, P0, R1",
        "ISETP.LT.GE.AND P0, PT, R1, R2, PT",
        "VIMNMX P0, P1, R0, R1, R2, PT",
        "VIMNMX.U32.RELU R0, R1, R2, PT",
        "VIMNMX.S16x2 R0, -R1, R2, PT",
        "P2R R0, PR, R1, 0xff",
        "R2P PR, R1.H1, 0x7f",
        "SEL R0, R1, R2, P0, P1",
    ],
)
def test_a_form_that_is_not_known_is_refused(text):
    """Rather than executed as the form it resembles."""
    (step,) = steps_of(text)
    assert step.opcode == UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "PLOP3.LUT P0, P1, P1, P0, PT, 0xf0, 0xcc",
        "@P0 ISETP.LT.XOR P0, P1, R0, R1, P1",
        "@!P1 IADD3 R0, P0, P1, R0, R1, R2",
        "@P2 IADD3.X R1, P2, PT, R1, ~R0, RZ, P2, !PT",
        "@P0 IMAD.WIDE.U32.X R0, P0, R0, R1, R0, P0",
        "@P0 LOP3.LUT P0, R0, R0, R1, R2, 0xf8, P0",
        "@P3 R2P PR, R0, 0x7f",
        "P2R R0, PR, R0, 0x7f",
        "VIMNMX.S16x2 R0, P0, P1, R0, R1, PT",
        "SEL.64 R0, R0, R1, P0",
        "SHF.L.U64.HI R1, R0, R1, R1",
        "LEA.HI.X R1, R0, R1, R1, 0x2, P0",
    ],
)
def test_an_instruction_reads_before_it_writes(text):
    """Destinations may be sources, and a guard holds for all of an instruction."""
    written: set[Any] = set()
    for step in steps_of(text):
        assert step.opcode != UNKNOWN
        assert not written.intersection(step.reads), step
        written.update(r for r in step.writes if not is_temporary(r))
    assert written


def steps_of(text: str) -> tuple[Instruction, ...]:
    function = parse_sass(listing(text)).function("k")
    code = LiftContext(function, architecture=90, banks={}, block_at={0: 0}, returns=())
    return meaning_of(function.instructions[0], 0, code)
