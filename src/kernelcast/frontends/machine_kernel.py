"""A kernel made of machine code: a cubin's code and data, named as its source names it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kernelcast.errors import UnsupportedError
from kernelcast.frontends.cubin import Cubin
from kernelcast.ir import Dim3, Kernel, Parameter, Space, Variable
from kernelcast.isas.sass import SassModule, parse_sass
from kernelcast.isas.sass.kernel import sass_kernel
from kernelcast.isas.sass.linking import linked
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvdisasm import disassemble

_OLDEST = 70
"""The first architecture with instructions of 16 bytes, which hold their control codes."""
_LISTED_BYTES = 1 << 21
"""Bytes of cubins whose code is kept as it was read, some ten times as many in memory."""
_WHOLE_BYTES = 1 << 18
"""A cubin with more code is disassembled kernel by kernel: nvdisasm reads about 1 MB/s, and takes a
third of a second to start."""


@dataclass(frozen=True)
class _Listed:
    """The code of a cubin of `size_bytes`, and the kernels that were made of it."""

    module: SassModule
    size_bytes: int
    kernels: dict[tuple[str, Dim3 | None], Kernel] = field(default_factory=dict)


_listed: dict[tuple[bytes, str, tuple[int, ...]], _Listed] = {}


def machine_kernel(
    data: bytes,
    cubin: Cubin,
    mangled: str,
    *,
    name: str,
    described: Kernel | None = None,
    cluster: Dim3 | None = None,
    cache: Cache | None = None,
) -> Kernel:
    """The kernel called `mangled` of a cubin, whose bytes are `data`.

    `described` is the same kernel from another source, PTX for example, which knows the names and
    types of its parameters. `cluster` are the blocks of a cluster where a launch says so, not the
    kernel. Raises ToolError without a disassembler.
    """
    found = _read(data, cubin, mangled, name=name, cache=cache)
    key = mangled, cluster
    if key not in found.kernels:
        found.kernels[key] = linked_kernel(found.module, cubin, mangled, cluster)
    kernel = found.kernels[key]
    if described is None:
        return kernel
    return replace(
        kernel,
        parameters=_described(kernel.parameters, described.parameters),
        variables=_typed(kernel.variables, described),
        module_variables=_typed(kernel.module_variables, described),
        resources=described.resources,
        label=described.label,
        source=described.source,
        warnings=(*described.warnings, *kernel.warnings),
    )


def listed(
    data: bytes, cubin: Cubin, mangled: str = "", *, name: str, cache: Cache | None = None
) -> SassModule:
    """The code of a cubin, whose bytes are `data`, or of one kernel where that is much less.

    Raises ToolError without a disassembler, UnsupportedError where none reads the architecture.
    """
    return _read(data, cubin, mangled, name=name, cache=cache).module


def _read(data: bytes, cubin: Cubin, mangled: str, *, name: str, cache: Cache | None) -> _Listed:
    """As `listed`. The last ones are kept by their content: kernels of one file are asked for one
    after the other, and a launch search asks for the same one again and again."""
    if int("".join(filter(str.isdigit, cubin.architecture))) < _OLDEST:
        raise UnsupportedError(
            f"machine code for {cubin.architecture} is not read",
            where=name,
            hint=f"that for sm_{_OLDEST} and later is; of older ones PTX is executed",
        )
    is_large = mangled and cubin.code_bytes > _WHOLE_BYTES
    functions = cubin.functions_of(mangled) if is_large else ()
    key = (data, name, functions)
    found = _listed.pop(key, None)
    if found is None:
        listing = disassemble(data, cache, name=name, functions=functions)
        found = _Listed(parse_sass(listing, f"listing of {name}"), len(data))
    _listed[key] = found
    while len(_listed) > 1 and sum(one.size_bytes for one in _listed.values()) > _LISTED_BYTES:
        del _listed[next(iter(_listed))]
    return found


def linked_kernel(
    module: SassModule, cubin: Cubin, mangled: str, cluster: Dim3 | None = None
) -> Kernel:
    """The kernel called `mangled` with all that it calls, out of a cubin and its listing.

    `cluster` as in `machine_kernel`.
    """
    shell = cubin.kernels[mangled]
    shell = shell if cluster is None else replace(shell, cluster=cluster)
    variables = {v.name for v in shell.variables if v.space is Space.GLOBAL}
    code = linked(mangled, module, cubin.constant_banks(mangled), variables)
    return sass_kernel(code.function, shell, code.banks)


def _typed(variables: tuple[Variable, ...], described: Kernel) -> tuple[Variable, ...]:
    """Variables with the types that another source has."""
    types = {v.name: v.value_type for v in described.module_variables}
    return tuple(replace(v, value_type=types.get(v.name, v.value_type)) for v in variables)


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
