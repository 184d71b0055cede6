"""A launch as the head of a trace keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct

from kernelcast.ir import (
    Argument,
    ArgumentList,
    Array,
    Dim3,
    Fill,
    Launch,
    Structure,
    TensorMap,
    Texture,
)

_STRUCT, _LIST = "{}", "[]"
_OF_TEXTURE = (
    *("rank", "is_surface", "is_linear", "mode", "normalized_coordinates", "normalized_float"),
    *("is_layered", "is_cube", "levels", "is_linear_between"),
)


class StoredArray(Struct, omit_defaults=True):
    """An array argument; with a `box` the tensor map of one, as `ir.TensorMap` has it.

    Of the type `{}` a struct, of `[]` a list: `items` are its values, by `names` those of fields.
    An array with `names` alone is a texture; they are how it is read.
    """

    type: str
    shape: tuple[int, ...]
    fill: Fill
    box: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    swizzle_bytes: int = 0
    of: str = ""
    names: tuple[str, ...] = ()
    items: tuple[int | float | StoredArray, ...] = ()
    start: int = 0


class StoredLaunch(Struct):
    """The fields of `ir.Launch`."""

    grid: Dim3
    block: Dim3
    args: Mapping[str, int | float | StoredArray]
    smem_bytes: int
    kernel: str
    repeat: int
    symbols: Mapping[str, int | float | StoredArray] = {}
    cluster: Dim3 | None = None
    carveout: int | None = None

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
            symbols={label: _stored(value) for label, value in launch.symbols.items()},
            cluster=launch.cluster,
            carveout=launch.carveout,
        )

    def launch(self) -> Launch:
        """The launch that was kept."""
        args = {label: _argument(value) for label, value in self.args.items()}
        symbols = {label: _argument(value) for label, value in self.symbols.items()}
        return Launch(
            self.grid,
            self.block,
            args,
            self.smem_bytes,
            self.kernel,
            self.repeat,
            symbols,
            self.cluster,
            self.carveout,
        )


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
    if isinstance(value, Texture):
        array = value.array
        words = tuple(str(getattr(value, name)) for name in _OF_TEXTURE)
        return StoredArray(array.type, array.shape, array.fill, of=array.of, names=words)
    if isinstance(value, Array):
        return StoredArray(value.type, value.shape, value.fill, of=value.of, start=value.start)
    if isinstance(value, Structure):
        names = tuple(name for name, _ in value.fields)
        items = tuple(_stored(field) for _, field in value.fields)
        return StoredArray(_STRUCT, (), Fill(), names=names, items=items)
    if isinstance(value, ArgumentList):
        return StoredArray(_LIST, (), Fill(), items=tuple(map(_stored, value.items)))
    return value


def _argument(value: int | float | StoredArray) -> Argument:
    if not isinstance(value, StoredArray):
        return value
    items = tuple(map(_argument, value.items))
    if value.type == _STRUCT:
        return Structure(tuple(zip(value.names, items, strict=True)))
    if value.type == _LIST:
        return ArgumentList(items)
    of = "" if value.box else value.of
    array = Array(value.type, value.shape, value.fill, of, value.start)
    if value.names:
        return Texture(array, **dict(zip(_OF_TEXTURE, map(_word, value.names), strict=False)))
    if not value.box:
        return array
    return TensorMap(array, value.box, value.order, value.swizzle_bytes, value.of)


def _word(text: str) -> Any:
    """A flag, a number or a name that describes a texture."""
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.isdigit() else text
