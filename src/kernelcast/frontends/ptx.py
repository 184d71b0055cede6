"""PTX text to kernels, with registers estimated where no compiler has said."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelcast.analysis.liveness import live_registers
from kernelcast.frontends.mangling import source_name
from kernelcast.ir import Kernel
from kernelcast.isas.ptx import PtxModule, parse_ptx

LIVE_REGISTERS = "estimate from live PTX registers"
"""`Resources.source` of kernels that no compiler has allocated."""


@dataclass(frozen=True)
class PtxText:
    """A PTX file; `labels` maps mangled names to those of the source it was made from."""

    name: str
    module: PtxModule
    labels: dict[str, str]

    def kernel(self, mangled: str) -> Kernel:
        """One kernel, with as many registers as its code has alive at once."""
        kernel = self.module.kernel(mangled, source=self.name)
        resources = replace(
            kernel.resources, registers=live_registers(kernel), source=LIVE_REGISTERS
        )
        return replace(kernel, label=self.labels[mangled], resources=resources)


def read_ptx(text: str, *, name: str) -> PtxText:
    """Read a PTX text; ParseError, with file and line, where it is wrong."""
    module = parse_ptx(text, name)
    return PtxText(name, module, {entry: source_name(entry) for entry in module.kernel_names})
