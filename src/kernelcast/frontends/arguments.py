"""Arguments as they are written: `"n // 2"`, `2.5`, `"f32[n, m] random(1)"`, and tensor maps.

Structs are fields by name, `{p=f32[n], n=1024}`, or a table of TOML; `[f32[n], f32[m]]`, or a list
of TOML, are values one behind the other, and `[f32[n]] * 8` eight alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelcast.errors import InputError, LaunchError, NotFoundError
from kernelcast.frontends.expressions import BLANK, Number, evaluate, split_expressions
from kernelcast.frontends.tensor_maps import BOX, parse_tensor_map
from kernelcast.frontends.textures import TEXTURE, parse_texture
from kernelcast.ir import (
    ELEMENT_BYTES,
    Argument,
    ArgumentList,
    Array,
    Fill,
    Structure,
)

_MAX_ARRAY_BYTES = 1 << 40
"""More than any device has; a larger array is a mistake."""

_FILLS: Mapping[str, tuple[str, ...]] = {
    "zeros": (),
    "ones": (),
    "arange": ("step",),
    "random": ("seed",),
    "randint": ("lo", "hi", "seed"),
    "permutation": ("seed",),
}
"""What every fill is told, besides `file("path.npy")`; `arange` alone has a step of 1."""

_ARRAY = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\](.*)", re.DOTALL)
_FILL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_QUOTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)')\s*""")
_OF = re.compile(r"(?<![\w\"'(])of\s+([A-Za-z_][\w.\[\]]*)\s*$")
"""The name of the argument that an array is the same as."""
_FIELD = re.compile(r"[A-Za-z_]\w*(?:@\d+(?::\w+)?)?|@\d+(?::\w+)?")
_MAX_LIST = 1 << 16
_STRUCT_EXAMPLE = "write a struct as {name=value, ...}, for example {p=f32[n], n=1024}"
_CLOSING = {"[": "]", "{": "}"}
_LIST_EXAMPLE = "write a list as [value, ...], for example [f32[n], f32[n]] or [f32[n]] * 8"
_EXAMPLE = 'write it as TYPE[dims] fill, for example "f32[n] random(1)"'


def parse_arguments(
    written: Mapping[str, object], names: Mapping[str, Number], *, where: str
) -> dict[str, Argument]:
    """The values of arguments by label, in the order in which they are written.

    Expressions may use `names` and, where those do not define them, numbers among the arguments:
    another number those before it, an array any, so that it may be as long as one behind it says.
    `where` goes before each label in errors. Raises InputError.
    """
    known = dict(names)
    values: dict[str, Argument] = {}
    for label, value in sorted(written.items(), key=lambda item: not _is_number(item[1])):
        values[label] = parsed = parse_argument(value, known, where=f"{where}{label}")
        if isinstance(parsed, int | float):
            # A field may say where it lies: `n@8` is n.
            known.setdefault(label.partition("@")[0], parsed)
    return {label: values[label] for label in written}


def parse_argument(written: object, names: Mapping[str, Number], *, where: str) -> Argument:
    """The value of one argument: a number, an expression, an array, a struct, a list or a tensor
    map."""
    if isinstance(written, bool | int | float):
        return int(written) if isinstance(written, bool) else written
    if isinstance(written, Mapping):
        return _structure(written, names, where)
    if isinstance(written, list | tuple):
        items = enumerate(written)
        return ArgumentList(
            tuple(parse_argument(v, names, where=f"{where}[{at}]") for at, v in items)
        )
    if not isinstance(written, str):
        raise InputError(
            f"{written!r} is no argument",
            where=where,
            hint="give a number, an expression, an array, a struct or a list",
        )
    if written.strip() == BLANK:
        raise LaunchError("is open", where=where, hint="write its value there")
    begin = written.lstrip()[:1]
    if begin == "{":
        return _structure(_split_fields(written, where=where), names, where)
    if begin == "[":
        return _list(written, names, where)
    if box := BOX.search(written):
        array = parse_array(written[: box.start()], names, where=where)
        return parse_tensor_map(array, written[box.start() :], names, where=where)
    if found := TEXTURE.search(written):
        bare = written[: found.start()] + written[found.end() :]
        array = parse_array(bare, names, where=where)
        return parse_texture(array, found[1], found[2], names, where=where)
    if "[" in written:
        return parse_array(written, names, where=where)
    word = written.partition("(")[0].strip()
    if word in _FILLS and word not in names:
        raise InputError(f"{written!r} names no type or length", where=where, hint=_EXAMPLE)
    return evaluate(written, names, where=where)


