"""Kernels as a CUDA source declares them: names and types of parameters, for messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelcast.frontends.source.parameters import (
    WrittenParameter,
    read_parameters,
    template_parameters,
)
from kernelcast.frontends.source.preprocess import SourceView, source_view
from kernelcast.frontends.source.top_level import SourceDeclaration, read_declarations, walk
from kernelcast.ir import Kernel, Parameter

ELEMENT_TYPES: Mapping[str, str] = {
    "bool": "u8",
    "char": "s8",
    "signed char": "s8",
    "unsigned char": "u8",
    "short": "s16",
    "unsigned short": "u16",
    "int": "s32",
    "signed": "s32",
    "unsigned": "u32",
    "unsigned int": "u32",
    "long": "s64",
    "long int": "s64",
    "unsigned long": "u64",
    "long long": "s64",
    "long long int": "s64",
    "unsigned long long": "u64",
    "unsigned long long int": "u64",
    "size_t": "u64",
    "ptrdiff_t": "s64",
    **{f"int{bits}_t": f"s{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
    "half": "f16",
    "__half": "f16",
    "__nv_bfloat16": "bf16",
    "float": "f32",
    "double": "f64",
}
"""Array element type of every arithmetic C++ type."""


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """A parameter as written: `const float* x` has type `float`, and is a pointer."""

    name: str
    type: str
    is_pointer: bool


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


def label_kernel(kernel: Kernel, declared: tuple[DeclaredKernel, ...]) -> Kernel:
    """The kernel with the names and element types of its parameters, where the source shows them.

    `kernel.label` must be the source's name, such as `tiled<16>`.
    """
    base, _, arguments = kernel.label.partition("<")
    base = base.rpartition("::")[2]
    fitting = [
        d for d in declared if d.name == base and len(d.parameters) == len(kernel.parameters)
    ]
    if len({d.parameters for d in fitting}) != 1:
        return kernel
    given = split_list(arguments.removesuffix(">"))
    types = dict(zip(fitting[0].template, given, strict=False))
    labelled = tuple(
        _label(parameter, declaration, types)
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
    parameter: Parameter, declared: DeclaredParameter, types: Mapping[str, str]
) -> Parameter:
    type_ = types.get(declared.type, declared.type)
    pointee = ELEMENT_TYPES.get(type_, "") if declared.is_pointer else ""
    return replace(
        parameter,
        label=declared.name or parameter.label,
        is_pointer=parameter.is_pointer or declared.is_pointer,
        pointee=pointee,
    )


def _declared(parameter: WrittenParameter) -> DeclaredParameter:
    bare = parameter.type.rstrip("*")
    return DeclaredParameter(parameter.name, bare, bare != parameter.type)


def _nowhere(header: str, is_quoted: bool, folder: Path) -> None:
    """The headers that are read where a source stands alone."""
