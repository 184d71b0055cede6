"""Machine code for Volta, kept as files: the tools that make and read it come with CUDA 12.

    python -m tests.isas.sass.volta_samples

makes them anew where NVRTC and nvdisasm of CUDA 12 are installed:

    pip install 'nvidia-cuda-nvrtc-cu12<12.10' triton==3.5.1
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from kernelcast.frontends.cuda import compile_source
from kernelcast.suite.registry import families
from kernelcast.suite.table import Scale
from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.nvrtc import CompileOptions

FOLDER = Path(__file__).parent / "samples" / "volta"
FAMILIES = ("graph", "hash", "integer", "precision", "scan")
"""Of the suite: atomics, shuffles, votes, double precision, conversions, divisions."""


@dataclass(frozen=True)
class Sample:
    """Code of a family for sm_70: its cubin, nvdisasm's listing, mangled names by label."""

    cubin: bytes
    listing: str
    names: dict[str, str]


def read_sample(family: str) -> Sample:
    """The files of a family."""
    cubin, listing, names = (
        gzip.decompress((FOLDER / f"{family}.{kind}.gz").read_bytes())
        for kind in ("cubin", "listing", "json")
    )
    return Sample(cubin, listing.decode(), json.loads(names))


def _made(family: str) -> Sample:
    members = families()[family]
    compiled = compile_source(
        Path(members[0].source).read_text(),
        name=f"{family}.cu",
        architecture="sm_70",
        kernels=list(
            dict.fromkeys(
                launch.kernel or "" for k in members for launch in k.launches(Scale.SMALL)
            )
        ),
        options=CompileOptions(nvrtc="12"),
    )
    cubin = compiled.compilation.cubin
    names = {label: mangled for mangled, label in compiled.labels.items()}
    return Sample(cubin, disassemble(cubin), names)


def main() -> None:
    """Write the files of all families."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for family in FAMILIES:
        sample = _made(family)
        parts = {
            "cubin": sample.cubin,
            "listing": sample.listing.encode(),
            "json": json.dumps(sample.names, sort_keys=True).encode(),
        }
        for kind, data in parts.items():
            (FOLDER / f"{family}.{kind}.gz").write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main()