def _split_fields(text: str, *, where: str) -> dict[str, str]:
    """`{name=value, ...}` as a table. Raises InputError."""
    inside, rest = _inside(text, where)
    if rest:
        raise InputError(f"unexpected {rest!r}", where=where, hint=_STRUCT_EXAMPLE)
    fields: dict[str, str] = {}
    for part in _parts(inside):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value or _FIELD.fullmatch(name) is None:
            raise InputError(f"{part!r} is not a field", where=where, hint=_STRUCT_EXAMPLE)
        if name in fields:
            raise InputError(f"field {name} is given twice", where=where)
        fields[name] = value
    return fields


def _structure(written: Mapping[str, object], names: Mapping[str, Number], where: str) -> Structure:
    """Fields by name; expressions in them may use the numbers among them."""
    fields = {str(name): value for name, value in written.items()}
    for name in fields:
        if _FIELD.fullmatch(name) is None:
            raise InputError(f"{name!r} is not a field", where=where, hint=_STRUCT_EXAMPLE)
    return Structure(tuple(parse_arguments(fields, names, where=f"{where}.").items()))


def _is_number(written: object) -> bool:
    """Whether what is written is a number or an expression."""
    if isinstance(written, str):
        return not {"[", "{"} & set(written)
    return isinstance(written, bool | int | float)


def _list(text: str, names: Mapping[str, Number], where: str) -> ArgumentList:
    """`[a, b]`, or `[a, b] * count`."""
    inside, rest = _inside(text, where)
    count: Number = 1
    if rest:
        if not rest.startswith("*"):
            raise InputError(f"unexpected {rest!r}", where=where, hint=_LIST_EXAMPLE)
        count = evaluate(rest[1:], names, where=where)
    if not isinstance(count, int) or not 1 <= count <= _MAX_LIST:
        raise InputError(
            f"{count!r} times a list", where=where, hint=f"give 1 to {_MAX_LIST} times"
        )
    items = [
        parse_argument(part, names, where=f"{where}[{at}]")
        for at, part in enumerate(_parts(inside))
    ]
    return ArgumentList(tuple(items * count))


def _inside(text: str, where: str) -> tuple[str, str]:
    """What stands in the bracket that a text begins with, and what follows it."""
    text = text.strip()
    depth, quote = 0, ""
    for at, character in enumerate(text):
        quote, depth = _after(character, quote, depth)
        if depth == 0 and not quote:
            if character != _CLOSING[text[0]]:
                break
            return text[1:at], text[at + 1 :].strip()
    raise InputError(f"{text!r} is not closed", where=where, hint=_STRUCT_EXAMPLE)


def _parts(text: str) -> list[str]:
    """A text split at the commas outside of brackets and quotes."""
    parts = [""]
    depth, quote = 0, ""
    for character in text:
        quote, depth = _after(character, quote, depth)
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts] if text.strip() else []


def _after(character: str, quote: str, depth: int) -> tuple[str, int]:
    """The quote that is open, and how many brackets are, behind a character."""
    if quote:
        return ("" if character == quote else quote), depth
    if character in "'\"":
        return character, depth
    return "", depth + (character in "([{") - (character in ")]}")


def parse_array(text: str, names: Mapping[str, Number], *, where: str) -> Array:
    """`TYPE[dims] fill` over `names`."""
    match = _ARRAY.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not an array", where=where, hint=_EXAMPLE)
    type_, dims, rest = match.groups()
    fill, start = _split_start(rest)
    of = _OF.search(fill)
    fill = fill[: of.start()] if of else fill
    if type_ not in ELEMENT_BYTES:
        raise NotFoundError("array type", type_, ELEMENT_BYTES, where=where)
    array = Array(
        type=type_,
        shape=tuple(_length(dim, names, where) for dim in split_expressions(dims)),
        fill=_fill(fill, names, where) if fill.strip() else Fill(),
        of=of[1] if of else "",
        start=_start(start, names, where) if start else 0,
    )
    if array.start > array.elements:
        raise InputError(
            f"the pointer is {array.start} elements into {array.elements}",
            where=where,
            hint="let it point into the array, or right behind it",
        )
    if array.size_bytes > _MAX_ARRAY_BYTES:
        raise InputError(
            f"the array would take {array.size_bytes} bytes", where=where, hint="make it smaller"
        )
    return array


def _split_start(text: str) -> tuple[str, str]:
    """How an array starts, and what a `+` behind it says of where a pointer points into it."""
    depth, quote = 0, ""
    for at, character in enumerate(text):
        quote, depth = _after(character, quote, depth)
        if character == "+" and not depth and not quote:
            return text[:at], text[at + 1 :]
    return text, ""


def _start(text: str, names: Mapping[str, Number], where: str) -> int:
    start = evaluate(text, names, where=where)
    if not isinstance(start, int) or start < 0:
        raise InputError(
            f"a pointer is {start!r} elements into its array", where=where, hint="give 0 or more"
        )
    return start


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
    if kind == "arange" and not given:
        return Fill(kind)
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
