"""CUDA C++ to kernels: code from NVRTC's PTX, resources from its cubin, names from the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from kernelcast.errors import CompileError, InputError, UnsupportedError
from kernelcast.frontends.cubin import Cubin, read_cubin
from kernelcast.frontends.declarations import DeclaredKernel, label_kernel
from kernelcast.frontends.machine_kernel import machine_kernel
from kernelcast.frontends.published import compile_published
from kernelcast.frontends.source.struct_layouts import SourceTypes
from kernelcast.ir import Kernel
from kernelcast.isas.ptx import PtxModule, parse_ptx
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.diagnostics import asks_for_one_chip
from kernelcast.toolchain.mangling import base_name, source_name
from kernelcast.toolchain.nvcc import nvcc_architecture
from kernelcast.toolchain.nvrtc import (
    NO_OPTIONS,
    Compilation,
    CompileOptions,
    CompileTarget,
    choose_architecture,
)

_SPILLS = re.compile(
    r"Function properties for (\S+)\n[^\n]*?(\d+) bytes spill stores, (\d+) bytes spill loads"
)


@dataclass(frozen=True)
class CompiledSource:
    """A compiled CUDA source; `labels` maps mangled names to those of the source."""

    name: str
    compilation: Compilation
    module: PtxModule
    cubin: Cubin
    declared: tuple[DeclaredKernel, ...]
    labels: dict[str, str]
    types: SourceTypes
    notes: tuple[str, ...] = ()

    @property
    def templates(self) -> tuple[str, ...]:
        """Kernels that nothing instantiates, with the names of their parameters."""
        bases = {base_name(label) for label in self.labels.values()}
        unused = (k for k in self.declared if k.template and k.name not in bases)
        return tuple(dict.fromkeys(f"{k.name}<{', '.join(k.template)}>" for k in unused))

    def kernel(self, mangled: str) -> Kernel:
        """One kernel, with its code, resources and the source's names."""
        return self._named(self.module.kernel(mangled, source=self.name))

    def _named(self, code: Kernel) -> Kernel:
        mangled = code.name
        resources = replace(
            self.cubin.kernels[mangled].resources,
            spilled_bytes=_spilled_bytes(self.compilation.log).get(mangled, 0),
        )
        labelled = replace(code, label=self.labels[mangled], resources=resources)
        return label_kernel(labelled, self.declared, self.types)

    def machine_kernel(self, mangled: str, cache: Cache | None = None) -> Kernel:
        """The same kernel as machine code."""
        return machine_kernel(
            self.compilation.cubin,
            self.cubin,
            mangled,
            name=self.name,
            described=self._described(mangled),
            cache=cache,
        )

    def _described(self, mangled: str) -> Kernel:
        """What the PTX knows of a kernel, even if its code is not understood."""
        try:
            return self.kernel(mangled)
        except UnsupportedError:
            return self._named(self.module.signature(mangled, source=self.name))


def compile_source(
    source: str,
    *,
    name: str,
    architecture: str,
    kernels: Sequence[str] = (),
    options: CompileOptions = NO_OPTIONS,
    cache: Cache | None = None,
) -> CompiledSource:
    """Compile a source and instantiate the template kernels that `kernels` names, or its own
    launches."""
    found = compile_published(
        source,
        name=name,
        architecture=architecture,
        kernels=kernels,
        options=options,
        cache=cache,
    )
    compilation = found.compilation
    cubin = read_cubin(compilation.cubin, name=name, maker=compilation.compiler)
    module = parse_ptx(compilation.ptx, f"PTX of {name}")
    labels = {mangled: source_name(mangled) for mangled in cubin.kernels}
    labels |= {mangled: asked for asked, mangled in compilation.lowered_names.items()}
    return CompiledSource(
        name, compilation, module, cubin, found.declared, labels, found.types, found.notes
    )


def compile_for_chip(
    source: str,
    *,
    name: str,
    compute_capability: tuple[int, int],
    architecture: str | None = None,
    kernels: Sequence[str] = (),
    options: CompileOptions = NO_OPTIONS,
    cache: Cache | None = None,
) -> tuple[CompiledSource, str]:
    """Compile a source for a chip, with its own instructions where the source uses them, or for the
    architecture that is given; also what there is to say of the one that was chosen, nothing where
    it is the chip's."""
    compiled = partial(
        compile_source, source, name=name, kernels=kernels, options=options, cache=cache
    )
    if architecture is not None:
        return compiled(architecture=architecture), ""
    if options.nvcc is None:
        target = choose_architecture(compute_capability, options.nvrtc)
    else:
        target = CompileTarget(nvcc_architecture(compute_capability))
    try:
        return compiled(architecture=target.architecture), target.note
    except CompileError as error:
        if not asks_for_one_chip(error.log):
            raise
        try:
            return compiled(architecture=f"{target.architecture}a"), target.note
        except InputError:
            raise error from None


def _spilled_bytes(log: str) -> dict[str, int]:
    """Bytes of registers spilled to local memory, by function, from ptxas's part of the log."""
    return {
        function: max(int(stores), int(loads)) for function, stores, loads in _SPILLS.findall(log)
    }
