"""Code out of fat binaries: the cubin, or the PTX, of one kernel for one chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.frontends.cubin import kernel_symbols
from kernelcast.frontends.fatbin import FatBinary, Member, open_fat_binary
from kernelcast.frontends.loading import choose_kernel
from kernelcast.frontends.mangling import base_name, source_name


@dataclass(frozen=True)
class EmbeddedCubin:
    """A cubin out of a fat binary, the kernel looked for, and kernels whose names are like its."""

    data: bytes
    mangled: str
    labels: Mapping[str, str]


def embedded_code(path: str | Path, compute_capability: tuple[int, int], kernel: str) -> bytes:
    """The cubin that holds a kernel for a chip, or PTX where there is no machine code for it.

    `kernel` may be empty where there is one only. Raises InputError and NotFoundError.
    """
    with open_fat_binary(path) as fat_binary:
        try:
            architecture = fat_binary.architecture_for(compute_capability)
        except InputError:
            if (text := _ptx(fat_binary, compute_capability)) is None:
                raise
            return text
        return embedded_cubin(fat_binary, architecture, kernel).data


def embedded_cubin(fat_binary: FatBinary, architecture: str, kernel: str) -> EmbeddedCubin:
    """The cubin of an architecture that holds a kernel.

    Of the names in all cubins those are looked at that hold the kernel's own, which a mangled name
    spells out; all, to say which are alike, where that finds none.
    """
    own = kernel if kernel.startswith("_Z") else base_name(kernel)
    holders = _holders(fat_binary, architecture, own) or _holders(fat_binary, architecture, "")
    labels = {mangled: source_name(mangled) for mangled in holders}
    chosen = choose_kernel(kernel, labels, where=fat_binary.name)
    return EmbeddedCubin(fat_binary.data(holders[chosen]), chosen, labels)


def _holders(fat_binary: FatBinary, architecture: str, holding: str) -> dict[str, Member]:
    """Where kernels lie whose mangled names hold a text."""
    return {
        mangled: member
        for member, data in fat_binary.cubins(architecture)
        for mangled in kernel_symbols(data, name=fat_binary.name, holding=holding)
    }


def _ptx(fat_binary: FatBinary, compute_capability: tuple[int, int]) -> bytes | None:
    """The newest PTX that a chip can be given, compiled for it when it is loaded."""
    wanted = 10 * compute_capability[0] + compute_capability[1]
    fitting = [
        m
        for m in fat_binary.members
        if not m.is_cubin and int(m.architecture.removeprefix("sm_")) <= wanted
    ]
    if not fitting:
        return None
    newest = max(fitting, key=lambda m: int(m.architecture.removeprefix("sm_")))
    return fat_binary.data(newest).rstrip(b"\0")
