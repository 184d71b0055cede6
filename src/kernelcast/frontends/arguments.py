"""Arguments as they are written: `"n // 2"`, `2.5`, `"f32[n, m] random(1)"`, and tensor maps."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelcast.errors import InputError, NotFoundError
from kernelcast.frontends.expressions import Number, evaluate, split_expressions
from kernelcast.frontends.tensor_maps import BOX, parse_tensor_map
from kernelcast.ir import ELEMENT_BYTES, Argument, Array, Fill, TensorMap

_MAX_ARRAY_BYTES = 1 << 40
"""More than any device has; a larger array is a mistake."""

_FILLS: Mapping[str, tuple[str, ...]] = {
    "zeros": (),
    "ones": (),
    "arange": (),
    "random": ("seed",),
    "randint": ("lo", "hi", "seed"),
    "permutation": ("seed",),
}
"""What every fill is told, besides `file("path.npy")`."""

_ARRAY = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\](.*)", re.DOTALL)
_FILL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_QUOTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)')\s*""")
_EXAMPLE = 'write it as TYPE[dims] fill, for example "f32[n] random(1)"'


def parse_arguments(
    written: Mapping[str, object], names: Mapping[str, Number], *, where: str
) -> dict[str, Argument]:
    """The values of arguments by label, in order.

    Expressions may use `names` and, where those do not define them, the labels of earlier scalar
    arguments. Raises InputError.
    """
    values: dict[str, Argument] = {}
    scalars: dict[str, Number] = {}
    for label, value in written.items():
        known = {**scalars, **names}
        values[label] = parsed = parse_argument(value, known, where=f"{where}: {label}")
        if not isinstance(parsed, Array | TensorMap):
            scalars[label] = parsed
    return values


def parse_argument(written: object, names: Mapping[str, Number], *, where: str) -> Argument:
    """The value of one argument: a number, an expression, an array or a tensor map."""
    if isinstance(written, bool | int | float):
        return int(written) if isinstance(written, bool) else written
    if not isinstance(written, str):
        raise InputError(
            f"{written!r} is no argument",
            where=where,
            hint="give a number, an expression or an array",
        )
    if box := BOX.search(written):
        array = parse_array(written[: box.start()], names, where=where)
        return parse_tensor_map(array, written[box.start() :], names, where=where)
    if "[" in written:
        return parse_array(written, names, where=where)
    return evaluate(written, names, where=where)


def parse_array(text: str, names: Mapping[str, Number], *, where: str) -> Array:
    """`TYPE[dims] fill` over `names`."""
    match = _ARRAY.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not an array", where=where, hint=_EXAMPLE)
    type_, dims, fill = match.groups()
    if type_ not in ELEMENT_BYTES:
        raise NotFoundError("array type", type_, ELEMENT_BYTES, where=where)
    array = Array(
        type=type_,
        shape=tuple(_length(dim, names, where) for dim in split_expressions(dims)),
        fill=_fill(fill, names, where) if fill.strip() else Fill(),
    )
    if array.size_bytes > _MAX_ARRAY_BYTES:
        raise InputError(
            f"the array would take {array.size_bytes} bytes", where=where, hint="make it smaller"
        )
    return array


def _length(text: str, names: Mapping[str, Number], where: str) -> int:
    length = evaluate(text, names, where=where)
    if not isinstance(length, int) or length < 1:
        raise InputError(
            f"a dimension is {length!r}, not a positive integer",
            where=where,
            hint="" if isinstance(length, int) else "// divides without a fraction",
        )
    return length


def _fill(text: str, names: Mapping[str, Number], where: str) -> Fill:
    match = _FILL.fullmatch(text)
    if match is None:
        raise InputError(f"{text.strip()!r} is not a fill", where=where, hint=_EXAMPLE)
    kind, inside = match[1], match[2]
    if kind == "file":
        path = _QUOTED.fullmatch(inside or "")
        if path is None:
            raise InputError("file needs a path", where=where, hint='write file("path.npy")')
        return Fill("file", path=path[1] or path[2] or "")
    if kind not in _FILLS:
        raise NotFoundError("fill", kind, [*_FILLS, "file"], where=where)
    # All others take numbers, which may be expressions.
    wanted = _FILLS[kind]
    given = split_expressions(inside) if inside and inside.strip() else []
    if len(given) != len(wanted):
        raise InputError(
            f"{kind} takes {len(wanted)} numbers, not {len(given)}",
            where=where,
            hint=f"write {kind}({', '.join(wanted)})" if wanted else f"write {kind} alone",
        )
    numbers = [evaluate(number, names, where=where) for number in given]
    # A seed is a whole number from 0 on, all others are whole numbers.
    for name, number in zip(wanted, numbers, strict=True):
        if not isinstance(number, int) or (name == "seed" and number < 0):
            raise InputError(
                f"{name} of {kind} is {number!r}, not a whole number"
                + (" from 0 on" if name == "seed" else ""),
                where=where,
            )
    if kind == "randint" and numbers[0] >= numbers[1]:
        raise InputError("randint has no values: lo must be below hi", where=where)
    return Fill(kind, tuple(numbers))
