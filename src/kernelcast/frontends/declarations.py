"""Kernels as a CUDA source declares them: names and types of parameters, for messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelcast.frontends.source.element_types import ELEMENT_TYPES
from kernelcast.frontends.source.parameters import (
    WrittenParameter,
    read_parameters,
    template_parameters,
)
from kernelcast.frontends.source.preprocess import SourceView, source_view
from kernelcast.frontends.source.struct_layouts import SourceTypes
from kernelcast.frontends.source.top_level import SourceDeclaration, read_declarations, walk
from kernelcast.ir import Kernel, Parameter, PointerType, StructType, ValueType, Variable
from kernelcast.toolchain.mangling import source_name


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """A parameter as written: `const float* x` has type `float` and one star: `pointers`."""

    name: str
    type: str
    pointers: int = 0

    @property
    def is_pointer(self) -> bool:
        """Whether it is a pointer."""
        return self.pointers > 0


@dataclass(frozen=True, slots=True)
class DeclaredKernel:
    """A `__global__` function. `template` holds the names of its template parameters."""

    name: str
    line: int
    parameters: tuple[DeclaredParameter, ...]
    template: tuple[str, ...] = ()


def declared_kernels(source: str) -> tuple[DeclaredKernel, ...]:
    """Every `__global__` function that a source itself defines, in order."""
    view = source_view(source, "", find=_nowhere, has_header=lambda _: False, macros={})
    return kernels_among(view, read_declarations(view.words))


def kernels_among(
    view: SourceView, declarations: Sequence[SourceDeclaration]
) -> tuple[DeclaredKernel, ...]:
    """Every `__global__` function that is defined among declarations, in order."""
    return tuple(
        DeclaredKernel(
            name=each.names[0],
            line=view.line(view.words[each.begin]),
            parameters=tuple(map(_declared, read_parameters(view.words, each))),
            template=template_parameters(view.words, each),
        )
        for each in walk(declarations)
        if each.is_kernel and each.body is not None
    )


def label_kernel(
    kernel: Kernel, declared: tuple[DeclaredKernel, ...], types: SourceTypes | None = None
) -> Kernel:
    """The kernel with the names and types of its parameters and variables, where the source shows
    them.

    `kernel.label` must be the source's name, such as `tiled<16>`.
    """
    types = types or SourceTypes((), ())
    variables = dict(types.variables())
    kernel = replace(
        kernel,
        variables=tuple(_typed_variable(v, variables) for v in kernel.variables),
        module_variables=tuple(_typed_variable(v, variables) for v in kernel.module_variables),
    )
    base, _, arguments = kernel.label.partition("<")
    base = base.rpartition("::")[2]
    fitting = [
        d for d in declared if d.name == base and len(d.parameters) == len(kernel.parameters)
    ]
    if len({d.parameters for d in fitting}) != 1:
        return kernel
    given = split_list(arguments.removesuffix(">"))
    arguments_of = dict(zip(fitting[0].template, given, strict=False))
    labelled = tuple(
        _label(parameter, declaration, arguments_of, types)
        for parameter, declaration in zip(kernel.parameters, fitting[0].parameters, strict=True)
    )
    return replace(kernel, parameters=labelled)


def split_list(text: str) -> list[str]:
    """Split at the commas outside brackets of any kind."""
    parts = [""]
    depth = 0
    for character in text:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts] if text.strip() else []


def _label(
    parameter: Parameter,
    declared: DeclaredParameter,
    arguments: Mapping[str, str],
    types: SourceTypes,
) -> Parameter:
    type_ = arguments.get(declared.type, declared.type)
    pointee = ELEMENT_TYPES.get(type_, "") if declared.pointers == 1 else ""
    found = types.type_of(declared.type, declared.pointers, arguments)
    if isinstance(found, PointerType):
        found = found.to
    elif not isinstance(found, StructType) or not _fits(found, parameter.size_bytes):
        found = None
    return replace(
        parameter,
        label=declared.name or parameter.label,
        is_pointer=parameter.is_pointer or declared.is_pointer,
        pointee=pointee,
        value_type=found,
    )


def _fits(found: ValueType, size_bytes: int) -> bool:
    """Whether the compiler has the size that the source's declaration gives."""
    return found.size_bytes == size_bytes


def _typed_variable(variable: Variable, types: Mapping[str, ValueType | None]) -> Variable:
    """The variable with its type, where the source shows one of its size."""
    name = source_name(variable.name)
    bare = name.rpartition("::")[2]
    fitting = [name] if name in types else [n for n in types if n.rpartition("::")[2] == bare]
    found = types[fitting[0]] if len(fitting) == 1 else None
    if found is None or not _fits(found, variable.size_bytes):
        return variable
    return replace(variable, value_type=found)


def _declared(parameter: WrittenParameter) -> DeclaredParameter:
    bare = parameter.type.rstrip("*")
    return DeclaredParameter(parameter.name, bare, len(parameter.type) - len(bare))


def _nowhere(header: str, is_quoted: bool, folder: Path) -> None:
    """The headers that are read where a source stands alone."""
