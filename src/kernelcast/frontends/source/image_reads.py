"""How a kernel reads or writes a texture or surface, as far as its calls say it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelcast.frontends.source.brackets import matching, split_words, template_end
from kernelcast.frontends.source.element_types import ELEMENT_TYPES
from kernelcast.frontends.source.parameters import spelled
from kernelcast.frontends.source.words import Lexeme

_CALL = re.compile(r"(tex|surf)(1D|2D|3D|Cubemap)(Layered)?(?:fetch|Lod|Grad|gather|read|write)?")
_VECTOR = re.compile(r"(u?(?:char|short|int|long)|float)([124])")


@dataclass(frozen=True, slots=True)
class ImageRead:
    """The shape of a texture or surface, `1d` to `3d` or `cube`, and its texels."""

    shape: str = "2d"
    is_layered: bool = False
    element: str = "f32"
    channels: int = 1


def image_read(words: Sequence[Lexeme], body: tuple[int, int], name: str) -> ImageRead:
    """What the first call in a function's body that takes the image of a name says of it; where
    there is none, two dimensions of single precision."""
    for at in range(*body):
        if (found := _CALL.fullmatch(words[at].text)) is None:
            continue
        opening = at + 1
        closing_type = template_end(words, opening) if words[opening].text == "<" else -1
        type_ = spelled(words[opening + 1 : closing_type]) if closing_type > 0 else "float"
        opening = max(closing_type + 1, opening)
        closing = matching(words, opening)
        # Some take a value, or the place of one, before the image.
        given = split_words(words[opening + 1 : max(closing, opening)])[:2]
        if any(spelled(each) == name for each in given):
            return _said(found, type_)
    return ImageRead()


def _said(call: re.Match[str], type_: str) -> ImageRead:
    kind, shape, layered = call.groups()
    vector = _VECTOR.fullmatch(type_)
    element = ELEMENT_TYPES.get(vector[1] if vector else type_, "f32")
    is_cube = shape == "Cubemap"
    # The faces of a surface are layers.
    is_layered = bool(layered) or (is_cube and kind == "surf")
    name = "2d" if is_cube and kind == "surf" else "cube" if is_cube else shape.lower()
    return ImageRead(name, is_layered, element, int(vector[2]) if vector else 1)
