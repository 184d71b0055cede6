"""A launch as the head of a trace keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from msgspec import Struct

from kernelcast.ir import Argument, Array, Dim3, Fill, Launch, TensorMap


class StoredArray(Struct, omit_defaults=True):
    """An array argument; with a `box` the tensor map of one, as `ir.TensorMap` has it."""

    type: str
    shape: tuple[int, ...]
    fill: Fill
    box: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    swizzle_bytes: int = 0
    of: str = ""


class StoredLaunch(Struct):
    """The fields of `ir.Launch`."""

    grid: Dim3
    block: Dim3
    args: Mapping[str, int | float | StoredArray]
    smem_bytes: int
    kernel: str
    repeat: int

    @classmethod
    def of(cls, launch: Launch) -> Self:
        """The launch to be kept."""
        return cls(
            grid=launch.grid,
            block=launch.block,
            args={label: _stored(value) for label, value in launch.args.items()},
            smem_bytes=launch.smem_bytes,
            kernel=launch.kernel,
            repeat=launch.repeat,
        )

    def launch(self) -> Launch:
        """The launch that was kept."""
        args = {label: _argument(value) for label, value in self.args.items()}
        return Launch(self.grid, self.block, args, self.smem_bytes, self.kernel, self.repeat)


def _stored(value: Argument) -> int | float | StoredArray:
    if isinstance(value, TensorMap):
        array = value.array
        return StoredArray(
            array.type,
            array.shape,
            array.fill,
            value.box,
            value.order,
            value.swizzle_bytes,
            value.of,
        )
    if isinstance(value, Array):
        return StoredArray(value.type, value.shape, value.fill)
    return value


def _argument(value: int | float | StoredArray) -> Argument:
    if not isinstance(value, StoredArray):
        return value
    array = Array(value.type, value.shape, value.fill)
    if not value.box:
        return array
    return TensorMap(array, value.box, value.order, value.swizzle_bytes, value.of)
