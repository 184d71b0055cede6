"""Kernels as a CUDA source declares them: names and types of parameters, for messages and labels.

A tolerant scan, not a parser: what it does not understand (macros in a parameter list, for
example) it leaves out, and the kernel keeps the names of its PTX.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelcast.ir import Kernel, Parameter

_ELEMENT_TYPES: Mapping[str, str] = {
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


_COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL
)
_TEMPLATE_BEFORE = re.compile(r"template\s*<([^;{}()]*)>\s*(?:(?:extern|static|inline)\s*)*\Z")
_ATTRIBUTE = re.compile(r"\s*(?:__\w+__|alignas)\s*\(")
_NAME = re.compile(r"\s*(?:\w+::)*(\w+)\s*(?:<[^<>]*>\s*)?\(")
_DROPPED = re.compile(
    r"\b(?:const|volatile|struct|class|enum|typename|__restrict__|__restrict|restrict"
    r"|__grid_constant__|static|extern|inline|__forceinline__|__noinline__)\b"
)


def without_comments(source: str) -> str:
    """The source with comments and literals blanked, every line where it was."""
    return _COMMENT_OR_LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)


def declared_kernels(source: str) -> tuple[DeclaredKernel, ...]:
    """Every `__global__` function that a source defines, in order."""
    text = without_comments(source)
    found = (_declared(text, match) for match in re.finditer(r"\b__global__\b", text))
    return tuple(kernel for kernel in found if kernel is not None)


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
    pointee = _ELEMENT_TYPES.get(type_, "") if declared.is_pointer else ""
    return replace(
        parameter,
        label=declared.name or parameter.label,
        is_pointer=parameter.is_pointer or declared.is_pointer,
        pointee=pointee,
    )


def _declared(text: str, match: re.Match[str]) -> DeclaredKernel | None:
    """The definition whose `__global__` was matched; None for a mere declaration."""
    at = text.find("void", match.end()) + len("void")
    while attribute := _ATTRIBUTE.match(text, at):  # __launch_bounds__(256) and its like
        at = _closing(text, attribute.end() - 1) + 1
        if at == 0:
            return None
    name = _NAME.match(text, at)
    closing = _closing(text, name.end() - 1) if name else -1
    if name is None or closing < 0 or not text[closing + 1 :].lstrip().startswith("{"):
        return None
    template = _TEMPLATE_BEFORE.search(text, max(0, match.start() - 1000), match.start())
    parameters = [_parameter(part) for part in split_list(text[name.end() : closing])]
    return DeclaredKernel(
        name=name[1],
        line=text.count("\n", 0, match.start()) + 1,
        parameters=tuple(p for p in parameters if p is not None),
        template=tuple(_last_word(p) for p in split_list(template[1])) if template else (),
    )


def _closing(text: str, opening: int) -> int:
    """The place of the parenthesis that closes the one at `opening`; -1 where none does."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return -1


def _parameter(text: str) -> DeclaredParameter | None:
    declaration = _DROPPED.sub(" ", text.partition("=")[0]).strip()
    if declaration in ("", "void"):
        return None
    bracketed = "[" in declaration
    declaration = declaration.partition("[")[0]
    words = re.findall(r"[\w:]+(?:\s*<[^<>]*>)?", declaration.replace("*", " ").replace("&", " "))
    named = len(words) > 1
    return DeclaredParameter(
        name=words[-1] if named else "",
        type=" ".join(words[:-1] if named else words),
        is_pointer=bracketed or "*" in declaration,
    )


def _last_word(text: str) -> str:
    words = re.findall(r"\w+", text.partition("=")[0])
    return words[-1] if words else ""
