"""Machines from their files, and numbers set by the user.

A file holds identity keys (`schema`, `version`, `title`, ...) and, by path, numbers of the form
`{ value = ..., unit = "...", kind = "...", source = "..." }`. It inherits all numbers of its
compute capability from `data/compute_capability/`; its own win. Sources that several numbers cite
are in `[sources]`; see `sources`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kernelcast.errors import InputError, NotFoundError, ParseError
from kernelcast.machines.cache_shapes import SHAPES, check_shape
from kernelcast.machines.machine import Machine, Provenance, Quantity
from kernelcast.machines.schema import ENTRIES, SCHEMA
from kernelcast.machines.sources import file_sources, full_source

_DATA = Path(__file__).parent / "data"
_KINDS = {kind.value: kind for kind in Provenance}
_IDENTITY = ("title", "vendor", "chip", "architecture", "compute_capability")
_KEYS = ("schema", "version", "sources", *_IDENTITY)
_FIELDS = frozenset(("value", "unit", "kind", "source"))


@cache
def machine_names() -> tuple[str, ...]:
    """Names of all machines that come with the package, in alphabetical order."""
    return tuple(sorted(file.stem for file in _DATA.glob("*.toml")))


def load_machine(name: str) -> Machine:
    """The machine of this name, or of a machine file where `name` ends in `.toml`.

    Raises
    ------
    NotFoundError
        If no machine has the name; carries the nearest ones.
    InputError
        If the file cannot be read, or a number in it lacks its unit, kind or source or is out of
        range; names file and path.
    """
    if name.endswith(".toml"):
        return _read(Path(name))
    stem = "-".join(name.lower().replace("_", " ").split())
    if stem not in machine_names():
        raise NotFoundError("GPU", name, machine_names(), otherwise="kernelcast gpus lists them")
    return _read(_DATA / f"{stem}.toml")


def apply_overrides(machine: Machine, overrides: Iterable[str]) -> Machine:
    """The machine with numbers set by `PATH=VALUE` texts, of kind assumed.

    Values are in the schema's unit; lists are separated by commas.

    Raises
    ------
    NotFoundError
        If a path is not in the schema; carries the nearest ones.
    InputError
        If a text or value cannot be read, or a value is out of range.
    """
    quantities: dict[str, Quantity] = {}
    for text in overrides:
        path, separator, value = (part.strip() for part in text.partition("="))
        where = f"--set {text}"
        if not separator or not value:
            raise InputError("no value", where=where, hint="write --set PATH=VALUE")
        entry = ENTRIES.get(path)
        if entry is None:
            raise NotFoundError("machine number", path, ENTRIES, where=where)
        numbers = [_number(item, where) for item in value.split(",")]
        if len(numbers) > 1 and not entry.is_list:
            raise InputError(f"{path} is one number, not a list", where=where)
        checked = entry.check(numbers if entry.is_list else numbers[0], where)
        quantities[path] = Quantity(checked, entry.unit, Provenance.ASSUMED, "--set")
    if not quantities:
        return machine
    changed = machine.with_quantities(quantities)
    _check_caches(changed, quantities)
    return changed


def _check_caches(machine: Machine, given: Collection[str]) -> None:
    for paths in SHAPES:
        named = [path for path in paths if path in given]
        numbers = {path: known for path in paths if (known := machine.get(path)) is not None}
        if named and len(numbers) == len(paths):
            check_shape(numbers, f"--set {named[0]}")


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"{text!r} is not a number", where=where, hint="write it as 132 or 2.0e12"
        ) from None


def _read(file: Path) -> Machine:
    document = _parse(file)
    missing = [key for key in _IDENTITY if not isinstance(document.get(key), str)]
    if missing:
        raise InputError(f"no text for {', '.join(missing)}", where=str(file))
    capability = document["compute_capability"]
    inherited = _capability_quantities(capability)
    if inherited is None:
        known = [path.stem for path in (_DATA / "compute_capability").glob("*.toml")]
        raise NotFoundError("compute capability", capability, known, where=str(file))
    major, minor = capability.split(".")
    return Machine(
        name=file.stem,
        title=document["title"],
        vendor=document["vendor"],
        chip=document["chip"],
        architecture=document["architecture"],
        compute_capability=(int(major), int(minor)),
        quantities={**inherited, **_quantities(document, file)},
        file=str(file),
        version=document["version"],
    )


@cache
def _capability_quantities(capability: str) -> Mapping[str, Quantity] | None:
    """Numbers that all chips of a compute capability share, None where it is unknown."""
    file = _DATA / "compute_capability" / f"{capability}.toml"
    return _quantities(_parse(file), file) if file.is_file() else None


def _parse(file: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InputError(
            f"machine file: {reason}", where=str(file), hint="give the path of a .toml file"
        ) from None
    except UnicodeDecodeError:
        raise ParseError("machine file is not UTF-8 text", where=str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise ParseError(f"not TOML: {error}", where=str(file)) from None
    if document.get("schema") != SCHEMA:
        raise InputError(
            f"schema is {document.get('schema')!r}",
            where=str(file),
            hint=f'write schema = "{SCHEMA}"',
        )
    if not isinstance(document.get("version"), str):
        raise InputError("no version", where=str(file), hint='write version = "1"')
    return document


def _quantities(document: Mapping[str, Any], file: Path) -> dict[str, Quantity]:
    tables = {key: value for key, value in document.items() if key not in _KEYS}
    sources = file_sources(document.get("sources", {}), str(file))
    return {path: _quantity(path, leaf, file, sources) for path, leaf in _leaves(tables, "")}


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    """Paths of all values that are not tables of further paths."""
    for key, value in table.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and not (path in ENTRIES or _FIELDS & value.keys()):
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _quantity(path: str, leaf: object, file: Path, sources: Mapping[str, str]) -> Quantity:
    where = f"{file}: {path}"
    entry = ENTRIES.get(path)
    if entry is None:
        raise NotFoundError("machine number", path, ENTRIES, where=str(file))
    if not isinstance(leaf, dict) or leaf.keys() != _FIELDS:
        has = leaf.keys() if isinstance(leaf, dict) else {"value"}
        missing = sorted(_FIELDS - has)
        what = f"has no {', '.join(missing)}" if missing else "has unknown keys"
        raise InputError(
            what, where=where, hint="write { value = , unit = , kind = , source = }, all four"
        )
    value = entry.check(leaf["value"], where)
    if leaf["unit"] != entry.unit:
        raise InputError(f"unit is {leaf['unit']!r}", where=where, hint=f"give it in {entry.unit}")
    kind = _KINDS.get(leaf["kind"]) if isinstance(leaf["kind"], str) else None
    if kind is None:
        raise InputError(
            f"kind is {leaf['kind']!r}", where=where, hint="write " + ", ".join(_KINDS)
        )
    source = leaf["source"]
    if not isinstance(source, str) or not source.strip():
        raise InputError("source is empty", where=where, hint="say where the number is from")
    return Quantity(value, entry.unit, kind, full_source(source, sources, where))
