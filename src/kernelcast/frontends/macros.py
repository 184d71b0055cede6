"""Names that a workload and its source both have, where only one of them was given a value."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Directive, read_words

_TESTS = frozenset({"if", "ifdef", "ifndef", "elif"})


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
    items = read_words(source, 0)
    directives = [item for item in items if isinstance(item, Directive)]
    given = {define.partition("=")[0] for define in defines}
    own: dict[str, list[str]] = {}
    for name, value in _defined(directives):
        own.setdefault(name, []).append(value)
    tested = {w.text for item in directives if item.name in _TESTS for w in item.words}
    warnings = [
        f"{name} is {value:g} in the launch alone, and {file} {_has(own.get(name))}: "
        f"-D {name}={value:g} gives it to both"
        for name, value in names.items()
        if name not in given and (name in own or name in tested) and not _is(value, own.get(name))
    ]
    if any(w.kind is TokenKind.TEXT for d in directives if d.name == "include" for w in d.words):
        return tuple(warnings)
    words = {w.text for item in directives for w in item.words}
    words |= {item.text for item in items if not isinstance(item, Directive)}
    for name in sorted(given - words - set(names)):
        near = difflib.get_close_matches(name, (own.keys() | tested) - given, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        warnings.append(f"-D {name}: neither {file} nor the launch has that name{hint}")
    return tuple(warnings)


def _defined(directives: Sequence[Directive]) -> Iterator[tuple[str, str]]:
    """Macros without parameters, and what stands for them."""
    for item in directives:
        if item.name == "define" and item.words and not item.is_called:
            yield item.words[0].text, " ".join(word.text for word in item.words[1:])


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
