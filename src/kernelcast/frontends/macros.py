"""Names that a workload and its source both have, where only one of them was given a value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[ \t]+(.*))?$", re.MULTILINE)
_TESTED = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(.*)$", re.MULTILINE)
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")


def unheard(
    source: str, file: str, names: Mapping[str, int | float], defines: Sequence[str]
) -> tuple[str, ...]:
    """What to warn of, in words.

    A name of the workload that is a macro of the source as well, with another value or none: who
    tunes a kernel means both. And a macro that was given but that nobody has.

    Parameters
    ----------
    source, file:
        The text of the source and its name.
    names:
        Names of the workload with their values.
    defines:
        Macros as they are given to the compiler, `NAME` or `NAME=VALUE`.
    """
    code = _COMMENT.sub(" ", source)
    given = {define.partition("=")[0] for define in defines}
    own: dict[str, list[str]] = {}
    for name, value in _DEFINED.findall(code):
        own.setdefault(name, []).append(value.strip())
    tested = {word for test in _TESTED.findall(code) for word in _WORD.findall(test)}
    warnings = [
        f"{name} is {value:g} in the launch alone, and {file} {_has(own.get(name))}: "
        f"-D {name}={value:g} gives it to both"
        for name, value in names.items()
        if name not in given and (name in own or name in tested) and not _is(value, own.get(name))
    ]
    if _INCLUDED.search(code):
        return tuple(warnings)
    words = set(_WORD.findall(code))
    for name in sorted(given - words - set(names)):
        near = difflib.get_close_matches(name, (own.keys() | tested) - given, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        warnings.append(f"-D {name}: neither {file} nor the launch has that name{hint}")
    return tuple(warnings)


def _is(value: float, written: Sequence[str] | None) -> bool:
    """Whether a macro is defined, and always with this value."""
    with suppress(ValueError):
        return bool(written) and all(float(int(w, 0)) == value for w in written or ())
    with suppress(ValueError):
        return all(float(w.rstrip("fF")) == value for w in written or ())
    return False


def _has(written: Sequence[str] | None) -> str:
    values = " or ".join(dict.fromkeys(filter(None, written or ())))
    return f"defines it as {values}" if values else "asks whether it is defined"
