"""Command line of `mutate-meanings`: breaks opcodes, and looks for kernels that show it.

The kernels are those with known results and those that the tests of meanings execute.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from mutants import KINDS, NOTHING_TO_BREAK, Mutant
from mutation_cases import Case, known_cases, recorded_cases
from rich.progress import track

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@dataclass(frozen=True)
class Trial:
    """What became of a mutant: the name of the case that shows it, or how many cases do not."""

    mutant: Mutant
    killer: str
    tried: int

import time
def main() -> int:
    import json
    arch=sys.argv[1]; forms="--forms" in sys.argv; sel=[a for a in sys.argv[2:] if a[0]!="-"]
    cases=list(known_cases(arch))
    if "--known" not in sys.argv:
        files=sorted(map(str,Path(__file__).parent.glob("test_meaning_*.py")))
        cases+=recorded_cases(arch,files)
    cases.sort(key=lambda c:c.length)
    print(len(cases),"cases",flush=True)
    base={}
    targets=sorted({(i.name if forms else i.opcode) for c in cases for i in c.kernel.instructions})
    stats={"killed":0,"survived":0,"none":0}
    for t in targets:
        if sel and t.split(".")[0] not in sel: continue
        out=[]
        t0=time.perf_counter()
        for kind in KINDS:
            m=Mutant(t,kind,forms); tried=0; killer=""
            for c in cases:
                b=m.of(c.kernel)
                if b is c.kernel: continue
                if id(c) not in base:
                    base[id(c)]=c.passes(c.kernel)
                    if not base[id(c)]: print("BASELINE",c.name)
                if not base[id(c)]: continue
                tried+=1
                if not c.passes(b): killer=c.name; break
                if tried>=int(__import__("os").environ.get("TRIES","15")): break
            if tried:
                out.append(f"{kind}={killer+f'({tried})' if killer else f'SURVIVED{tried}'}")
                stats["killed" if killer else "survived"]+=1
        if not out: stats["none"]+=1
        print(f"{t} {time.perf_counter()-t0:.1f}s:", "; ".join(out) or "NOTHING",flush=True)
    print(stats)
    return 0
if __name__ == "__main__":
    import kernelcast.execution.engine.jit as jit
    jit.LARGE_IR_BYTES=0
    sys.exit(main())
