"""Which files a source includes, so that a cached compilation can be told from a stale one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from kernelcast.toolchain.cache import content_key
from kernelcast.toolchain.wheels import site_packages, wheel_versions

_MAX_FILES = 2000
"""Included files beyond which a source is not cached."""

_DIRECTIVE = re.compile(rb"^[ \t]*#(?>[ \t]|/\*.*?\*/)*+include(?:_next)?\b(.*)$", re.MULTILINE)
_HAS_INCLUDE = re.compile(rb"__has_include(?:_next)?[ \t]*\(([^()\n]*)")
_HEADER = re.compile(rb'(?>\s|/\*.*?\*/)*+(?:"([^"\n]+)"|<([^>\n]+)>)')
_CONTINUATION = re.compile(rb"\\\r?\n")


def include_fingerprint(
    source: bytes, name: str, directories: Sequence[Path], supplied: Collection[str] = ()
) -> str | None:
    """A hash of every file that `source` may include, directly or not.

    Conditions are not evaluated: all branches count. `supplied` names headers that the caller
    hands to the compiler itself. Files of installed packages stand for themselves by package
    version. None where the files cannot be told (an include by macro, a file that cannot be read,
    too many files).
    """
    parts: list[str | bytes] = []
    seen: set[Path] = set()
    pending = [(source, Path(name).parent)]
    packages = site_packages()
    while pending:
        text, directory = pending.pop()
        for match in _requests(text):
            if match is None or len(seen) > _MAX_FILES:
                return None
            header, quoted = match
            if header in supplied:
                continue
            path = _resolve(header, ([directory] if quoted else []) + list(directories))
            parts += [header, str(path)]
            if path is None or path in seen:
                continue
            seen.add(path)
            if any(path.is_relative_to(package) for package in packages):
                parts += wheel_versions()
                continue
            try:
                content = path.read_bytes()
            except OSError:
                return None
            parts.append(content)
            pending.append((content, path.parent))
    return content_key(*parts)


def _requests(text: bytes) -> list[tuple[str, bool] | None]:
    """Included names with whether they are quoted; None for one that is not a literal."""
    joined = _CONTINUATION.sub(b"", text)
    arguments = _DIRECTIVE.findall(joined) + _HAS_INCLUDE.findall(joined)
    found: list[tuple[str, bool] | None] = []
    for argument in arguments:
        header = _HEADER.match(argument)
        if header is None:
            found.append(None)
        else:
            quoted, angled = header.groups()
            found.append(((quoted or angled).decode("utf-8", "surrogateescape"), bool(quoted)))
    return found


def _resolve(header: str, directories: Sequence[Path]) -> Path | None:
    return next((d / header for d in directories if (d / header).is_file()), None)
