"""PTX text in, kernels out."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelcast.analysis.spin_loops import cut_at_reconvergence
from kernelcast.errors import InputError, NotFoundError, UnsupportedError
from kernelcast.ir import (
    ELEMENT_BYTES,
    Instruction,
    Kernel,
    OpClass,
    Resources,
    ScalarType,
    Space,
    Variable,
)
from kernelcast.isas.ptx.call_frames import lower_frames
from kernelcast.isas.ptx.declarations import Declaration, align_up
from kernelcast.isas.ptx.inlining import flatten
from kernelcast.isas.ptx.layout import lay_out
from kernelcast.isas.ptx.module import Module, PtxFunction, read_module
from kernelcast.isas.ptx.parameters import place_parameters
from kernelcast.isas.ptx.products import is_known

_UNSUPPORTED_CLASSES = (OpClass.TENSOR, OpClass.ASYNC_COPY)


@dataclass(frozen=True)
class PtxModule:
    """A PTX text whose kernels can be taken out one by one."""

    module: Module

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Names of the kernels, in the order of the text."""
        functions = self.module.functions.values()
        return tuple(f.name for f in functions if f.is_kernel and f.body is not None)

    def kernel(self, name: str | None = None, *, source: str = "") -> Kernel:
        """One kernel, with the device functions it calls inlined.

        `source` is the user's file, for reports. The name may be left out where there is only one
        kernel. Raises NotFoundError or InputError where the name does not decide, ParseError
        where the kernel's text is wrong, UnsupportedError where it cannot be executed.
        """
        return _kernel(self.module, self._find(name), source)

    def signature(self, name: str, *, source: str = "") -> Kernel:
        """A kernel without its code, which need not be understood: name, target and parameters."""
        function = self._find(name)
        return Kernel(
            name=function.name,
            isa="ptx",
            target=self.module.target,
            parameters=place_parameters(function.formals, ()),
            instructions=(),
            blocks=(),
            source=source,
            version=self.module.version,
        )

    def _find(self, name: str | None) -> PtxFunction:
        names = self.kernel_names
        if name is None:
            if len(names) != 1:
                what = f"{len(names)} kernels here" if names else "no kernel here"
                hint = "name one of " + ", ".join(names) if names else ""
                raise InputError(what, where=self.module.source, hint=hint)
            name = names[0]
        if name not in names:
            raise NotFoundError("kernel", name, names, where=self.module.source)
        return self.module.functions[name]


def parse_ptx(text: str, source: str = "") -> PtxModule:
    """Read a PTX text (PTX ISA 6.0 to 9.x); `source` names it in errors.

    Raises ParseError, with file and line, where a statement or declaration is wrong. Operands and
    opcodes are read when a kernel is taken out.
    """
    return PtxModule(read_module(text, source or "<ptx>"))


def unsupported_instructions(kernel: Kernel) -> tuple[Instruction, ...]:
    """Instructions that no executor runs: matrices and asynchronous copies of some forms."""
    return tuple(
        i
        for i in kernel.instructions
        if i.op_class in _UNSUPPORTED_CLASSES and kernel.steps(i.index) == (i,) and not is_known(i)
    )


def _kernel(module: Module, function: PtxFunction, source: str) -> Kernel:
    if module.address_bits != 64:
        raise UnsupportedError(
            f"addresses of {module.address_bits} bits are not supported",
            where=module.source,
            hint="compile for 64 bits",
        )
    # Calls are inlined, frames become registers, and what is left is cut into basic blocks.
    flat = flatten(module, function)
    stream, copies = lower_frames(flat.stream, flat.frames)
    code = lay_out(stream, module.source, math.prod(function.cluster))
    variables = (*_reached_variables(module, flat.symbols), *flat.variables, *copies)
    kernel = Kernel(
        name=function.name,
        isa="ptx",
        target=module.target,
        parameters=place_parameters(function.formals, code.instructions),
        instructions=code.instructions,
        blocks=code.blocks,
        meanings=code.meanings,
        variables=variables,
        module_variables=tuple(
            _variable(d)
            for d in module.variables.values()
            if d.space in (Space.GLOBAL, Space.CONST) and not d.is_extern
        ),
        resources=Resources(
            static_shared_bytes=_total_bytes(variables, Space.SHARED),
            local_bytes=_total_bytes(variables, Space.LOCAL),
            constant_bytes=_total_bytes(variables, Space.CONST),
            max_threads_per_block=function.max_threads,
            source="PTX",
        ),
        source=source,
        version=module.version,
        warnings=flat.warnings,
        cluster=function.cluster,
    )
    return cut_at_reconvergence(kernel)


def _reached_variables(module: Module, symbols: dict[str, str]) -> list[Variable]:
    """Variables of the module that a kernel names, in the order of the text."""
    for name, where in symbols.items():
        if name in module.functions:
            raise UnsupportedError(f"the address of function {name} is not supported", where=where)
    return [
        _reached_variable(declaration, symbols[name])
        for name, declaration in module.variables.items()
        if name in symbols
    ]


def _reached_variable(declaration: Declaration, where: str) -> Variable:
    name = declaration.name
    if declaration.initial is None:
        raise UnsupportedError(f"variable {name} starts with addresses", where=where)
    if declaration.is_extern and declaration.space != Space.SHARED:
        raise UnsupportedError(f"variable {name} is defined in another module", where=where)
    if declaration.space not in (Space.GLOBAL, Space.CONST, Space.SHARED):
        raise UnsupportedError(f"variable {name} in space {declaration.space}", where=where)
    return _variable(declaration)


def _variable(declaration: Declaration) -> Variable:
    is_number = not declaration.is_array and declaration.type in ELEMENT_BYTES
    return Variable(
        name=declaration.name,
        space=Space(declaration.space),
        size_bytes=declaration.size_bytes,
        align_bytes=declaration.align_bytes,
        initial=declaration.initial or b"",
        value_type=ScalarType(declaration.type) if is_number else None,
    )


def _total_bytes(variables: tuple[Variable, ...], space: Space) -> int:
    end = 0
    for variable in variables:
        if variable.space is space:
            end = align_up(end, variable.align_bytes) + variable.size_bytes
    return end
