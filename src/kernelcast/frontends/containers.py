"""Code out of fat binaries: the cubin, or the PTX, of one kernel for one chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.frontends.cubin import kernel_symbols
from kernelcast.frontends.fatbin import FatBinary, Member, open_fat_binary
from kernelcast.frontends.loading import choose_kernel
from kernelcast.frontends.ptx import read_ptx
from kernelcast.toolchain.mangling import base_name, source_name


@dataclass(frozen=True)
class EmbeddedCode:
    """A cubin or PTX out of a fat binary, the kernel looked for, and kernels whose names are like
    its."""

    data: bytes
    mangled: str
    labels: Mapping[str, str]
    is_ptx: bool = False


def embedded_code(path: str | Path, compute_capability: tuple[int, int], kernel: str) -> bytes:
    """The cubin that holds a kernel for a chip, or PTX where there is no machine code for it.

    `kernel` may be empty where there is one only. Raises InputError and NotFoundError.
    """
    with open_fat_binary(path) as fat_binary:
        return embedded_kernel(fat_binary, compute_capability, kernel).data


def embedded_kernel(
    fat_binary: FatBinary, compute_capability: tuple[int, int], kernel: str
) -> EmbeddedCode:
    """As `embedded_code`, of a file that is open.

    Of the names in all cubins those are looked at that hold the kernel's own, which a mangled name
    spells out; all, to say which are alike, where that finds none.
    """
    name = fat_binary.name
    if not has_machine_code(fat_binary, compute_capability):
        texts = _texts_with_kernels(fat_binary, compute_capability)
        chosen, labels = _chosen(kernel, texts, name)
        return EmbeddedCode(texts[chosen], chosen, labels, is_ptx=True)
    architecture = fat_binary.architecture_for(compute_capability)
    own = kernel if kernel.startswith("_Z") else base_name(kernel)
    held = _holders(fat_binary, architecture, own) or _holders(fat_binary, architecture, "")
    chosen, labels = _chosen(kernel, held, name)
    return EmbeddedCode(fat_binary.data(held[chosen]), chosen, labels)


def has_machine_code(fat_binary: FatBinary, compute_capability: tuple[int, int] | None) -> bool:
    """Whether there is machine code, for a chip or any; InputError where a chip runs nothing."""
    if compute_capability is None:
        return bool(fat_binary.architectures)
    try:
        fat_binary.architecture_for(compute_capability)
    except InputError:
        if not any(fat_binary.texts_for(compute_capability)):
            raise
        return False
    return True


def _chosen(kernel: str, holders: Mapping[str, object], name: str) -> tuple[str, Mapping[str, str]]:
    labels = {mangled: source_name(mangled) for mangled in holders}
    return choose_kernel(kernel, labels, where=name), labels


def _holders(fat_binary: FatBinary, architecture: str, holding: str) -> dict[str, Member]:
    """Where kernels lie whose mangled names hold a text."""
    return {
        mangled: member
        for member, data in fat_binary.cubins(architecture)
        for mangled in kernel_symbols(data, name=fat_binary.name, holding=holding)
    }


def _texts_with_kernels(
    fat_binary: FatBinary, compute_capability: tuple[int, int]
) -> dict[str, bytes]:
    """The newest PTX of each kernel that a chip can be given, compiled for it when it is loaded."""
    found: dict[str, bytes] = {}
    for data in fat_binary.texts_for(compute_capability):
        text = data.decode("utf-8", "replace")
        for mangled in read_ptx(text, name=fat_binary.name).labels:
            found.setdefault(mangled, data)
    return found
