"""Tensor descriptors that a host gives to Triton's functions, and what the compiled kernel takes in
their place: a tensor map with shape and strides, or, of GPUs that know none, the pointer with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelcast.adapters.values import argument
from kernelcast.errors import InputError
from kernelcast.frontends.tensor_maps import check_tensor_map
from kernelcast.ir import Argument, Array, TensorMap

_SWIZZLES_BYTES = (0, 32, 64, 128)
"""By the number in Triton's metadata, which is that of `CUtensorMapSwizzle` in the CUDA driver."""


@dataclass(frozen=True, slots=True)
class HostDescriptor:
    """A tensor, all of it in rows without gaps, and the block that one copy moves."""

    array: Array
    block: tuple[int, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one to the next in every dimension."""
        return _strides(self.array.shape)


def descriptor(base: Any, block_shape: Sequence[int]) -> HostDescriptor:
    """What `triton.tools.tensor_descriptor.TensorDescriptor.from_tensor` makes, of an array of
    kernelcast or NumPy, or of a tensor. InputError where it is none."""
    return _described(base, block_shape, "a descriptor")


def is_descriptor(value: object) -> bool:
    """Whether a value is a tensor descriptor, Triton's or one of ours."""
    return isinstance(value, HostDescriptor) or hasattr(value, "block_shape")


def described(value: Any, where: str) -> HostDescriptor:
    """A tensor descriptor read. InputError where it is of a kind that is not executed."""
    if isinstance(value, HostDescriptor):
        return value
    if hasattr(value, "layout"):
        raise InputError("a descriptor of Gluon", where=where, hint="give one of Triton")
    if getattr(value, "padding", "zero") != "zero" or getattr(value, "round_f32_to_tf32", False):
        raise InputError(
            "a descriptor that pads with NaN or rounds to TF32",
            where=where,
            hint='leave padding="zero" and round_f32_to_tf32=False',
        )
    shape, strides = tuple(map(int, value.shape)), tuple(map(int, value.strides))
    base = value.base
    is_whole = strides == _strides(shape) and math.prod(base.shape) == math.prod(shape)
    if not is_whole:
        raise InputError(
            f"a descriptor of a part of its tensor, of shape {list(shape)} and strides "
            f"{list(strides)}",
            where=where,
            hint="give one of the whole, in rows without gaps",
        )
    if tuple(base.shape) != shape:
        is_ours = isinstance(base, Array)
        base = replace(base, shape=shape) if is_ours else base.reshape(shape)
    return _described(base, value.block_shape, where)


def _described(base: Any, block_shape: Sequence[int], where: str) -> HostDescriptor:
    array = argument(base, where)
    if not isinstance(array, Array):
        raise InputError(f"a descriptor of {base!r}", where=where, hint="give an array")
    block = tuple(map(int, block_shape))
    if len(block) != len(array.shape):
        raise InputError(
            f"a block of {len(block)} dimensions of an array of {len(array.shape)}",
            where=where,
            hint="give a length for every dimension",
        )
    return HostDescriptor(array, block)


def taken(
    given: Mapping[str, Argument | HostDescriptor], tensor_maps: Sequence[Mapping[str, Any]]
) -> dict[str, Argument]:
    """The arguments of the compiled kernel; `tensor_maps` is what Triton's metadata say of every
    descriptor in turn, nothing where the GPU knows no tensor maps."""
    found: dict[str, Argument] = {}
    told = iter(tensor_maps)
    for name, value in given.items():
        if isinstance(value, HostDescriptor):
            found |= dict(_parameters(name, value, next(told, None)))
        else:
            found[name] = value
    return found


def _parameters(
    name: str, value: HostDescriptor, told: Mapping[str, Any] | None
) -> Iterator[tuple[str, Argument]]:
    lengths = [(f"shape[{at}]", size) for at, size in enumerate(value.array.shape)]
    lengths += [(f"stride[{at}]", size) for at, size in enumerate(value.strides)]
    if told is None:
        yield name, value.array
        yield from ((f"{name}.base.{label}", size) for label, size in lengths)
        yield f"{name}.pads_with_nan", 0
        yield f"{name}.rounds_to_tf32", 0
    else:
        yield name, _tensor_map(name, value, told)
    yield from ((f"{name}.{label}", size) for label, size in lengths)


def _tensor_map(name: str, value: HostDescriptor, told: Mapping[str, Any]) -> TensorMap:
    if told.get("is_im2col") or told.get("fp4_padded"):
        raise InputError(
            "a descriptor of images or of numbers of 4 bits",
            where=name,
            hint="load by pointers in the kernel",
        )
    order = tuple(range(len(value.array.shape)))
    box, swizzle_bytes = tuple(told["block_size"]), _SWIZZLES_BYTES[told["swizzle"]]
    made = TensorMap(value.array, box, order, swizzle_bytes)
    check_tensor_map(made, name)
    return made


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[at + 1 :]) for at in range(len(shape)))
