"""Machine code made on the spot: a corpus of kernels and the examples, for several chips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.kept import CACHE

from kernelcast.isas.sass import SassModule, parse_sass
from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.nvrtc import compile_cuda

TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
CORPUS = Path(__file__).parent / "samples" / "corpus.cu"
EXAMPLES = Path(__file__).parents[3] / "examples"


@dataclass(frozen=True)
class Compiled:
    """A target's code: the cubin, its listing, and what was read from it."""

    target: str
    cubin: bytes
    listing: str
    module: SassModule


@cache
def compiled(target: str) -> Compiled:
    """The corpus and all examples as one source, so that the tools run once for a target."""
    files = [CORPUS, *sorted(EXAMPLES.glob("*.cu"))]
    source = "\n".join(f'#line 1 "{file.name}"\n{file.read_text()}' for file in files)
    made = compile_cuda(
        source,
        name="all.cu",
        architecture=target,
        name_expressions=["matmul_tiled<16>"],
        cache=CACHE,
    )
    listing = disassemble(made.cubin, CACHE)
    return Compiled(target, made.cubin, listing, parse_sass(listing, f"listing for {target}"))


@pytest.fixture(params=TARGETS, scope="session")
def code(request: pytest.FixtureRequest) -> Compiled:
    return compiled(request.param)


@pytest.fixture(autouse=True, scope="module")
def _quick_code(quick_code: None) -> None:
    """Compiling is nearly all the time that tests of meanings take."""
