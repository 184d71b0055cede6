"""A kernel made of machine code: a cubin's code and data, named as its source names it."""

from __future__ import annotations

from dataclasses import replace

from kernelcast.frontends.cubin import Cubin
from kernelcast.ir import Kernel, Parameter
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.kernel import sass_kernel
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvdisasm import disassemble


def machine_kernel(
    data: bytes,
    cubin: Cubin,
    mangled: str,
    *,
    name: str,
    described: Kernel | None = None,
    cache: Cache | None = None,
) -> Kernel:
    """The kernel called `mangled` of a cubin, whose bytes are `data`.

    `described` is the same kernel from another source, PTX for example, which knows the names and
    types of its parameters. Raises ToolError without a disassembler.
    """
    module = parse_sass(disassemble(data, cache, name=name), f"listing of {name}")
    kernel = sass_kernel(module.function(mangled), cubin.kernels[mangled], cubin.banks[mangled])
    if described is None:
        return kernel
    return replace(
        kernel,
        parameters=_described(kernel.parameters, described.parameters),
        resources=described.resources,
        label=described.label,
        source=described.source,
        warnings=described.warnings,
    )


def _described(
    parameters: tuple[Parameter, ...], described: tuple[Parameter, ...]
) -> tuple[Parameter, ...]:
    """Names and types as another source has them, places as the machine code has them."""
    if [p.size_bytes for p in parameters] != [p.size_bytes for p in described]:
        return parameters
    return tuple(
        replace(known, offset_bytes=placed.offset_bytes)
        for placed, known in zip(parameters, described, strict=True)
    )
