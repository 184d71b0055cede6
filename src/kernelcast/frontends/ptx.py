"""PTX text to kernels; ptxas assembles it for a chip, as the driver would."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelcast.analysis.liveness import live_registers
from kernelcast.errors import CompileError, ToolError
from kernelcast.frontends.cubin import Cubin, read_cubin
from kernelcast.frontends.machine_kernel import machine_kernel
from kernelcast.ir import Kernel
from kernelcast.isas.ptx import PtxModule, parse_ptx
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.mangling import source_name
from kernelcast.toolchain.ptxas import assemble

_LIVE_REGISTERS = "estimate from live PTX registers"
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
            kernel.resources, registers=live_registers(kernel), source=_LIVE_REGISTERS
        )
        return replace(kernel, label=self.labels[mangled], resources=resources)


@dataclass(frozen=True)
class AssembledPtx:
    """The same kernels as machine code of one architecture."""

    text: PtxText
    data: bytes
    cubin: Cubin

    def kernel(self, mangled: str) -> Kernel:
        """One kernel as PTX, with the resources that the machine code takes."""
        kernel = self.text.module.kernel(mangled, source=self.text.name)
        resources = self.cubin.kernels[mangled].resources
        return replace(kernel, label=self.text.labels[mangled], resources=resources)

    def machine_kernel(self, mangled: str, cache: Cache | None = None) -> Kernel:
        """One kernel as machine code, its parameters named as in the PTX."""
        module, name = self.text.module, self.text.name
        described = replace(
            module.signature(mangled, source=name),
            label=self.text.labels[mangled],
            resources=self.cubin.kernels[mangled].resources,
        )
        return machine_kernel(
            self.data, self.cubin, mangled, name=name, described=described, cache=cache
        )


def assembled_ptx(
    text: str, read: PtxText, architecture: str, *, cache: Cache | None = None
) -> AssembledPtx | str:
    """The text, read before, as machine code; else why there is none.

    PTX for one architecture alone (`sm_90a`) is assembled for it where it is the one asked for.
    """
    target = read.module.module.target
    if target.rstrip("af") == architecture:
        architecture = target
    try:
        data = assemble(text, architecture, name=read.name, cache=cache)
    except (CompileError, ToolError) as error:
        return str(error)
    return AssembledPtx(read, data, read_cubin(data, name=read.name, maker="ptxas"))


def read_ptx(text: str, *, name: str) -> PtxText:
    """Read a PTX text; ParseError, with file and line, where it is wrong."""
    module = parse_ptx(text, name)
    return PtxText(name, module, {entry: source_name(entry) for entry in module.kernel_names})
