"""Tensor maps as they are written: `f16[m, k] random(1) box[128, 64] swizzle(128)`.

An array, and behind it the box that one copy moves, outermost dimension first like the array. Then,
in any order: `order[1, 0, 2]`, the dimensions of the array in the order of the map, to which the
box belongs; `swizzle(32)`, `(64)` or `(128)`, how long the rows are whose chunks of 16 bytes trade
places in shared memory; `of NAME`, the array as another argument calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelcast.errors import InputError
from kernelcast.frontends.expressions import Number, evaluate, split_expressions
from kernelcast.ir import ELEMENT_BYTES, Array, TensorMap
from kernelcast.ir.tensor_map import MAX_RANK

_MAX_BOX = 256
_STRIDE_BYTES = 16
_SWIZZLES_BYTES = (32, 64, 128)
"""What `cuTensorMapEncodeTiled` accepts (CUDA driver API, tensor map object management): elements
of a box in a dimension, and what rows of the box and strides of the tensor are multiples of."""

BOX = re.compile(r"\bbox\s*\[")
"""What a tensor map has and an array has not."""

_CLAUSE = re.compile(
    r"\s*(?:(?P<list>box|order)\s*\[(?P<numbers>[^\[\]]*)\]"
    r"|(?P<swizzle>swizzle)\s*\((?P<bytes>.*?)\)|of\s+(?P<of>[A-Za-z_]\w*))\s*"
)
_EXAMPLE = 'write it like "f16[m, k] random(1) box[128, 64] swizzle(128)"'


def parse_tensor_map(
    array: Array, clauses: str, names: Mapping[str, Number], *, where: str
) -> TensorMap:
    """The map of an array by what is written behind it, over `names`. Raises InputError."""
    lists: dict[str, tuple[int, ...]] = {}
    swizzle_bytes, of, at = 0, "", 0
    while at < len(clauses):
        found = _CLAUSE.match(clauses, at)
        if found is None or found["list"] in lists:
            raise InputError(f"unexpected {clauses[at:].strip()!r}", where=where, hint=_EXAMPLE)
        at = found.end()
        if found["list"]:
            lists[found["list"]] = _integers(found["numbers"], names, where)
        elif found["swizzle"]:
            (swizzle_bytes,) = _integers(found["bytes"], names, where)
        else:
            of = found["of"]
    rank = len(array.shape)
    map_ = TensorMap(array, lists["box"], lists.get("order", tuple(range(rank))), swizzle_bytes, of)
    check_tensor_map(map_, where)
    return map_


def _integers(text: str, names: Mapping[str, Number], where: str) -> tuple[int, ...]:
    found = []
    for part in split_expressions(text):
        number = evaluate(part, names, where=where)
        if not isinstance(number, int):
            raise InputError(f"{part.strip()} is {number!r}, not an integer", where=where)
        found.append(number)
    return tuple(found)


def check_tensor_map(map_: TensorMap, where: str) -> None:
    """InputError for a map by which no GPU can copy."""
    rank = len(map_.array.shape)
    row_bytes = map_.box[-1] * ELEMENT_BYTES[map_.array.type]
    if rank > MAX_RANK:
        wrong, hint = f"{rank} dimensions", f"a tensor map has at most {MAX_RANK}"
    elif len(map_.box) != rank:
        wrong, hint = f"a box of {len(map_.box)} dimensions", f"give it {rank}, like the array"
    elif not all(1 <= length <= _MAX_BOX for length in map_.box):
        wrong, hint = f"a box of {_product(map_.box)}", f"its lengths are 1 to {_MAX_BOX}"
    elif sorted(map_.order) != list(range(rank)) or map_.order[-1] != rank - 1:
        wrong = f"the order {list(map_.order)}"
        hint = f"it names the dimensions 0 to {rank - 1} once, {rank - 1} at the end"
    elif map_.swizzle_bytes not in (0, *_SWIZZLES_BYTES):
        wrong, hint = f"a swizzle of {map_.swizzle_bytes} bytes", "it is 32, 64 or 128"
    elif map_.swizzle_bytes and row_bytes != map_.swizzle_bytes:
        wrong = f"rows of {row_bytes} bytes in a box with a swizzle of {map_.swizzle_bytes}"
        hint = "make them as long"
    elif row_bytes % _STRIDE_BYTES:
        wrong = f"rows of {row_bytes} bytes in the box"
        hint = f"make them a multiple of {_STRIDE_BYTES} bytes"
    else:
        layout = map_.layout(0)
        if all(stride % _STRIDE_BYTES == 0 for stride in layout.strides_bytes):
            return
        wrong = f"strides of {', '.join(map(str, layout.strides_bytes))} bytes"
        hint = f"make the rows of the array a multiple of {_STRIDE_BYTES} bytes"
    raise InputError(f"{wrong} in a tensor map", where=where, hint=hint)


def _product(lengths: tuple[int, ...]) -> str:
    return " x ".join(map(str, lengths))
