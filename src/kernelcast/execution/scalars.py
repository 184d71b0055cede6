"""Numbers and arrays against the parameters they are given for, and numbers as bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from kernelcast.errors import LaunchError
from kernelcast.execution.fills import bf16_bits
from kernelcast.ir import ELEMENT_BYTES, Array, Parameter, StructType, TensorMap, Texture
from kernelcast.ir.tensor_map import TENSOR_MAP_BYTES


def is_by_value(parameter: Parameter) -> bool:
    """Whether the parameter is an aggregate whose bytes lie in the parameter block itself."""
    return parameter.size_bytes != ELEMENT_BYTES.get(parameter.type)


def pack_scalar(parameter: Parameter, value: int | float) -> bytes:
    """The bytes of a scalar argument, in the parameter's type and size."""
    bits = parameter.size_bytes * 8
    if parameter.type == "bf16":
        return bf16_bits(np.array([value], np.float32)).tobytes()
    if parameter.type.startswith("f") or isinstance(value, float):
        return _FLOAT_BYTES[bits](float(value))
    return (value % (1 << bits)).to_bytes(parameter.size_bytes, "little")


def _packed_f32(value: float) -> bytes:
    with np.errstate(over="ignore"):
        return np.float32(value).tobytes()


def _packed_f16(value: float) -> bytes:
    with np.errstate(over="ignore"):
        return np.float16(value).tobytes()


_FLOAT_BYTES: dict[int, Callable[[float], bytes]] = {
    16: _packed_f16,
    32: _packed_f32,
    64: lambda value: struct.pack("<d", value),
}


def described(parameter: Parameter) -> str:
    """Type and name of a parameter: `f32* x`."""
    name = parameter.shown
    if is_by_value(parameter):
        kind = str(parameter.value_type or f"{parameter.size_bytes}-byte struct")
        return f"{kind} {name}"
    if parameter.is_pointer:
        return f"{parameter.pointee or parameter.value_type or 'void'}* {name}"
    return f"{parameter.type} {name}"


def check_value(
    parameter: Parameter, value: int | float | Array | TensorMap | Texture, name: str, where: str
) -> None:
    """LaunchError where a value cannot be given for a parameter."""
    if isinstance(value, TensorMap):
        _check_tensor_map(parameter, name, where)
    elif isinstance(value, Texture):
        if parameter.type not in ("u64", "b64") or parameter.is_pointer:
            raise LaunchError(
                f"{name} is {described(parameter)}, but a texture is given",
                where=where,
                hint="give textures and surfaces for cudaTextureObject_t and cudaSurfaceObject_t",
            )
    elif isinstance(value, Array):
        _check_array(parameter, value, name, where)
    elif is_by_value(parameter):
        raise LaunchError(
            f"{name} is a struct of {parameter.size_bytes} bytes passed by value, not a number",
            where=where,
            hint=_struct_hint(parameter),
        )
    elif parameter.is_pointer and value != 0:
        raise LaunchError(
            f"{name} is a pointer, but a number is given",
            where=where,
            hint=f'give an array, for example "{parameter.pointee or "f32"}[n]", or 0 for null',
        )
    else:
        _check_scalar(parameter, value, name, where)


def _struct_hint(parameter: Parameter) -> str:
    hint = f"give its fields, for example {_fields_example(parameter)}, or its bytes as an array "
    hint += f"of that size, for example b8[{parameter.size_bytes}]"
    if parameter.size_bytes == TENSOR_MAP_BYTES:
        hint += ', or a tensor map, for example "f16[m, n] box[64, 64]"'
    return hint


def _fields_example(parameter: Parameter) -> str:
    if not isinstance(parameter.value_type, StructType):
        return "{p@0=f32[n], n@8:s32=1}"
    names = [field.name for field in parameter.value_type.fields if field.name]
    return f"{{{', '.join(f'{name}=...' for name in names)}}}"


def _check_tensor_map(parameter: Parameter, name: str, where: str) -> None:
    if not is_by_value(parameter) or parameter.size_bytes != TENSOR_MAP_BYTES:
        raise LaunchError(
            f"{name} is {described(parameter)}, but a tensor map is given",
            where=where,
            hint=f"pass tensor maps by value, as __grid_constant__ structs of {TENSOR_MAP_BYTES} "
            "bytes",
        )


def _check_array(parameter: Parameter, value: Array, name: str, where: str) -> None:
    if is_by_value(parameter):
        if value.size_bytes != parameter.size_bytes:
            raise LaunchError(
                f"{name} is a struct of {parameter.size_bytes} bytes passed by value, "
                f"but an array of {value.size_bytes} bytes is given",
                where=where,
                hint=f"give its bytes, for example b8[{parameter.size_bytes}]",
            )
        return
    if parameter.type not in ("u64", "s64", "b64"):
        raise LaunchError(
            f"{name} is a {parameter.type}, but an array is given",
            where=where,
            hint="give a number",
        )
    if parameter.pointee and not _may_hold(parameter.pointee, value.type):
        raise LaunchError(
            f"{name} points to {parameter.pointee}, but an array of {value.type} is given",
            where=where,
            hint=f"declare it as {parameter.pointee}[...]",
        )


def _may_hold(pointee: str, element: str) -> bool:
    """Whether an array of `element` may be passed for a pointer to `pointee`.

    Bytes may be anything; else sizes agree and a float does not meet an integer.
    """
    if pointee not in ELEMENT_BYTES or ELEMENT_BYTES[pointee] == 1:
        return True
    if ELEMENT_BYTES[pointee] != ELEMENT_BYTES[element]:
        return False
    kinds = {_kind(pointee), _kind(element)}
    return "b" in kinds or len(kinds) == 1


def _kind(type_name: str) -> str:
    if type_name == "bf16":
        return "bf16"
    return {"u": "integer", "s": "integer", "b": "b", "f": "f"}[type_name[0]]


def _check_scalar(parameter: Parameter, value: int | float, name: str, where: str) -> None:
    bits = parameter.size_bytes * 8
    kind = parameter.type[0] if parameter.type != "bf16" else "f"
    if kind == "f":
        return
    if isinstance(value, float):
        if kind != "b" or bits not in _FLOAT_BYTES:
            raise LaunchError(
                f"{name} is a {parameter.type}, but {value!r} is not an integer",
                where=where,
                hint="give an integer; // divides without a fraction",
            )
        return
    low, high = -(1 << (bits - 1)), (1 << (bits - 1 if kind == "s" else bits)) - 1
    if not low <= value <= high:
        raise LaunchError(
            f"{name} is {value}, out of range for {parameter.type}",
            where=where,
            hint=f"keep it within {low} and {high}",
        )
